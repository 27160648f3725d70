"""Question sets with known answers, read from a folder. Their texts are cut into chunks as Findspot does it.

A set is a folder with corpus.jsonl ({id, title?, text}), queries.jsonl ({id, text, references: [{doc_id, start, end}]})
and qrels.tsv (query, document, grade). Without references, the whole document is the answer.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from findspot.chunking import cut

COVERED = (
    0.5  # a chunk answers if it covers this share of the reference, or the reference covers this share of the chunk
)

SHORT = 300  # characters; a shorter paragraph joins the next


@dataclass(frozen=True, slots=True)
class Passage:
    document: str
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Question:
    id: str
    text: str
    documents: frozenset[str]  # with an answer
    places: tuple[tuple[str, int, int], ...]  # references: document, start and end, if known


@dataclass(frozen=True, slots=True)
class QuestionSet:
    name: str
    documents: dict[str, str]  # text by id, preceded by the title
    passages: list[Passage]
    questions: list[Question]

    @property
    def has_places(self) -> bool:
        return any(question.places for question in self.questions)


def lines(file: Path) -> Iterator[dict[str, Any]]:
    """Return the rows of a JSONL file. Only a line feed ends a row: U+2028 and similar characters may occur inside."""
    with file.open(encoding="utf-8", newline="\n") as rows:
        for row in rows:
            yield json.loads(row)


def names(data: Path) -> list[str]:
    return sorted(file.parent.name for file in data.glob("*/qrels.tsv"))


def paragraphs(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of paragraphs, which blank lines separate. Short ones join the next, and long ones are cut, as
    in documents."""
    start: int | None = None
    for found in re.finditer(r"(?:[^\n]|\n(?!\s*\n))+", text):
        start = found.start() if start is None else start
        if found.end() - start >= SHORT or found.end() == len(text):
            yield from ((start + each.start, start + each.end) for each in cut(text[start : found.end()]))
            start = None
    if start is not None:
        yield from ((start + each.start, start + each.end) for each in cut(text[start:]))


def chunks(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of chunks as a search tool has them."""
    return ((each.start, each.end) for each in cut(text))


def load(
    folder: Path, spans: Callable[[str], Iterable[tuple[int, int]]] = chunks, most: int | None = None
) -> QuestionSet:
    """Load a set, with at most the first `most` of its questions."""
    documents: dict[str, str] = {}
    passages: list[Passage] = []
    for row in lines(folder / "corpus.jsonl"):
        documents[row["id"]] = f"{row['title']}\n\n{row['text']}" if row.get("title") else row["text"]
        passages += [Passage(row["id"], start, end, row["text"][start:end]) for start, end in spans(row["text"])]
    answers: dict[str, set[str]] = {}
    for line in (folder / "qrels.tsv").read_text(encoding="utf-8").split("\n"):
        if line:
            query, document, grade = line.split("\t")[:3]
            if int(grade) > 0:
                answers.setdefault(query, set()).add(document)
    questions = [
        Question(
            row["id"],
            row["text"],
            frozenset(answers[row["id"]]),
            tuple((place["doc_id"], place["start"], place["end"]) for place in row.get("references", ())),
        )
        for row in lines(folder / "queries.jsonl")
        if row["id"] in answers
    ]
    return QuestionSet(folder.name, documents, passages, questions[:most])


def answering(found: QuestionSet) -> list[set[int]]:
    """Return, for every question, the numbers of the passages that answer it."""
    by_document: dict[str, list[int]] = {}
    for number, passage in enumerate(found.passages):
        by_document.setdefault(passage.document, []).append(number)
    return [
        {
            number
            for document, start, end in question.places
            for number in by_document.get(document, ())
            if _answers(found.passages[number], start, end)
        }
        for question in found.questions
    ]


def _answers(passage: Passage, start: int, end: int) -> bool:
    shared = min(passage.end, end) - max(passage.start, start)
    return shared > 0 and (shared >= COVERED * (end - start) or shared >= COVERED * (passage.end - passage.start))
