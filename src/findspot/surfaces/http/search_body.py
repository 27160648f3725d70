"""The bodies of searches and explanations, and the search request that a body stands for."""

import re
import unicodedata
from datetime import UTC, datetime
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from findspot.engines.protocol import EVERYTHING, Within
from findspot.errors import invalid
from findspot.jsontext.check import without_nul
from findspot.names import MAX_LENGTH
from findspot.search import SearchRequest, Strategy
from findspot.search.explain import MAX_EXPLAINED
from findspot.search.request import PAGE_SIZE, DocumentFilter, Sort
from findspot.surfaces.http.body import Body, Text

_MAX_PATH = 1000  # characters
_TIME = re.compile(r"\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?(?:Z|[+-]\d\d:\d\d))?", re.ASCII)


def _checked_time(text: str) -> str:
    time_of(text)
    return text


def time_of(text: str) -> datetime:
    """Return the time that a date (its start, in UTC) or a time with a time zone stands for."""
    try:
        if _TIME.fullmatch(text) is None:
            raise ValueError
        time = datetime.fromisoformat(text)
        return time.astimezone(UTC) if time.tzinfo else time.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        raise ValueError("must be a date such as 2026-11-01, or a time such as 2026-11-01T08:30:00Z") from None


_Id = Annotated[int, Field(ge=1, lt=10**18)]
_Type = Annotated[Text, Field(min_length=1, max_length=MAX_LENGTH), AfterValidator(without_nul)]
_Path = Annotated[Text, Field(min_length=1, max_length=_MAX_PATH), AfterValidator(without_nul)]
_Time = Annotated[str, Field(max_length=40, examples=["2026-11-01"]), AfterValidator(_checked_time)]


class Search(Body):
    """A search. `page` counts from 1; a `cursor` continues the ranking of an earlier page. `limit` is the number of
    results on a page.

    Only documents are searched that pass all filters: `documentIds`, `types`, `pathPrefix` (of the imported file),
    `updatedAfter` (or at that time) and `updatedBefore`, each a date in UTC or a time with its zone. `perDocument` is
    the most results of one document. `includeDuplicates` lists passages that are otherwise folded into one like them.
    `counts` adds the numbers of matches by document and by type. Words that occur nowhere are corrected, unless the
    search is `exact`.
    """

    query: Text
    page: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    cursor: Annotated[str, Field(max_length=64)] | None = None
    limit: Annotated[int, Field(ge=1, le=PAGE_SIZE)] = PAGE_SIZE
    documentIds: Annotated[list[_Id], Field(max_length=10_000)] | None = None
    types: Annotated[list[_Type], Field(min_length=1, max_length=50)] | None = None
    pathPrefix: _Path | None = None
    updatedAfter: _Time | None = None
    updatedBefore: _Time | None = None
    sort: Literal["relevance", "date"] = "relevance"
    perDocument: Annotated[int, Field(ge=1, le=PAGE_SIZE)] | None = None
    includeDuplicates: bool = False
    includeLowScores: bool = False
    counts: bool = False
    typing: bool = False
    exact: bool = False

    def request(self, project_id: int, strategy: Strategy) -> SearchRequest:
        return SearchRequest(
            project_id,
            self.query,
            strategy,
            within=EVERYTHING if self.documentIds is None else Within(document_ids=frozenset(self.documentIds)),
            typing=self.typing,
            exact=self.exact,
            low_scores=self.includeLowScores,
            documents=self._filter(),
            page_size=self.limit,
            sort=Sort(self.sort),
            per_document=self.perDocument,
            duplicates=self.includeDuplicates,
            counts=self.counts,
        )

    def _filter(self) -> DocumentFilter:
        after, before = (None if each is None else time_of(each) for each in (self.updatedAfter, self.updatedBefore))
        if after and before and after >= before:
            raise invalid("updatedBefore", "must be later than updatedAfter")
        types = None if self.types is None else frozenset(self.types)
        path = None if self.pathPrefix is None else unicodedata.normalize("NFC", self.pathPrefix)  # as imports do
        return DocumentFilter(types, path, after, before)


class StrategicSearch(Search):
    strategy: Literal["fts", "semantic", "hybrid"]


class Explain(Body):
    """The query of a hybrid search, and either one passage (`documentId` and `chunkId`) or several (`chunkIds`)."""

    query: Text
    documentId: _Id | None = None
    chunkId: _Id | None = None
    chunkIds: Annotated[list[_Id], Field(min_length=1, max_length=MAX_EXPLAINED)] | None = None
    typing: bool = False
    exact: bool = False

    @model_validator(mode="after")
    def _names_one_or_several(self) -> Self:
        one = (self.documentId is not None) + (self.chunkId is not None)
        if self.chunkIds is None and one < 2:
            raise invalid("chunkIds" if not one else "chunkId" if self.documentId else "documentId", "is required")
        if self.chunkIds is not None and one:
            raise invalid("chunkIds", "cannot be sent together with documentId and chunkId")
        return self
