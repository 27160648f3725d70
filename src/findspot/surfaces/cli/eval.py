"""`findspot eval`: how well does search find what people look for? Queries with the places that answer them."""

import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from findspot.surfaces.cli.connect import Api, api_command
from findspot.surfaces.cli.places import Mistake, Places
from findspot.surfaces.cli.printing import facts, hang, show, styled
from findspot.surfaces.cli.progress import following
from findspot.surfaces.cli.questions import Expected, Question, read
from findspot.surfaces.cli.search import MODES, PAGE, PROJECT, project_of

_DEPTH = 10  # results that count for nDCG


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

    Each line of FILE is {"query": "…", "expected": [{"document": 3, "text": "…"}]}. A document is an id, or a title
    that only one document has; beside it may stand a text of the passage, or "start" and "end" in the document's text,
    or neither.

    A place that is not there is a mistake in FILE: such queries are listed and left out of the figures, and the exit
    code is 2.
    """
    questions = read(file)
    project_id = await project_of(api, project)
    judge = _Judge(api, project_id, mode, await Places.of(api, project_id))
    asked, mistakes = list[Asked](), list[Mistake]()
    with following("Judging", len(questions), silent=api.as_json or not sys.stderr.isatty()) as moved:
        for number, question in enumerate(questions, start=1):
            wrong = await judge.places.mistakes(question)
            mistakes += wrong
            asked += [] if wrong else [await judge.ask(question)]
            moved(number)
    show(_value(asked, mistakes, mode), api.as_json, _report(asked, mistakes, mode, file))
    if mistakes:
        raise click.exceptions.Exit(2)


@dataclass(frozen=True, slots=True)
class _Judge:
    """Asks, and looks where the expected places stand among the results."""

    api: Api
    project_id: int
    mode: str
    places: Places

    async def ask(self, question: Question) -> Asked:
        body = {"query": question.query, "strategy": self.mode, "includeLowScores": False}
        path = f"/api/v1/projects/{self.project_id}/search/query/strategy"
        results = (await self.api.call("POST", path, json=body))["results"]
        ranks: list[int | None] = []
        for place in question.expected:  # a result answers for one place only
            ranks.append(await self._rank(place, results, ranks))
        first = f"{results[0]['documentTitle']}: {results[0]['snippet'][:60]}" if results else "nothing"
        return Asked(question.query, question.expected, ranks, " ".join(first.split()))

    async def _rank(
        self, place: Expected, results: Sequence[dict[str, Any]], taken: Sequence[int | None]
    ) -> int | None:
        for rank, each in enumerate(results, start=1):
            there = place.document in (each["documentId"], each["documentTitle"])
            if there and rank not in taken and await self._holds(each, place):
                return rank
        return None

    async def _holds(self, result: dict[str, Any], place: Expected) -> bool:
        """Whether the passage that was found has the place in it; its snippet is only a part of it."""
        passage = result["chunkStart"], result["chunkEnd"]
        if place.start is not None and place.end is not None:
            return _shares(passage, (place.start, place.end))
        if place.text is None:
            return True
        text = await self.places.text(result["documentId"])
        return any(_shares(passage, span) for span in _spans(text, place.text))


def _shares(passage: tuple[int, int], place: tuple[int, int]) -> bool:
    """Whether half of the shorter of the two, or more, stands in the other: a place may begin in one passage and end in
    the next."""
    shared = min(passage[1], place[1]) - max(passage[0], place[0])
    return 0 < min(passage[1] - passage[0], place[1] - place[0]) <= 2 * shared


def _spans(text: str, part: str) -> Iterator[tuple[int, int]]:
    start = text.find(part)
    while start >= 0:
        yield start, start + len(part)
        start = text.find(part, start + 1)


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _value(asked: Sequence[Asked], mistakes: Sequence[Mistake], mode: str) -> dict[str, Any]:
    return {
        "mode": mode,
        "queries": len(asked),
        "ndcg10": _mean([each.ndcg for each in asked]),
        "recall10": _mean([each.recall(_DEPTH) for each in asked]),
        "recall50": _mean([each.recall(PAGE) for each in asked]),
        "wrong": [
            {"query": each.query, "expected": str(place), "rank": rank, "first": each.first}
            for each in asked
            for place, rank in zip(each.expected, each.ranks, strict=True)
            if rank is None or rank > _DEPTH
        ],
        "mistakes": [
            {
                "line": each.question.line,
                "query": each.question.query,
                "expected": str(each.place),
                "mistake": each.said,
            }
            for each in mistakes
        ],
    }


_FIGURES = (("nDCG@10", "ndcg10"), ("recall@10", "recall10"), ("recall@50", "recall50"))


def _report(asked: Sequence[Asked], mistakes: Sequence[Mistake], mode: str, file: Path) -> str:
    value = _value(asked, mistakes, mode)
    parts = [_figures(value) if asked else "No query could be judged."]
    if value["wrong"]:
        parts.append("\n".join(["What went wrong:", *map(_wrong, value["wrong"])]))
    elif asked:
        parts.append("Every expected place is among the first ten.")
    if mistakes:
        head = f"Mistakes in {file}; these queries are left out:"
        parts.append("\n".join([hang(head, 0), *map(_mistaken, value["mistakes"])]))
    return "\n\n".join(parts)


def _figures(value: dict[str, Any]) -> str:
    figures = facts([(name, f"{value[key]:.3f}") for name, key in _FIGURES])
    queries = value["queries"]
    return f"{queries:,} {'query' if queries == 1 else 'queries'}, {value['mode']}\n{figures}"


def _wrong(each: dict[str, Any]) -> str:
    rank = f"rank {each['rank']}" if each["rank"] else "not found"
    return (
        f"  {styled(each['query'], bold=True)}\n"
        f"    expected {hang(each['expected'] + ': ' + rank, 13)}\n"
        f"    first    {hang(each['first'], 13)}"
    )


def _mistaken(each: dict[str, Any]) -> str:
    said = hang(f"{each['expected']}: {each['mistake']}", 13)
    return f"  {styled(each['query'], bold=True)} (line {each['line']:,})\n    expected {said}"
