"""`findspot search`: the documents of a project, with the words that matched in colour and each score as a bar."""

from typing import Any

import click

from findspot.surfaces.cli.arguments import TEXT
from findspot.surfaces.cli.connect import Api, api_command
from findspot.surfaces.cli.outcome import Failure
from findspot.surfaces.cli.printing import hang, show
from findspot.surfaces.cli.wording import ago, count

MODES = ("hybrid", "fts", "semantic")
PROJECT = click.option("--project", type=int, metavar="ID", help="Which project; needless if there is only one.")
_BAR = 20  # columns for a score of 1
_PARTS = (("bm25", "words", "cyan"), ("semantic", "meaning", "magenta"), ("recency", "recency", "yellow"))


@click.command()
@click.argument("query", type=TEXT)
@PROJECT
@click.option("--mode", type=click.Choice(MODES), default="hybrid", help="By words and meaning (hybrid), or by one.")
@click.option("--explain", is_flag=True, help="Say of every result why it has its score.")
@click.option("--page", type=click.IntRange(1), default=1, help="Which fifty results.")
@click.option("--low-scores", is_flag=True, help="Also what a hybrid search hides: scores under 0.25.")
@api_command
async def command(
    api: Api, query: str, project: int | None, mode: str, explain: bool, page: int, low_scores: bool
) -> None:
    """Search the documents of a project.

    Words, "a phrase" and -without are understood; anything else is taken as plain words.

    \b
      findspot search 'lighthouse keeper'
      findspot search '"old photographs" -warehouse' --mode fts
      findspot search '角色内心的孤独与迷茫' --mode semantic --explain
    """
    project_id = await project_of(api, project)
    body = {"query": query, "strategy": mode, "page": page, "includeLowScores": low_scores}
    found = await api.call("POST", f"/api/v1/projects/{project_id}/search/query/strategy", json=body)
    if explain:
        for result in found["results"]:
            result["explained"] = await _explained(api, project_id, query, result)
    empty = await _nothing(api, project_id) if not found["results"] else ""
    show(found, api.as_json, _report(found, mode, explain) if found["results"] else _notice(found) + empty)


async def project_of(api: Api, given: int | None) -> int:
    """The project that is named, or the only one there is."""
    if given is not None:
        return given
    known = (await api.call("GET", "/api/v1/projects"))["projects"]
    if len(known) != 1:
        names = ", ".join(f"{each['id']} ({each['name']})" for each in known[:10])
        there = f"There are {count(len(known), 'project')}: {names}." if known else "There is no project yet."
        advice = "Name one with --project ID." if known else "'findspot project create NAME' makes one."
        raise Failure(there, advice, 2)
    return int(known[0]["id"])


async def _explained(api: Api, project_id: int, query: str, result: dict[str, Any]) -> dict[str, Any]:
    body = {"query": query, "documentId": result["documentId"], "chunkId": result["chunkId"]}
    why: dict[str, Any] = await api.call("POST", f"/api/v1/projects/{project_id}/search/rank/explain", json=body)
    return why


async def _nothing(api: Api, project_id: int) -> str:
    """What to say when nothing was found: that nothing matches, or that not everything is indexed yet."""
    status = await api.call("GET", f"/api/v1/projects/{project_id}/status")
    if status["index_state"] != "ready":
        return "Nothing was found, but not everything is indexed yet. 'findspot serve' brings the index up to date."
    if not status["documents"]:
        return f"Project {project_id} has no documents. 'findspot import {project_id} FOLDER' brings some."
    return "Nothing was found. Check the spelling, or try other words."


def _report(found: dict[str, Any], mode: str, explain: bool) -> str:
    first = (found["page"] - 1) * 50 + 1
    least = "at least " if found.get("totalIsLowerBound") else ""
    head = (
        f"{first}–{first + len(found['results']) - 1} of {least}{found['total']:,} ({mode}, {found['tookMs']:.1f} ms)"
    )
    parts = [_notice(found) + click.style(head, dim=True)]
    parts += [_entry(number, each, explain) for number, each in enumerate(found["results"], start=first)]
    if found["hasMore"]:
        parts.append(click.style(f"More with --page {found['page'] + 1}.", dim=True))
    return "\n\n".join(parts)


def _notice(found: dict[str, Any]) -> str:
    return click.style("! ", fg="yellow") + hang(found["notice"], 2) + "\n\n" if "notice" in found else ""


def _entry(number: int, result: dict[str, Any], explain: bool) -> str:
    place = f"document {result['documentId']}, {result['startOffset']}–{result['endOffset']}"
    about = f"{result['documentType']} · {place} · {ago(result['updatedAt'])}"
    lines = [
        f"{number:>3}  {click.style(result['documentTitle'], bold=True)}  {click.style(about, dim=True)}",
        f"     {_bar(result['scoreBreakdown'])} {result['finalScore']:.3f}",
        "     " + marked(result["snippet"], result["highlights"]).replace("\n", "\n     "),
    ]
    if explain:
        lines += [f"     {line}" for line in _reasons(result)]
    return "\n".join(lines)


def marked(snippet: str, highlights: list[list[int]]) -> str:
    """A snippet with what matched in colour."""
    parts, done = [], 0
    for start, end in highlights:
        parts += [snippet[done:start], click.style(snippet[start:end], fg="green", bold=True)]
        done = end
    return "".join([*parts, snippet[done:]])


def _bar(breakdown: dict[str, float]) -> str:
    """A score as a bar of its parts, each in its colour. Its length is right to a column, and so is each end."""
    drawn, reached = "", 0
    total = 0.0
    for name, _, colour in _PARTS:
        total += breakdown[name]
        end = round(total * _BAR)
        drawn += click.style("█" * (end - reached), fg=colour)
        reached = end
    return drawn + click.style("░" * (_BAR - reached), dim=True)


def _reasons(result: dict[str, Any]) -> list[str]:
    why = result["explained"]
    legend = "  ".join(
        f"{click.style('█', fg=colour)} {name} {result['scoreBreakdown'][key]:.3f}" for key, name, colour in _PARTS
    )
    words = "  ".join(f"{each['word']} {each['weight']:.2f}" for each in why["matchedWords"])
    return [legend, *([f"words: {words}"] if words else []), hang(why["explanation"], 5)]
