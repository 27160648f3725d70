"""Which chunk is best, and why? Pure functions from the scores of both legs to one order with reasons.

`rrf` and `convex` fuse two legs for a tool, and `rescore` is the second stage for the best hits.
`findspot.ranking.workspace` has the fixed formula of workspace search. docs/ranking.md explains the numbers.
"""

from findspot.ranking.fusion import Weights, convex, rescore, rrf
from findspot.ranking.normal import bm25_norm, recency
from findspot.ranking.scores import Leg, Look, Part, Ranked, keyword_leg, ranked, vector_leg
from findspot.ranking.workspace import Origin, Scored, Shown

__all__ = [
    "Leg",
    "Look",
    "Origin",
    "Part",
    "Ranked",
    "Scored",
    "Shown",
    "Weights",
    "bm25_norm",
    "convex",
    "keyword_leg",
    "ranked",
    "recency",
    "rescore",
    "rrf",
    "vector_leg",
]
