"""`findspot ask`: show the passages that a language model would be given for a question."""

from typing import Any

import click

from findspot.surfaces.cli.arguments import PROJECT_OPTION, TEXT
from findspot.surfaces.cli.connect import Api, api_command
from findspot.surfaces.cli.formatting import count
from findspot.surfaces.cli.printing import Style, hang, show, styled
from findspot.surfaces.cli.search import why_nothing_can_match

_INDENT = 5


@click.command()
@click.argument("question", type=TEXT)
@PROJECT_OPTION
@click.option(
    "--budget", type=click.IntRange(1, 32_000), metavar="TOKENS", help="The most tokens; default: the project's own."
)
@click.option("--top", "top_k", type=click.IntRange(1, 50), metavar="N", help="The most passages.")
@click.option("--min-score", type=click.FloatRange(0, 1), help="The least score, from 0 to 1; 0.7 means related.")
@api_command
async def command(
    api: Api, question: str, project_id: int, budget: int | None, top_k: int | None, min_score: float | None
) -> None:
    """Show the passages that a language model would be given for a question.

    Each has its place, its score and the reason for it. The best come first, and all together fit the budget. E-mail
    addresses, phone numbers, keys and other private values
    have placeholders.

    \b
      findspot ask 'who keeps the lighthouse?' --budget 1500
      findspot ask '废弃仓库是什么样子？' --top 3
    """
    given = {"topK": top_k, "minScore": min_score, "maxTokens": budget}
    body = {"query": question} | {name: value for name, value in given.items() if value is not None}
    found = await api.call("POST", f"/api/v1/projects/{project_id}/rag/retrieve", json=body)
    if found["chunks"] or api.as_json:
        reason = ""
    else:
        reason = await why_nothing_can_match(api, project_id, question) or _why_empty(found)
    show(found, api.as_json, report(found, reason))


def report(found: dict[str, Any], reason: str = "") -> str:
    """Return the passages of an answer as text, or the reason why there are none."""
    parts = [styled("! ", fg="yellow") + hang(found["notice"], 2)] if "notice" in found else []
    if not found["chunks"]:
        return "\n\n".join([*parts, reason])
    tokens = f"{found['usedTokens']:,} of {found['maxTokens']:,} tokens"
    parts.append(styled(f"{count(len(found['chunks']), 'passage')}, {tokens}{_left_out(found)}", dim=True))
    parts += ["\n".join(_entry(number, each)) for number, each in enumerate(found["chunks"], start=1)]
    return "\n\n".join(parts)


def _why_empty(found: dict[str, Any]) -> str:
    if not found["truncated"]:
        return "No passage is related enough. '--min-score' sets the limit."
    related = count(sum(each["reason"] == "budget" for each in found["dropped"]), "related passage")
    return f"The budget of {found['maxTokens']:,} tokens is too small: {related} did not fit. '--budget' sets another."


def _left_out(found: dict[str, Any]) -> str:
    """Return how many passages were left out, by reason, and how many values were redacted."""
    reasons: dict[str, int] = {}
    for each in found["dropped"]:
        reasons[each["reason"]] = reasons.get(each["reason"], 0) + 1
    named = ", ".join(f"{number} {reason.replace('_', ' ')}" for reason, number in reasons.items())
    redacted = ", ".join(f"{number} {kind}" for kind, number in found["redactions"].items())
    return (f"; left out: {named}" if named else "") + (f"; redacted: {redacted}" if redacted else "")


def _entry(number: int, chunk: dict[str, Any]) -> list[str]:
    place = f"document {chunk['documentId']}, {chunk['startOffset']}–{chunk['endOffset']}"
    if chunk["line"]:
        place = f"{chunk['path']}:{chunk['line']} · {place}"
    title = " > ".join(dict.fromkeys([chunk["documentTitle"], *chunk["headingPath"]]))
    head = f"{title}  {place}"
    spans: list[tuple[int, int, Style]] = [(0, len(title), {"bold": True}), (len(title) + 2, len(head), {"dim": True})]
    why = f"{chunk['score']:.2f} · {chunk['reason']} · {chunk['tokens']} tokens"
    hidden = chunk["hiddenCharacters"]
    warning = f"has {count(len(hidden), 'hidden character')}: {', '.join(each['codePoint'] for each in hidden[:5])}"
    return [
        f"{number:>3}  " + hang(head, _INDENT, spans=spans),
        " " * _INDENT + hang(why, _INDENT, spans=[(0, len(why), {"dim": True})]),
        *([" " * _INDENT + hang(warning, _INDENT, spans=[(0, len(warning), {"fg": "yellow"})])] if hidden else ()),
        " " * _INDENT + hang(chunk["text"], _INDENT),
    ]
