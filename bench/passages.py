"""`make bench-passages`: what do joined blocks, titles and headings gain? Every document of the question sets is cut as
Findspot cuts documents, and searched with and without its context.

`single blocks` are the passages of older versions: every heading, item and paragraph on its own, without a context.
Chunks are judged where a set names the passage that answers; documents are judged in every set.
"""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from bench import exact, sets
from bench.relevance import judge
from findspot.chunking import Paragraph, cut, cut_passages
from findspot.context import Context, embedded_text
from findspot.embedding.offline import OfflineEmbedder
from findspot.engines.protocol import HEADINGS_WEIGHT, TITLE_WEIGHT
from findspot.ranking.normal import bm25_norm
from findspot.sources import extract

CANDIDATES = 200
VECTOR_WEIGHT = 0.25
WORKSPACE = (0.55, 0.35)
MOST = 250  # questions of a set

Scores = exact.Scores


@dataclass(frozen=True, slots=True)
class Cut:
    """The passages of a set, and where each of them is."""

    found: sets.QuestionSet
    contexts: list[Context]


def load(folder: Path) -> tuple[Cut, Cut]:
    """Return a set as joined passages and as single blocks."""
    known = sets.load(folder)
    rows = list(sets.lines(folder / "corpus.jsonl"))

    def cut_all(*, joined: bool) -> Cut:
        found = [
            each for row in rows for each in _passages(row["id"], row.get("title") or "", row["text"], joined=joined)
        ]
        passages = [passage for passage, _ in found]
        whole = sets.QuestionSet(known.name, known.documents, passages, known.questions)
        return Cut(whole, [context for _, context in found])

    return cut_all(joined=True), cut_all(joined=False)


def _passages(id: str, title: str, text: str, *, joined: bool) -> Iterator[tuple[sets.Passage, Context]]:
    found = extract(text, "markdown" if "\n#" in f"\n{text}" else "text")
    if joined:
        blocks = [Paragraph(each.start, each.end, each.level, each.after_rule) for each in found.blocks]
        spans: list[tuple[int, int, tuple[str, ...]]] = [
            (each.start, each.end, each.headings) for each in cut_passages(found.text, blocks)
        ]
    else:
        spans = [
            (block.start + each.start, block.start + each.end, ())
            for block in found.blocks
            for each in cut(found.text[block.start : block.end])
        ]
    for start, end, headings in spans:
        places = found.spans(start, end)
        passage = sets.Passage(id, places[0].start, places[-1].end, found.text[start:end])
        yield passage, Context.of(title, headings).outside(found.text[start:end]) if joined else Context()


class Index:
    """Scores of all passages of a set, by text, title, headings and both kinds of vectors."""

    def __init__(self, cut: Cut, embedder: OfflineEmbedder) -> None:
        texts = [passage.text for passage in cut.found.passages]
        self.cut = cut
        self.text = exact.Keywords(texts)
        self.title = exact.Keywords([context.title for context in cut.contexts])
        self.headings = exact.Keywords([" ".join(context.headings) for context in cut.contexts])
        self.plain = embedder.documents(texts)
        prefixed = [embedded_text(context, text) for context, text in zip(cut.contexts, texts, strict=True)]
        self.prefixed = embedder.documents(prefixed)

    def words(self, question: str, title: float, headings: float) -> Scores:
        score = self.text.scores(question)
        extra = np.zeros_like(score)
        if title:
            extra += title * self.title.scores(question)
        if headings:
            extra += headings * self.headings.scores(question)
        return np.where(score > 0, score + extra, 0).astype(np.float32)


def measure(index: Index, embedder: OfflineEmbedder, weights: tuple[float, float], *, prefix: bool) -> dict[str, float]:
    """Return nDCG@10 of every way of ranking, for documents and, if the set names them, for chunks."""
    found = index.cut.found
    numbers = {document: number for number, document in enumerate(found.documents)}
    units: dict[str, Sequence[int]] = {"doc": [numbers[each.document] for each in found.passages]}
    answers: dict[str, list[set[int]]] = {"doc": [{numbers[each] for each in q.documents} for q in found.questions]}
    if found.has_places:
        units["chunk"] = range(len(found.passages))
        answers["chunk"] = sets.answering(found)
    totals: dict[str, list[float]] = {}
    step = max(1, len(found.questions) // MOST)
    for number in range(0, len(found.questions), step):
        question = found.questions[number]
        query = embedder.query(question.text)
        bm25 = index.words(question.text, *weights)
        cosines = (index.prefixed if prefix else index.plain) @ query
        for way, order in _orders(bm25, cosines, embedder).items():
            for level, unit in units.items():
                if answers[level][number]:
                    ranked = list(dict.fromkeys(unit[at] for at in order))
                    score = judge(frozenset(answers[level][number]), ranked)["nDCG@10"]
                    totals.setdefault(f"{way}, {level}", []).append(score)
    return {way: float(np.mean(scores)) for way, scores in totals.items()}


def _orders(bm25: Scores, cosines: Scores, embedder: OfflineEmbedder) -> dict[str, list[int]]:
    """Return the orders of the candidates, best first."""
    words, meaning = exact.best(bm25, CANDIDATES, above=0), exact.best(cosines, CANDIDATES)
    both = sorted(words.keys() | meaning.keys())
    norms = np.array([bm25_norm(float(bm25[at])) for at in both])

    def ordered(scores: npt.NDArray[np.float64]) -> list[int]:
        return [both[at] for at in np.argsort(-scores, kind="stable")]

    closeness, score = embedder.calibration.closeness, embedder.calibration.score
    near = np.array([closeness(float(cosines[at])) for at in both])
    similar = np.array([score(float(cosines[at])) for at in both])
    return {
        "keyword": list(words),
        "vectors": list(meaning),
        "tools": ordered((1 - VECTOR_WEIGHT) * norms + VECTOR_WEIGHT * near),
        "workspace": ordered(WORKSPACE[0] * norms + WORKSPACE[1] * similar),
    }


def main() -> int:
    parser = argparse.ArgumentParser(prog="make bench-passages", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="a folder with a folder for each set")
    parser.add_argument("--set", help="only this set")
    options, embedder = parser.parse_args(), OfflineEmbedder()
    data: Path = options.data
    fields = TITLE_WEIGHT, HEADINGS_WEIGHT
    for name in [options.set] if options.set else sets.names(data):
        joined, single = load(data / name)
        old, new = Index(single, embedder), Index(joined, embedder)
        rows = {
            "single blocks": measure(old, embedder, (0, 0), prefix=False),
            "joined": measure(new, embedder, (0, 0), prefix=False),
            "joined, fields": measure(new, embedder, fields, prefix=False),
            "joined, prefix": measure(new, embedder, (0, 0), prefix=True),
            "joined, fields and prefix": measure(new, embedder, fields, prefix=True),
        }
        print(f"{name}: {len(joined.contexts)} passages, {len(single.contexts)} single blocks")
        for variant, scores in rows.items():
            print(f"  {variant:27}", "  ".join(f"{way} {score:.4f}" for way, score in scores.items()), flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
