"""How many chunks a workspace search matches.

Counting every match exactly would mean ranking all of them. The total is therefore exact where that is cheap, and
otherwise a lower bound. The first row that applies decides:

| row | situation | count | exact |
|---|---|---|---|
| 1 | every candidate was ranked, and no limit cut them off | hits | yes |
| 2 | no page could use vectors, and keywords have no further candidates | hits | yes |
| 3 | the query has exclusions or phrases that only the texts can decide | hits so far | no |
| 4 | more matches than the limit of candidates | the limit | no |
| 5 | hybrid: vectors have further candidates | matches | no |
| 6 | vectors failed after some pages could use them | matches | no |
| 7 | otherwise | matches | yes |

"Matches" are the chunks that match by keyword (for a semantic search: that have a vector) plus, in a hybrid search, the
hits that vectors alone found. They may include chunks that are hidden because of a low score. They are never fewer than
the hits so far, and never more than the limit of candidates.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Total:
    """A number of matches: the exact one, or a lower bound."""

    count: int
    exact: bool


NOTHING = Total(0, exact=True)


@dataclass(frozen=True, slots=True)
class Counts:
    """The facts after a step of ranking that decide the total."""

    hits: int
    limit: int  # the most candidates that are ranked
    ranked_all: bool = False
    keywords_only: bool = False  # every hit so far was ranked without vectors, because they failed
    keywords_exhausted: bool = False  # vectors failed, and keywords have no further candidates
    texts_decide: bool = False
    leg_matches: int = 0  # chunks that match by keyword; for a semantic search, that have a vector
    vector_only_hits: int = 0
    more_by_vector: bool = False
    vectors_failed: bool = False

    def total(self) -> Total:
        """Return the total by the table of this module."""
        if self.ranked_all or (self.keywords_only and self.keywords_exhausted):
            return Total(self.hits, exact=True)
        if self.texts_decide:
            return Total(self.hits, exact=False)
        matches = self.leg_matches + self.vector_only_hits
        is_bound = matches > self.limit or self.more_by_vector or (self.vectors_failed and not self.keywords_only)
        return Total(min(max(matches, self.hits), self.limit), exact=not is_bound)
