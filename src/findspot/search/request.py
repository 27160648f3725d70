"""The request that table search, workspace search and explanations share."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Literal

from findspot.engines.protocol import EVERYTHING, Within
from findspot.models import documents_namespace, table_namespace
from findspot.ranking.fusion import Weights
from findspot.runtime.limits import TIMEOUT_S

if TYPE_CHECKING:
    from findspot.words import Query

MAX_QUERY_LENGTH = 10_001  # characters; the parser ignores everything after the first 10,000
DEFAULT_LIMIT = 10
PAGE_SIZE = 50  # results on a page of a workspace search, at most and by default


class Strategy(StrEnum):
    """The legs that a search asks. The values are those of the HTTP API."""

    KEYWORD = "fts"
    VECTOR = "semantic"
    HYBRID = "hybrid"


class Sort(StrEnum):
    """The order of the hits of a workspace search. The values are those of the HTTP API."""

    RELEVANCE = "relevance"
    DATE = "date"  # of the document's last change, newest first; equal ones by relevance


@dataclass(frozen=True, slots=True)
class DocumentFilter:
    """Which documents a workspace search may find, by what the store knows of them. The default is all of them."""

    types: frozenset[str] | None = None
    path_prefix: str | None = None  # of the file that a document was imported from
    updated_after: datetime | None = None  # or at that time
    updated_before: datetime | None = None


ANY_DOCUMENT = DocumentFilter()


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """A query and where to search: in one table or, without `table_id`, in the documents of the project."""

    project_id: int
    query: str
    strategy: Strategy = Strategy.HYBRID
    table_id: int | None = None
    within: Within = EVERYTHING
    typing: bool = False  # the last word may be incomplete
    exact: bool = False  # words that occur nowhere are not corrected
    timeout_s: float = TIMEOUT_S

    # table search only
    limit: int = DEFAULT_LIMIT
    fusion: Literal["convex", "rrf"] = "convex"
    weights: Weights | None = None  # None: the weights measured as best for the embedder

    # workspace search only
    low_scores: bool = False  # also return hybrid hits whose score is below the threshold
    documents: DocumentFilter = ANY_DOCUMENT
    page_size: int = PAGE_SIZE
    sort: Sort = Sort.RELEVANCE
    per_document: int | None = None  # the most results of one document; None: any number
    duplicates: bool = False  # list hits that are like a better one instead of folding them into it
    counts: bool = False  # also count the hits by document and by type

    def __post_init__(self) -> None:
        if len(self.query) > MAX_QUERY_LENGTH:
            object.__setattr__(self, "query", self.query[:MAX_QUERY_LENGTH])

    @property
    def namespace(self) -> str:
        if self.table_id is None:
            return documents_namespace(self.project_id)
        return table_namespace(self.project_id, self.table_id)

    @property
    def hides_low_scores(self) -> bool:
        return self.strategy is Strategy.HYBRID and not self.low_scores

    @property
    def needs_every_hit(self) -> bool:
        """Whether all candidates are ranked before the first page: the order or the counts depend on them."""
        return self.sort is Sort.DATE or self.counts

    def parse(self, text: str | None = None, *, requires_phrases: bool = True, excludes: bool = True) -> "Query":
        """Parse the query, or another text in its place."""
        from findspot.words import parse

        typed = self.query if text is None else text
        return parse(typed, typing=self.typing, requires_phrases=requires_phrases, excludes=excludes)
