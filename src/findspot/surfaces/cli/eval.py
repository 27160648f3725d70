"""`findspot eval`: how well does search find what people look for? Queries with the places that answer them."""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from findspot.surfaces.cli.connect import Api, api_command
from findspot.surfaces.cli.outcome import Failure
from findspot.surfaces.cli.printing import facts, show
from findspot.surfaces.cli.search import MODES, PROJECT, project_of

_DEPTH = 10  # results that count for nDCG
_PAGE = 50
_LINE = 'A line is {"query": "…", "expected": [{"document": 3, "text": "…"}]}; a document is an id or a title.'


@dataclass(frozen=True, slots=True)
class Expected:
    """A place that answers a query: a document, and maybe a text or a range of characters in it."""

    document: int | str
    text: str | None = None
    start: int | None = None
    end: int | None = None

    def fits(self, result: dict[str, Any]) -> bool:
        """Whether a result shows this place, or some of it."""
        if self.document not in (result["documentId"], result["documentTitle"]):
            return False
        if self.start is not None and self.end is not None:
            return bool(result["startOffset"] < self.end and self.start < result["endOffset"])
        return self.text is None or self.text in result["snippet"] or result["snippet"] in self.text

    def __str__(self) -> str:
        where = f"document {self.document}"
        if self.start is not None:
            return f"{where}, {self.start}–{self.end}"
        return where if self.text is None else f"{where}, “{self.text[:60]}”"


@dataclass(frozen=True, slots=True)
class Asked:
    """A query, what should be found, and the rank of each; None: not among the first fifty."""

    query: str
    expected: Sequence[Expected]
    ranks: Sequence[int | None]
    first: str  # what stood first instead

    @property
    def ndcg(self) -> float:
        gained = sum(1 / math.log2(rank + 1) for rank in self.ranks if rank and rank <= _DEPTH)
        best = sum(1 / math.log2(place + 2) for place in range(min(len(self.expected), _DEPTH)))
        return gained / best

    def recall(self, depth: int) -> float:
        return sum(1 for rank in self.ranks if rank and rank <= depth) / len(self.expected)


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@PROJECT
@click.option("--mode", type=click.Choice(MODES), default="hybrid", help="The search that is judged.")
@api_command
async def command(api: Api, file: Path, project: int | None, mode: str) -> None:
    """Judge the search by a file of queries with expected places.

    Each line of FILE is {"query": "…", "expected": [{"document": 3, "text": "…"}]}. A document is an id or a title;
    beside it may stand a text of the passage, or "start" and "end" in the document's text, or neither.
    """
    questions = _questions(file)
    project_id = await project_of(api, project)
    asked = [await _ask(api, project_id, mode, query, expected) for query, expected in questions]
    show(_value(asked, mode), api.as_json, _report(asked, mode))


async def _ask(api: Api, project_id: int, mode: str, query: str, expected: Sequence[Expected]) -> Asked:
    body = {"query": query, "strategy": mode, "includeLowScores": False}
    found = await api.call("POST", f"/api/v1/projects/{project_id}/search/query/strategy", json=body)
    results = found["results"]
    ranks: list[int | None] = []
    for place in expected:  # a result answers for one place only
        free = (rank for rank, each in enumerate(results, start=1) if rank not in ranks and place.fits(each))
        ranks.append(next(free, None))
    first = f"{results[0]['documentTitle']}: {results[0]['snippet'][:60]}" if results else "nothing"
    return Asked(query, expected, ranks, " ".join(first.split()))


def _questions(file: Path) -> list[tuple[str, list[Expected]]]:
    try:
        lines = file.read_text(encoding="utf-8-sig").split("\n")
    except OSError as error:
        raise Failure(f"{file} cannot be read: {error.strerror}.", exit_code=2) from None
    except UnicodeDecodeError as error:
        raise Failure(f"{file} is not UTF-8 (byte {error.start}).", exit_code=2) from None
    questions = [_question(line, f"{file}, line {number}") for number, line in enumerate(lines, 1) if line.strip()]
    if not questions:
        raise Failure(f"{file} holds no queries.", _LINE, 2)
    return questions


def _question(line: str, where: str) -> tuple[str, list[Expected]]:
    try:
        value = json.loads(line)
    except json.JSONDecodeError as error:
        raise Failure(f"{where} is not JSON: {error.msg}.", _LINE, 2) from None
    match value:
        case {"query": str(query), "expected": [_, *_] as places} if query.strip():
            return query, [_place(each, where) for each in places]
    raise Failure(f"{where} is not a query with what is expected.", _LINE, 2)


def _place(value: Any, where: str) -> Expected:
    match value:
        case {"document": int() | str() as document, "start": int(start), "end": int(end)} if start < end:
            return Expected(document, None, start, end)
        case {"document": int() | str() as document, "text": str(text)} if text.strip():
            return Expected(document, text.strip())
        case {"document": int() | str() as document, **more} if not more:
            return Expected(document)
    raise Failure(f"{where}: {json.dumps(value, ensure_ascii=False)[:80]} is no place.", _LINE, 2)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _value(asked: Sequence[Asked], mode: str) -> dict[str, Any]:
    return {
        "mode": mode,
        "queries": len(asked),
        "ndcg10": _mean([each.ndcg for each in asked]),
        "recall10": _mean([each.recall(_DEPTH) for each in asked]),
        "recall50": _mean([each.recall(_PAGE) for each in asked]),
        "wrong": [
            {"query": each.query, "expected": str(place), "rank": rank, "first": each.first}
            for each in asked
            for place, rank in zip(each.expected, each.ranks, strict=True)
            if rank is None or rank > _DEPTH
        ],
    }


_FIGURES = (("nDCG@10", "ndcg10"), ("recall@10", "recall10"), ("recall@50", "recall50"))


def _report(asked: Sequence[Asked], mode: str) -> str:
    value = _value(asked, mode)
    figures = facts([(name, f"{value[key]:.3f}") for name, key in _FIGURES])
    head = f"{len(asked):,} {'query' if len(asked) == 1 else 'queries'}, {mode}\n{figures}"
    if not value["wrong"]:
        return f"{head}\n\nEvery expected place is among the first ten."
    wrong = [
        f"  {click.style(each['query'], bold=True)}\n"
        f"    expected {each['expected']}: {_found(each['rank'])}\n"
        f"    first    {each['first']}"
        for each in value["wrong"]
    ]
    return "\n".join([head, "", "What went wrong:", *wrong])


def _found(rank: int | None) -> str:
    return "not found" if rank is None else f"rank {rank}"
