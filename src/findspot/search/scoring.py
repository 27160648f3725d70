"""Score the candidates of a workspace search, and those that were looked at closely once more."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from findspot.ranking import workspace
from findspot.ranking.fusion import LOOKED_AT
from findspot.ranking.scores import LegName, keyword_leg, vector_leg
from findspot.ranking.workspace import Origin, Scored, Shows
from findspot.search.candidates import Candidates
from findspot.search.paging import Ranking
from findspot.search.request import SearchRequest, Strategy

if TYPE_CHECKING:
    from findspot.ranking.workspace import Similarities


def score(
    ranking: Ranking, found: Candidates, similarities: "Similarities", shown: Shows[int] | None = None
) -> list[Scored[int]]:
    """Return the candidates with their scores by the formula of the strategy, best first.

    Unless `shown` says otherwise, those with a score that is not shown are left out if no closer look can raise it.
    """
    legs, origins = found.recall, found.origins
    keyword = keyword_leg(_only(legs.keyword, origins), legs.keyword_also)
    vector = vector_leg(_only(legs.vector, origins), legs.vector_also)
    return workspace.rank(
        keyword if found.by_keyword else None,
        vector if found.by_vector else None,
        similarities,
        origins,
        ranking.now,
        found.full,
        _weights(ranking.request, found),
        shown or Shows(least_shown(ranking.request), LOOKED_AT, ranking.looks.keys()),
    )


def date_weight(request: SearchRequest, found: Candidates) -> float:
    """Return the weight of a document's date in the score of its chunks."""
    return workspace.scaled_up(_weights(request, found), keyword=found.by_keyword, vector=found.by_vector).recency


def least_shown(request: SearchRequest) -> float:
    return workspace.HIDES_BELOW if request.hides_low_scores else workspace.LEAST


def look_closer(
    hits: Sequence[Scored[int]], ranking: Ranking, found: Candidates, similarity: Callable[[float], float]
) -> list[Scored[int]]:
    """Return the hits with the scores of those that were looked at, best first."""
    scores, also = found.recall.vector, found.recall.vector_also
    cosines = {id: scores[id] if id in scores else also[id] for id in ranking.looks if id in scores or id in also}
    weights = workspace.scaled_up(workspace.HYBRID, keyword=found.by_keyword, vector=True)
    return workspace.look_closer(hits, ranking.looks, cosines, similarity, found.origins, weights.vector)


def _weights(request: SearchRequest, found: Candidates) -> Mapping[LegName, float]:
    if request.strategy is Strategy.HYBRID:
        return workspace.HYBRID
    return workspace.BY_VECTOR if found.by_vector else workspace.BY_KEYWORD


def _only(scores: Mapping[int, float], kept: Mapping[int, Origin]) -> dict[int, float]:
    return {id: score for id, score in scores.items() if id in kept}
