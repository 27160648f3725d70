"""Print search results: matches are highlighted, and each score is a bar of its parts.

Without colours, different characters take their place.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from findspot.surfaces.cli.formatting import ago, count
from findspot.surfaces.cli.printing import Style, facts, hang, is_coloured, styled

_INDENT = 5
_BAR = 20  # columns for a score of 1
_FULL, _EMPTY = "█", "·"
# Key of a score part, its name, its colour, and the character used without colours.
_PARTS = (
    ("bm25", "words", "cyan", "█"),
    ("semantic", "meaning", "magenta", "▒"),
    ("recency", "recency", "yellow", "░"),
)
_MAX_DOCUMENTS = 20  # in counts; '--json' has up to a hundred
_MAX_WORDS = 12  # a pasted paragraph has more
_DEFAULT_TYPE = "document"
_LEGS = {"fts": "bm25", "semantic": "semantic"}
_LEG_TEXTS = {
    "en": {
        "fts": ("BM25", "keyword"),
        "semantic": ("Cosine similarity", "semantic"),
        "gone": "The {name} search no longer finds this passage.",
        "counts": "{raw} is {value:.3f}, a score of {counts:.3f} on a scale from 0 to 1{rank}.",
        "rank": ", rank {rank:,} in {name} search",
    },
    "zh": {
        "fts": ("BM25", "关键词"),
        "semantic": ("余弦相似度", "语义"),
        "gone": "{name}检索已找不到该段落。",
        "counts": "{raw}为 {value:.3f}，折算为 {counts:.3f} 分（0 到 1）{rank}。",
        "rank": "，{name}排名第 {rank:,}",
    },
}


def report(found: dict[str, Any], before: int, mode: str, language: str) -> str:
    """Return a page of results as text. `before` is the number of results on earlier pages."""
    least = "at least " if found.get("totalIsLowerBound") else ""
    shown = f"{before + 1:,}–{before + len(found['results']):,}"
    head = f"{shown} of {least}{found['total']:,} ({mode}, {found['tookMs']:.1f} ms)"
    effective_mode = "fts" if mode == "semantic" and found["fallback"] == "fts" else mode
    parts = [styled(head, dim=True)]
    for number, each in enumerate(found["results"], start=before + 1):
        reasons = _reasons(each, effective_mode, language) if "explained" in each else ()
        parts.append("\n".join([*_entry(number, each), *reasons]))
    if "counts" in found:
        parts.append(_counts(found["counts"]))
    if found["hasMore"]:
        parts.append(styled(f"More with --page {found['page'] + 1}.", dim=True))
    return "\n\n".join(parts)


def _entry(number: int, result: dict[str, Any]) -> list[str]:
    place = f"document {result['documentId']}, {result['startOffset']}–{result['endOffset']}"
    if result["line"]:
        place = f"{result['path']}:{result['line']} · document {result['documentId']}"
    kind = [result["documentType"]] if result["documentType"] != _DEFAULT_TYPE else []
    title = _title(result)
    head = f"{title}  {' · '.join([*kind, place, ago(result['updatedAt'])])}"
    spans: list[tuple[int, int, Style]] = [
        (0, len(title), {"bold": True}),
        (len(title) + 2, len(head), {"dim": True}),
    ]
    folded = result["duplicates"]
    return [
        f"{number:>3}  " + hang(head, _INDENT, spans=spans),
        _line(f"{_bar(result['scoreBreakdown'])} {result['finalScore']:.3f}"),
        _line(highlight(result["snippet"], result["highlights"])),
        *([_line(styled(f"and {folded:,} more like this (--all)", dim=True))] if folded else ()),
    ]


def _counts(counts: dict[str, Any]) -> str:
    """Return how many passages match, by type and by document."""
    types = [(f"{each['count']:,}", each["type"]) for each in counts["byType"]]
    documents = [(f"{each['count']:,}", _title(each)) for each in counts["byDocument"][:_MAX_DOCUMENTS]]
    more = counts["documents"] - len(documents)
    lines = [styled("matches by type", bold=True), facts(types)] if types else []
    lines += [styled("matches by document", bold=True), facts(documents)] if documents else []
    return "\n".join([*lines, *([f"  and {count(more, 'more document')}"] if more > 0 else ())])


def _title(result: dict[str, Any]) -> str:
    return " ".join(result["documentTitle"].split())


def _line(text: str) -> str:
    return " " * _INDENT + text


def highlight(snippet: str, highlights: Sequence[Sequence[int]]) -> str:
    """Return a snippet with its matches in colour, or between « and »."""
    if not is_coloured():
        return hang("".join(_between_marks(snippet, highlights)), _INDENT)
    style = {"fg": "green", "bold": True}
    return hang(snippet, _INDENT, spans=[(start, end, style) for start, end in highlights])


def _between_marks(text: str, spans: Sequence[Sequence[int]]) -> Iterator[str]:
    reached = 0
    for start, end in spans:
        yield f"{text[reached:start]}«{text[start:end]}»"
        reached = end
    yield text[reached:]


def _bar(breakdown: dict[str, float]) -> str:
    """Return a score as a bar of its parts. Ends are rounded on the running sum, so the length is exact to a column."""
    drawn, reached = "", 0
    total = 0.0
    for name, _, colour, sign in _PARTS:
        total += breakdown[name]
        end = round(total * _BAR)
        drawn += styled(_sign(sign) * (end - reached), fg=colour)
        reached = end
    return drawn + styled(_EMPTY * (_BAR - reached), dim=True)


def _sign(sign: str) -> str:
    return _FULL if is_coloured() else sign


def _reasons(result: dict[str, Any], mode: str, language: str) -> list[str]:
    """Explain a score: by all its parts in hybrid mode, otherwise by the one leg that was searched."""
    why = result["explained"]
    lines = [_words(why["matchedWords"])] if why["matchedWords"] and mode != "semantic" else []
    lines.append(_leg(result, mode, language) if mode in _LEGS else why["explanation"])
    return [_line(_legend(result, mode)), *(_line(hang(each, _INDENT)) for each in lines)]


def _legend(result: dict[str, Any], mode: str) -> str:
    text, spans = "", list[tuple[int, int, Style]]()
    for key, name, colour, sign in _PARTS:
        if _LEGS.get(mode, key) == key:
            text += "  " if text else ""
            spans.append((len(text), len(text) + 1, {"fg": colour}))
            text += f"{_sign(sign)} {name} {result['scoreBreakdown'][key]:.3f}"
    return hang(text, _INDENT, spans=spans)


def _words(matched: Sequence[dict[str, Any]]) -> str:
    heaviest = sorted(matched, key=lambda each: -float(each["weight"]))
    words = "  ".join(f"{each['word']} {each['weight']:.2f}" for each in heaviest[:_MAX_WORDS])
    more = len(heaviest) - _MAX_WORDS
    return f"words: {words}" + (f"  and {more:,} more" if more > 0 else "")


def _leg(result: dict[str, Any], mode: str, language: str) -> str:
    texts, leg = _LEG_TEXTS[language], result["explained"][_LEGS[mode]]
    raw, name = texts[mode]
    if leg["raw"] is None:
        return str(texts["gone"]).format(name=name)
    rank = str(texts["rank"]).format(rank=leg["rank"], name=name) if leg["rank"] else ""
    return str(texts["counts"]).format(raw=raw, value=leg["raw"], counts=result["finalScore"], rank=rank)
