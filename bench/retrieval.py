"""`make bench-retrieval`: is the passage that answers among those that a model is given?

The longest documents of every question set with known passages are in one project. Each question is asked twice: as a
hybrid search, of which the first five results count, and as a retrieval with `topK` 5 and `minScore` 0.7. A passage
answers if it covers half of the reference, or the reference half of it. With a budget of 1,500 tokens, fewer than five
passages fit, above all in Chinese.
"""

import argparse
import asyncio
import json
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests import flows

from bench import sets
from bench.report import Figure, Report
from findspot.app import App, open_app
from findspot.retrieval import RetrievalRequest
from findspot.retrieval.request import MAX_TOKENS
from findspot.search import SearchRequest
from findspot.settings import Settings

DOCUMENTS = 100
QUESTIONS = 6  # of one document
FIRST = 5
BUDGET = 1500

Span = tuple[int, int, int]  # document, start and end


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, the set that it is from, and where its answers are."""

    set: str
    text: str
    answers: tuple[Span, ...]


async def run(data: Path, documents: int, questions: int) -> Report:
    report = Report("retrieval", "Retrieval against hybrid search", (__doc__ or "").partition("\n\n")[2].strip())
    with tempfile.TemporaryDirectory(prefix="findspot-retrieval-") as folder:
        async with open_app(Settings(data=Path(folder) / "data", port=0)) as app:
            project = await flows.make_project(app)
            asked = await _fill(app, project, data, documents, questions)
            await flows.settle(app)
            print(f"  {len(asked):,} questions")
            found = [(each, await _hits(app, project, each)) for each in asked]
    names = [*dict.fromkeys(each.set for each in asked), "all"]
    for column, title in enumerate(("hybrid search, first 5", "retrieval, topK 5", "retrieval, 1,500 tokens")):
        report.tables.setdefault("Questions with an answering passage", {})[title] = {
            name: _share(hits[column] for each, hits in found if name in (each.set, "all")) for name in names
        }
    hybrid, retrieved, _ = report.tables["Questions with an answering passage"].values()
    for name in names:
        gain = retrieved[name] - hybrid[name]
        least = 0.0 if name == "all" else None
        report.add("Retrieval over hybrid search", Figure(name, gain, "", least=least))
    return report


async def _fill(app: App, project: int, data: Path, documents: int, questions: int) -> list[Asked]:
    """Import the longest documents with questions, the same number of each set; return the questions."""
    loaded = [found for name in sets.names(data) if (found := sets.load(data / name)).has_places]
    asked: list[Asked] = []
    left = documents
    for number, found in enumerate(sorted(loaded, key=lambda each: len(each.documents))):
        referenced = {place[0] for question in found.questions for place in question.places}
        longest = sorted(referenced, key=lambda id: (-len(found.documents[id]), id))[: left // (len(loaded) - number)]
        left -= len(longest)
        texts = _texts(data / found.name, set(longest))
        ids = {}
        for name in longest:
            body = {"title": f"{found.name} {name}", "format": "text", "content": texts[name]}
            ids[name] = (await app.documents.create(project, json.dumps(body).encode())).id
        asked += _questions(found, ids, questions)
    assert left == 0, f"{left} documents are missing"
    return asked


def _texts(folder: Path, names: set[str]) -> dict[str, str]:
    return {row["id"]: row["text"] for row in sets.lines(folder / "corpus.jsonl") if row["id"] in names}


def _questions(found: sets.QuestionSet, ids: dict[str, int], most: int) -> list[Asked]:
    """Return up to `most` questions for each document, spread over those that it answers."""
    by_document: dict[str, list[sets.Question]] = {}
    for question in found.questions:
        if question.places and all(place[0] in ids for place in question.places):
            by_document.setdefault(question.places[0][0], []).append(question)
    return [
        Asked(found.name, each.text, tuple((ids[name], start, end) for name, start, end in each.places))
        for some in by_document.values()
        for each in some[:: max(1, len(some) // most)][:most]
    ]


async def _hits(app: App, project: int, asked: Asked) -> tuple[bool, bool, bool]:
    page = await app.workspace_search.search(SearchRequest(project, asked.text, page_size=FIRST))
    chunks = [each.found.chunk for each in page.results]
    shown = [(chunk.document_id or 0, chunk.char_start, chunk.char_end) for chunk in chunks]
    given = [
        [(each.passage.document_id, each.passage.start, each.passage.end) for each in found.selected.chosen]
        for found in [
            await app.retriever.retrieve(RetrievalRequest(project, asked.text, max_tokens=most))
            for most in (MAX_TOKENS, BUDGET)
        ]
    ]
    return _answers(shown, asked), _answers(given[0], asked), _answers(given[1], asked)


def _answers(spans: Sequence[Span], asked: Asked) -> bool:
    return any(_covers(span, answer) for span in spans for answer in asked.answers)


def _covers(span: Span, answer: Span) -> bool:
    if span[0] != answer[0]:
        return False
    shared = min(span[2], answer[2]) - max(span[1], answer[1])
    shorter = min(span[2] - span[1], answer[2] - answer[1])
    return shared > 0 and shared >= sets.COVERED * shorter


def _share(hits: Iterable[bool]) -> float:
    found = list(hits)
    return sum(found) / len(found)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="a folder of sets, as for bench.relevance")
    parser.add_argument("--documents", type=int, default=DOCUMENTS)
    parser.add_argument("--questions", type=int, default=QUESTIONS, help="of one document, at most")
    options = parser.parse_args()
    report = asyncio.run(run(options.data, options.documents, options.questions))
    report.write()
    return 0 if report.holds else 1


if __name__ == "__main__":
    raise SystemExit(main())
