"""The formula of workspace search: 0.55·bm25Norm + 0.35·semantic + 0.10·recency. Its weights are fixed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from datetime import datetime
from itertools import repeat
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeAlias, TypeVar

from findspot.ranking.normal import bm25_norm, bm25_norms, recency
from findspot.ranking.scores import Leg, LegName, Look, Part, Ranked, halfway, ranked

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Numbers: TypeAlias = npt.NDArray[np.float64]
    Places: TypeAlias = npt.NDArray[np.intp]
    Similarities: TypeAlias = Callable[[Numbers], Numbers]  # scores of cosines

Id = TypeVar("Id", bound=int | str)

DIGITS = 6  # of a score in an answer
_SCALE = 10.0**DIGITS
HIDES_BELOW = 0.25  # in a hybrid search
LEAST = 10**-DIGITS  # a score that is shown as 0 is no hit
LEAST_WORD_SIMILARITY = 0.2  # what unrelated texts have

HYBRID: Mapping[LegName, float] = {"keyword": 0.55, "vector": 0.35, "recency": 0.10}
BY_KEYWORD: Mapping[LegName, float] = {"keyword": 1.0, "vector": 0.0, "recency": 0.0}
BY_VECTOR: Mapping[LegName, float] = {"keyword": 0.0, "vector": 1.0, "recency": 0.0}


class Origin(NamedTuple):
    """The document that a chunk was cut from, and when it was last changed."""

    document_id: int
    updated_at: datetime


class Shown(NamedTuple):
    """A score as it is shown: rounded shares, and a total that is exactly their sum."""

    keyword: float
    vector: float
    recency: float
    total: float

    @classmethod
    def of(cls, keyword: float, vector: float, recency: float) -> Shown:
        return cls(keyword, vector, recency, rounded(keyword + vector + recency))


class Scored(NamedTuple, Generic[Id]):
    """A hit with its score as it is shown, and whether it contains a word of the query.

    It has the fields of `Shown`, because one object for a hit instead of two saves 0.1 ms of a hybrid search.
    """

    id: Id
    keyword: float
    vector: float
    recency: float
    total: float
    has_words: bool

    @property
    def score(self) -> Shown:
        return Shown(self.keyword, self.vector, self.recency, self.total)


class Shows(NamedTuple, Generic[Id]):
    """Which candidates are returned: those with the least score, the first ones, and these."""

    least: float = 0.0
    first: int = 0
    these: Set[Id] = frozenset()

    def among(self, order: Places, totals: Numbers, ids: Sequence[Id]) -> Places:
        """Return the places that are shown, given the places of all candidates in order, with their scores."""
        kept = totals >= self.least
        kept[: self.first] = True
        if self.these:
            kept |= [ids[place] in self.these for place in order.tolist()]
        return order[kept]


ALL: Shows[Any] = Shows()


def rank(
    keyword: Leg[Id] | None,
    vector: Leg[Id] | None,
    similarities: Similarities,
    origins: Mapping[Id, Origin],
    now: datetime,
    full_matches: Set[Id] = frozenset(),
    weights: Mapping[LegName, float] = HYBRID,
    shown: Shows[Id] = ALL,
) -> list[Scored[Id]]:
    """Return the candidates of both legs, best first. A leg that was not asked (None) leaves its weight to the others.

    Scores that are shown alike are equal. Of equal hits the newer comes first, then the one with the smaller ids.
    Only hits that are `shown` become objects, which saves a fifth of the time (0.15 ms of a hybrid search).
    """
    import numpy as np

    by_keyword, by_vector, by_recency = scaled_up(weights, keyword=keyword is not None, vector=vector is not None)
    raw, cosines = (leg.all() if leg else {} for leg in (keyword, vector))
    ids = list({**(keyword.scores if keyword else {}), **(vector.scores if vector else {})})
    if not ids:
        return []
    count = len(ids)
    scores = np.fromiter(map(raw.get, ids, repeat(0.0)), np.float64, count)
    full = np.fromiter(map(full_matches.__contains__, ids), np.bool_, count)
    words = _rounded(by_keyword * bm25_norms(scores, full))
    meaning = np.zeros(count)
    if cosines:
        has_vector = np.fromiter(map(cosines.__contains__, ids), np.bool_, count)
        known = np.fromiter(map(cosines.get, ids, repeat(0.0)), np.float64, count)
        meaning = _rounded(np.where(has_vector, by_vector * similarities(known), 0.0))
    documents, updated = zip(*map(origins.__getitem__, ids), strict=True)
    times = set(updated)
    fresh = np.zeros(count)
    if by_recency:
        shares = {time: by_recency * recency(time, now) for time in times}
        fresh = _rounded(np.fromiter(map(shares.__getitem__, updated), np.float64, count))
    ages = {time: -time.timestamp() for time in times}
    order_by_age = np.fromiter(map(ages.__getitem__, updated), np.float64, count)
    totals = _rounded(words + meaning + fresh)
    # Equal hits of one document are ordered by id, which follows their positions.
    order = np.lexsort((np.array(ids), documents, order_by_age, -totals))
    order = shown.among(order, totals[order], ids)
    chosen = [ids[place] for place in order.tolist()]
    columns = (column[order].tolist() for column in (words, meaning, fresh, totals))
    return list(map(Scored, chosen, *columns, map(raw.__contains__, chosen)))


def rounded(score: float) -> float:
    """Return a score with DIGITS digits. `_rounded` gives the same numbers; `round(score, DIGITS)` would not always."""
    return round(score * _SCALE) / _SCALE


def _rounded(scores: Numbers) -> Numbers:
    import numpy as np

    return np.asarray(np.rint(scores * _SCALE) / _SCALE)


def look_closer(
    hits: Sequence[Scored[Id]],
    looks: Mapping[Id, Look],
    cosines: Mapping[Id, float],
    similarity: Callable[[float], float],
    origins: Mapping[Id, Origin],
    weight: float,
) -> list[Scored[Id]]:
    """Return the hits with the semantic part of those that were looked at raised, best first.

    `weight` is that of the semantic part. No score falls.
    """

    def closer(hit: Scored[Id]) -> Scored[Id]:
        if hit.id not in cosines:
            return hit
        vector = rounded(weight * similarity(closer_cosine(cosines[hit.id], looks[hit.id])))
        total = rounded(hit.keyword + vector + hit.recency)
        return Scored(hit.id, hit.keyword, vector, hit.recency, total, hit.has_words)

    def order(hit: Scored[Id]) -> tuple[float, float, int, Id]:
        document_id, updated_at = origins[hit.id]
        return -hit.total, -updated_at.timestamp(), document_id, hit.id

    looked_at = sorted((closer(hit) for hit in hits if hit.id in looks), key=order)
    others = [hit for hit in hits if hit.id not in looks]
    if looked_at and others and order(looked_at[-1]) > order(others[0]):  # others were recalled since
        return sorted([*looked_at, *others], key=order)
    return [*looked_at, *others]


def closer_cosine(cosine: float, look: Look) -> float:
    """Return the cosine that the semantic part is made of: the mean of the cosine halfway to that of the best segment
    and of the word similarity, if that is better."""
    segment, words = look
    compared = (words - LEAST_WORD_SIMILARITY) / (1 - LEAST_WORD_SIMILARITY)
    return max(cosine, (halfway(cosine, segment) + compared) / 2)


def explained(
    fresh: Mapping[Id, float],
    keyword: Leg[Id],
    vector: Leg[Id] | None,
    similarity: Callable[[float], float],
    full_matches: Set[Id],
    looks: Mapping[Id, Look],
) -> dict[Id, Ranked[Id]]:
    """Return the scores of chunks in a hybrid search with all their parts, whether or not a leg recalled them.

    `fresh` has the recency of each of these chunks, and `looks` the closer looks that a search takes.
    """
    weights = scaled_up(HYBRID, keyword=True, vector=vector is not None)
    by_keyword, by_vector = keyword.ranks(), vector.ranks() if vector else {}
    found = {}
    for id, recency_norm in fresh.items():
        raw, cosine = keyword.raw(id), vector.raw(id) if vector else None
        words = bm25_norm(raw or 0.0, full_match=id in full_matches)
        compared = closer_cosine(cosine, looks[id]) if id in looks and cosine is not None else cosine
        meaning = 0.0 if compared is None else similarity(compared)
        found[id] = ranked(
            id,
            Part("keyword", raw, by_keyword.get(id), words, weights.keyword),
            Part("vector", cosine, by_vector.get(id), meaning, weights.vector),
            Part("recency", None, None, recency_norm, weights.recency),
        )
    return found


def shown(hit: Ranked[Id]) -> Shown:
    """Return the score of a hit with all three parts as it is shown."""
    return Shown.of(*(rounded(part.share) for part in hit.parts))


class Weighted(NamedTuple):
    """The weight of each part; together 1."""

    keyword: float
    vector: float
    recency: float


def scaled_up(weights: Mapping[LegName, float], *, keyword: bool, vector: bool) -> Weighted:
    """Return the weights scaled to 1 when only these legs were asked."""
    up = weights["keyword"] * keyword, weights["vector"] * vector, weights["recency"]
    return Weighted(*(weight / (sum(up) or 1.0) for weight in up))
