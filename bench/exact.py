"""An exact index for comparison: it computes BM25 and cosines of every text for every question."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from findspot.words import query_terms, terms

K1, B = 1.2, 0.75  # as tantivy

Scores = npt.NDArray[np.float32]


class Keywords:
    """BM25 over texts, with Findspot's own analyser."""

    def __init__(self, texts: Sequence[str]) -> None:
        numbers: dict[str, list[int]] = {}
        counts: dict[str, list[int]] = {}
        lengths = np.zeros(len(texts), np.float32)
        for number, text in enumerate(texts):
            found = Counter(terms(text))
            lengths[number] = found.total()
            for term, count in found.items():
                numbers.setdefault(term, []).append(number)
                counts.setdefault(term, []).append(count)
        self._size = len(texts)
        self._damping = K1 * (1 - B + B * lengths / max(1e-9, float(lengths.mean())))
        self._postings = {
            term: (np.array(at, np.int32), np.array(counts[term], np.float32)) for term, at in numbers.items()
        }

    def scores(self, question: str) -> Scores:
        total = np.zeros(self._size, np.float32)
        for term in query_terms(question):
            if term in self._postings:
                at, counts = self._postings[term]
                idf = np.log(1 + (self._size - len(at) + 0.5) / (len(at) + 0.5))
                total[at] += idf * (K1 + 1) * counts / (counts + self._damping[at])
        return total


def best(scores: Scores, limit: int, *, above: float = -np.inf) -> dict[int, float]:
    """Return the best texts by number. Texts with equal scores keep their order."""
    some = np.argpartition(-scores, limit - 1)[:limit] if limit < len(scores) else np.arange(len(scores))
    ordered = some[np.lexsort((some, -scores[some]))]
    return {int(at): float(scores[at]) for at in ordered if scores[at] > above}
