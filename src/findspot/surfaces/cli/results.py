"""Results of a search as people see them: what matched is marked, and each score is a bar of its parts. Where there are
no colours, signs tell the same."""

from collections.abc import Iterator, Sequence
from typing import Any

from findspot.surfaces.cli.printing import Look, hang, is_coloured, styled
from findspot.surfaces.cli.wording import ago

_INDENT = 5
_BAR = 20  # columns for a score of 1
_FULL, _REST = "█", "·"
# A part of a score, what it is called, its colour, and the sign that stands for it where there are none.
_PARTS = (
    ("bm25", "words", "cyan", "█"),
    ("semantic", "meaning", "magenta", "▒"),
    ("recency", "recency", "yellow", "░"),
)
_MOST_WORDS = 12  # a pasted paragraph has more
_DEFAULT_TYPE = "document"
_LEGS = {"fts": "bm25", "semantic": "semantic"}
_LEG = {
    "en": {
        "fts": ("BM25", "keyword"),
        "semantic": ("The cosine", "meaning"),
        "gone": "The search by {name} no longer finds it.",
        "counts": "{raw} is {value:.3f}, which counts {counts:.3f} on a scale from 0 to 1{rank}.",
        "rank": ", rank {rank:,} by {name}",
    },
    "zh": {
        "fts": ("BM25", "关键词"),
        "semantic": ("余弦相似度", "语义"),
        "gone": "{name}检索已找不到此段。",
        "counts": "{raw}为 {value:.3f}，按 0 到 1 计 {counts:.3f} 分{rank}。",
        "rank": "，{name}排名第 {rank:,}",
    },
}


def report(found: dict[str, Any], before: int, mode: str, language: str) -> str:
    """A page of results, the first of which stands behind `before` others."""
    least = "at least " if found.get("totalIsLowerBound") else ""
    shown = f"{before + 1:,}–{before + len(found['results']):,}"
    head = f"{shown} of {least}{found['total']:,} ({mode}, {found['tookMs']:.1f} ms)"
    told = "fts" if mode == "semantic" and found["fallback"] == "fts" else mode
    parts = [styled(head, dim=True)]
    for number, each in enumerate(found["results"], start=before + 1):
        reasons = _reasons(each, told, language) if "explained" in each else ()
        parts.append("\n".join([*_entry(number, each), *reasons]))
    if found["hasMore"]:
        parts.append(styled(f"More with --page {found['page'] + 1}.", dim=True))
    return "\n\n".join(parts)


def _entry(number: int, result: dict[str, Any]) -> list[str]:
    place = f"document {result['documentId']}, {result['startOffset']}–{result['endOffset']}"
    kind = [result["documentType"]] if result["documentType"] != _DEFAULT_TYPE else []
    title = " ".join(result["documentTitle"].split())
    head = f"{title}  {' · '.join([*kind, place, ago(result['updatedAt'])])}"
    looks: list[tuple[int, int, Look]] = [
        (0, len(title), {"bold": True}),
        (len(title) + 2, len(head), {"dim": True}),
    ]
    return [
        f"{number:>3}  " + hang(head, _INDENT, looks=looks),
        _line(f"{_bar(result['scoreBreakdown'])} {result['finalScore']:.3f}"),
        _line(marked(result["snippet"], result["highlights"])),
    ]


def _line(text: str) -> str:
    return " " * _INDENT + text


def marked(snippet: str, highlights: Sequence[Sequence[int]]) -> str:
    """A snippet with what matched in colour, or between marks."""
    if not is_coloured():
        return hang("".join(_between_marks(snippet, highlights)), _INDENT)
    look = {"fg": "green", "bold": True}
    return hang(snippet, _INDENT, looks=[(start, end, look) for start, end in highlights])


def _between_marks(text: str, spans: Sequence[Sequence[int]]) -> Iterator[str]:
    reached = 0
    for start, end in spans:
        yield f"{text[reached:start]}«{text[start:end]}»"
        reached = end
    yield text[reached:]


def _bar(breakdown: dict[str, float]) -> str:
    """A score as a bar of its parts. Its length is right to a column, and so is each end."""
    drawn, reached = "", 0
    total = 0.0
    for name, _, colour, sign in _PARTS:
        total += breakdown[name]
        end = round(total * _BAR)
        drawn += styled(_sign(sign) * (end - reached), fg=colour)
        reached = end
    return drawn + styled(_REST * (_BAR - reached), dim=True)


def _sign(sign: str) -> str:
    return _FULL if is_coloured() else sign


def _reasons(result: dict[str, Any], mode: str, language: str) -> list[str]:
    """Why a result has its score: in a hybrid search all that adds up to it, otherwise the one leg that counts."""
    why = result["explained"]
    told = [_words(why["matchedWords"])] if why["matchedWords"] and mode != "semantic" else []
    told.append(_leg(why, mode, language) if mode in _LEGS else why["explanation"])
    return [_line(_legend(result, mode)), *(_line(hang(each, _INDENT)) for each in told)]


def _legend(result: dict[str, Any], mode: str) -> str:
    text, looks = "", list[tuple[int, int, Look]]()
    for key, name, colour, sign in _PARTS:
        if _LEGS.get(mode, key) == key:
            text += "  " if text else ""
            looks.append((len(text), len(text) + 1, {"fg": colour}))
            text += f"{_sign(sign)} {name} {result['scoreBreakdown'][key]:.3f}"
    return hang(text, _INDENT, looks=looks)


def _words(matched: Sequence[dict[str, Any]]) -> str:
    heaviest = sorted(matched, key=lambda each: -float(each["weight"]))
    told = "  ".join(f"{each['word']} {each['weight']:.2f}" for each in heaviest[:_MOST_WORDS])
    more = len(heaviest) - _MOST_WORDS
    return f"words: {told}" + (f"  and {more:,} more" if more > 0 else "")


def _leg(why: dict[str, Any], mode: str, language: str) -> str:
    said, leg = _LEG[language], why[_LEGS[mode]]
    raw, name = said[mode]
    if leg["raw"] is None:
        return str(said["gone"]).format(name=name)
    rank = str(said["rank"]).format(rank=leg["rank"], name=name) if leg["rank"] else ""
    return str(said["counts"]).format(raw=raw, value=leg["raw"], counts=leg["normalised"], rank=rank)
