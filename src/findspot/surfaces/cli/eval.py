"""`findspot eval`: measure search quality with queries and the passages that answer them."""

import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from findspot.surfaces.cli.arguments import PROJECT_OPTION
from findspot.surfaces.cli.connect import Api, api_command
from findspot.surfaces.cli.eval_check import Mistake, ProjectDocuments
from findspot.surfaces.cli.eval_file import EvalQuery, ExpectedPassage, read_queries
from findspot.surfaces.cli.printing import facts, hang, show, styled
from findspot.surfaces.cli.progress import show_progress
from findspot.surfaces.cli.search import MODES, PAGE_SIZE

_DEPTH = 10  # results that count for nDCG@10 and recall@10


@dataclass(frozen=True, slots=True)
class Measured:
    """A query, its expected passages, and the rank of each. The rank is None if it is not on the first page."""

    query: str
    expected: Sequence[ExpectedPassage]
    ranks: Sequence[int | None]
    first: str  # the first result, as text

    @property
    def ndcg(self) -> float:
        gain = sum(1 / math.log2(rank + 1) for rank in self.ranks if rank and rank <= _DEPTH)
        best = sum(1 / math.log2(index + 2) for index in range(min(len(self.expected), _DEPTH)))
        return gain / best

    def recall(self, depth: int) -> float:
        return sum(1 for rank in self.ranks if rank and rank <= depth) / len(self.expected)


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@PROJECT_OPTION
@click.option("--mode", type=click.Choice(MODES), default="hybrid", help="Search mode to measure.")
@api_command
async def command(api: Api, file: Path, project_id: int, mode: str) -> None:
    """Measure search quality with a file of queries and expected passages.

    Each line of FILE is {"query": "…", "expected": [{"document": 3, "text": "…"}]}. A document is an id, or a title
    that only one document has. The passage is given by a part of its text, or by "start" and "end" in the document's
    text, or it is the whole document.

    A passage that does not exist is a mistake in FILE. Such queries are listed and not measured, and the exit code
    is 2.
    """
    queries = read_queries(file)
    search = _MeasuredSearch(api, project_id, mode, await ProjectDocuments.load(api, project_id))
    measured, mistakes = list[Measured](), list[Mistake]()
    with show_progress("Measuring", len(queries), silent=api.as_json or not sys.stderr.isatty()) as progress:
        for number, query in enumerate(queries, start=1):
            wrong = await search.documents.mistakes(query)
            mistakes += wrong
            measured += [] if wrong else [await search.measure(query)]
            progress(number)
    show(_value(measured, mistakes, mode), api.as_json, _report(measured, mistakes, mode, file))
    if mistakes:
        raise click.exceptions.Exit(2)


@dataclass(frozen=True, slots=True)
class _MeasuredSearch:
    """Runs queries and finds the ranks of the expected passages."""

    api: Api
    project_id: int
    mode: str
    documents: ProjectDocuments

    async def measure(self, query: EvalQuery) -> Measured:
        body = {"query": query.query, "strategy": self.mode, "includeDuplicates": True}  # it measures the ranking
        path = f"/api/v1/projects/{self.project_id}/search/query/strategy"
        results = (await self.api.call("POST", path, json=body))["results"]
        ranks: list[int | None] = []
        for passage in query.expected:  # one result counts for one passage only
            ranks.append(await self._rank(passage, results, ranks))
        first = f"{results[0]['documentTitle']}: {results[0]['snippet'][:60]}" if results else "nothing"
        return Measured(query.query, query.expected, ranks, " ".join(first.split()))

    async def _rank(
        self, passage: ExpectedPassage, results: Sequence[dict[str, Any]], taken: Sequence[int | None]
    ) -> int | None:
        for rank, each in enumerate(results, start=1):
            same_document = passage.document in (each["documentId"], each["documentTitle"])
            if same_document and rank not in taken and await self._contains(each, passage):
                return rank
        return None

    async def _contains(self, result: dict[str, Any], passage: ExpectedPassage) -> bool:
        """Return whether the chunk of a result contains the passage. The snippet is only a part of the chunk."""
        chunk = result["chunkStart"], result["chunkEnd"]
        if passage.start is not None and passage.end is not None:
            return _overlaps(chunk, (passage.start, passage.end))
        if passage.text is None:
            return True
        text = await self.documents.text(result["documentId"])
        return any(_overlaps(chunk, span) for span in _spans(text, passage.text))


def _overlaps(first: tuple[int, int], second: tuple[int, int]) -> bool:
    """Return whether at least half of the shorter span is in the other. A passage may continue in the next chunk."""
    shared = min(first[1], second[1]) - max(first[0], second[0])
    return 0 < min(first[1] - first[0], second[1] - second[0]) <= 2 * shared


def _spans(text: str, part: str) -> Iterator[tuple[int, int]]:
    start = text.find(part)
    while start >= 0:
        yield start, start + len(part)
        start = text.find(part, start + 1)


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _value(measured: Sequence[Measured], mistakes: Sequence[Mistake], mode: str) -> dict[str, Any]:
    return {
        "mode": mode,
        "queries": len(measured),
        "ndcg10": _mean([each.ndcg for each in measured]),
        "recall10": _mean([each.recall(_DEPTH) for each in measured]),
        "recall50": _mean([each.recall(PAGE_SIZE) for each in measured]),
        "wrong": [
            {"query": each.query, "expected": str(passage), "rank": rank, "first": each.first}
            for each in measured
            for passage, rank in zip(each.expected, each.ranks, strict=True)
            if rank is None or rank > _DEPTH
        ],
        "mistakes": [
            {
                "line": each.query.line,
                "query": each.query.query,
                "expected": str(each.passage),
                "mistake": each.reason,
            }
            for each in mistakes
        ],
    }


_METRICS = (("nDCG@10", "ndcg10"), ("recall@10", "recall10"), ("recall@50", "recall50"))


def _report(measured: Sequence[Measured], mistakes: Sequence[Mistake], mode: str, file: Path) -> str:
    value = _value(measured, mistakes, mode)
    parts = [_metrics(value) if measured else "No query could be measured."]
    if value["wrong"]:
        parts.append("\n".join(["Not among the first ten:", *map(_wrong, value["wrong"])]))
    elif measured:
        parts.append("Every expected passage is among the first ten.")
    if mistakes:
        head = f"Mistakes in {file}; these queries were not measured:"
        parts.append("\n".join([hang(head, 0), *map(_mistake, value["mistakes"])]))
    return "\n\n".join(parts)


def _metrics(value: dict[str, Any]) -> str:
    metrics = facts([(name, f"{value[key]:.3f}") for name, key in _METRICS])
    queries = value["queries"]
    return f"{queries:,} {'query' if queries == 1 else 'queries'}, {value['mode']}\n{metrics}"


def _wrong(each: dict[str, Any]) -> str:
    rank = f"rank {each['rank']}" if each["rank"] else "not found"
    return (
        f"  {styled(each['query'], bold=True)}\n"
        f"    expected {hang(each['expected'] + ': ' + rank, 13)}\n"
        f"    first    {hang(each['first'], 13)}"
    )


def _mistake(each: dict[str, Any]) -> str:
    text = hang(f"{each['expected']}: {each['mistake']}", 13)
    return f"  {styled(each['query'], bold=True)} (line {each['line']:,})\n    expected {text}"
