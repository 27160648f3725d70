"""`findspot eval`: how well does search find what people look for? Queries with the places that answer them."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from findspot.surfaces.cli.connect import Api, api_command
from findspot.surfaces.cli.printing import facts, hang, show, styled
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

    Each line of FILE is {"query": "…", "expected": [{"document": 3, "text": "…"}]}. A document is an id or a title;
    beside it may stand a text of the passage, or "start" and "end" in the document's text, or neither.
    """
    questions = read(file)
    judge = _Judge(api, await project_of(api, project), mode)
    asked = [await judge.ask(question) for question in questions]
    show(_value(asked, mode), api.as_json, _report(asked, mode))


@dataclass(frozen=True, slots=True)
class _Judge:
    """Asks, and looks where the expected places stand among the results."""

    api: Api
    project_id: int
    mode: str
    texts: dict[int, str] = field(default_factory=dict)  # of documents, each read once

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
        text = await self._text(result["documentId"])
        return any(_shares(passage, span) for span in _spans(text, place.text))

    async def _text(self, document_id: int) -> str:
        if document_id not in self.texts:
            self.texts[document_id] = (await self.api.call("GET", f"/api/v1/documents/{document_id}"))["text"]
        return self.texts[document_id]


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


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _value(asked: Sequence[Asked], mode: str) -> dict[str, Any]:
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
    }


_FIGURES = (("nDCG@10", "ndcg10"), ("recall@10", "recall10"), ("recall@50", "recall50"))


def _report(asked: Sequence[Asked], mode: str) -> str:
    value = _value(asked, mode)
    figures = facts([(name, f"{value[key]:.3f}") for name, key in _FIGURES])
    head = f"{len(asked):,} {'query' if len(asked) == 1 else 'queries'}, {mode}\n{figures}"
    if not value["wrong"]:
        return f"{head}\n\nEvery expected place is among the first ten."
    wrong = [
        f"  {styled(each['query'], bold=True)}\n"
        f"    expected {hang(_missed(each), 13)}\n"
        f"    first    {hang(each['first'], 13)}"
        for each in value["wrong"]
    ]
    return "\n".join([head, "", "What went wrong:", *wrong])


def _missed(each: dict[str, Any]) -> str:
    rank = f"rank {each['rank']}" if each["rank"] else "not found"
    return f"{each['expected']}: {rank}"
