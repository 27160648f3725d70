"""Fuse the keyword leg and the vector leg into one order: by rank (RRF), or by score (convex)."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from findspot.ranking.normal import bm25_norms
from findspot.ranking.scores import Leg, Look, Part, Ranked, halfway, ranked

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Numbers: TypeAlias = npt.NDArray[np.float64]

Id = TypeVar("Id", bound=int | str)

RRF_K = 60
LOOKED_AT = 24  # how many of the best hits are compared with the query segment by segment and word by word
SEGMENT_LENGTH = 150  # characters
WORD_SIMILARITY_WEIGHT = 0.25
DOCUMENT_WEIGHT = 0.2
_LAST = 1 << 62  # the rank of a hit that a leg did not recall


@dataclass(frozen=True, slots=True)
class Weights:
    """How much each leg counts. Only their proportion matters: `scaled` makes them add up to 1."""

    keyword: float
    vector: float

    def scaled(self) -> Weights:
        total = self.keyword + self.vector
        if total <= 0:
            raise ValueError("at least one weight must be above zero")
        return Weights(self.keyword / total, self.vector / total)


def rrf(keyword: Leg[Id], vector: Leg[Id], weights: Weights, k: int = RRF_K) -> list[Ranked[Id]]:
    """Rank by weighted reciprocal ranks, scaled so that the first of both legs scores 1.0."""
    scaled = weights.scaled()
    legs = ((keyword, scaled.keyword, keyword.ranks()), (vector, scaled.vector, vector.ranks()))

    def parts(id: Id) -> list[Part]:
        return [
            Part(leg.name, leg.raw(id), ranks.get(id), (k + 1) / (k + ranks[id]) if id in ranks else 0.0, weight)
            for leg, weight, ranks in legs
        ]

    return _ordered(ranked(id, *parts(id)) for id in keyword.scores.keys() | vector.scores.keys())


def convex(
    keyword: Leg[Id], vector: Leg[Id], weights: Weights, closenesses: Callable[[Numbers], Numbers]
) -> Iterator[Ranked[Id]]:
    """Rank by a weighted sum of both scores on absolute scales. `closenesses` scales cosines to 0…1.

    This is an iterator, best hit first: a search returns a few of hundreds of candidates, and only those need objects.
    All candidates are scored at once, which takes 0.22 ms for those of a search; one by one takes 0.4.
    """
    import numpy as np

    scaled = weights.scaled()
    bm25, cosines = keyword.all(), vector.all()
    ids = list({**keyword.scores, **vector.scores})
    by_keyword = bm25_norms(_column(bm25, ids, 0.0))
    known = _column(cosines, ids, math.nan)
    by_vector = np.where(np.isnan(known), 0.0, closenesses(known))
    scores = scaled.keyword * by_keyword + scaled.vector * by_vector
    # Equal scores are ordered by keyword rank, which is the order of BM25 scores and then of ids.
    order = np.lexsort((np.array(ids), -_column(keyword.scores, ids, -math.inf), -scores))
    norms = zip(by_keyword[order].tolist(), by_vector[order].tolist(), strict=True)
    keyword_ranks, vector_ranks = keyword.ranks(), vector.ranks()
    for place, (keyword_norm, vector_norm) in zip(order.tolist(), norms, strict=True):
        id = ids[place]
        yield ranked(
            id,
            Part("keyword", bm25.get(id), keyword_ranks.get(id), keyword_norm, scaled.keyword),
            Part("vector", cosines.get(id), vector_ranks.get(id), vector_norm, scaled.vector),
        )


def _column(scores: Mapping[Id, float], ids: Sequence[Id], missing: float) -> Numbers:
    import numpy as np

    return np.fromiter(map(scores.get, ids, repeat(missing)), np.float64, len(ids))


def rescore(
    hits: Sequence[Ranked[Id]],
    looks: Mapping[Id, Look],
    sources: Mapping[Id, Hashable],
    closeness: Callable[[float], float],
) -> list[Ranked[Id]]:
    """Return the hits in the order of the second stage, given the looks at the best of them.

    The two legs of the first stage keep half of the weight, with the cosine halfway to that of the best segment. The
    other half is the word similarity, and the best first-stage score of a hit that was looked at in the same document
    or node (`sources`). Both are 0 for the other hits, so these stay behind.
    """
    of_source: dict[Hashable, float] = {}
    for hit in hits:
        if hit.id in looks:
            of_source[sources[hit.id]] = max(hit.score, of_source.get(sources[hit.id], 0.0))
    first_stage = 1 - WORD_SIMILARITY_WEIGHT - DOCUMENT_WEIGHT

    def rescored(hit: Ranked[Id]) -> Ranked[Id]:
        look = looks.get(hit.id)
        words, document = (look[1], of_source[sources[hit.id]]) if look else (0.0, 0.0)
        return ranked(
            hit.id,
            *[_closer(part, look, closeness, first_stage * part.weight) for part in hit.parts],
            Part("word_similarity", look[1] if look else None, None, words, WORD_SIMILARITY_WEIGHT),
            Part("document", document if look else None, None, document, DOCUMENT_WEIGHT),
        )

    return _ordered(map(rescored, hits))


def _closer(part: Part, look: Look | None, closeness: Callable[[float], float], weight: float) -> Part:
    """Return the part with this weight. A vector part that was looked at has the cosine halfway to its best segment."""
    if look is None or part.leg != "vector" or part.raw is None:
        return Part(part.leg, part.raw, part.rank, part.norm, weight)
    raw = halfway(part.raw, look[0])
    return Part(part.leg, raw, part.rank, closeness(raw), weight)


def _ordered(hits: Iterable[Ranked[Id]]) -> list[Ranked[Id]]:
    """Sort best first. Equal scores are ordered by keyword rank (the first part), then by id."""
    return sorted(hits, key=lambda hit: (-hit.score, hit.parts[0].rank or _LAST, hit.id))
