"""Answers of the channels `search:match` and `search:replace:*`."""

from typing import Annotated, Literal, NotRequired

from typing_extensions import TypedDict

from findspot.surfaces.http.models.errors import ApiError
from findspot.surfaces.http.models.json import one_of

SkipReason = Annotated[str, one_of("changed", "deleted", "unreadable", "too_large", "unsafe")]


class MatchRange(TypedDict):
    start: int
    end: int


class DocumentMatches(TypedDict):
    """Ranges of the document's text. `truncated` says that there are more of them."""

    matches: list[MatchRange]
    truncated: bool


class PreviewMatch(TypedDict):
    """A match at `start` to `end` of the document's text: `before` becomes `after`. `leading` and `trailing` are the
    text around it in its line."""

    start: int
    end: int
    before: str
    after: str
    leading: str
    trailing: str


class PreviewDocument(TypedDict):
    """A document with the matches that are on this page, of `matchCount` in all. If it `changed` since the preview was
    made, it has none here, and the replace will skip it."""

    documentId: int
    documentTitle: str
    matchCount: int
    changed: bool
    matches: list[PreviewMatch]


class SkippedDocument(TypedDict):
    """A document that is left as it is: it `changed` since, it was `deleted`, its content is damaged (`unreadable`), or
    the new content would be `too_large`. `unsafe` is only about some of its matches: the Markdown around them does not
    allow to replace them without changing other text."""

    documentId: int
    reason: SkipReason


class ReplacePreview(TypedDict):
    """One page of a preview; the totals are those of all pages. It can be executed once, until `expiresAt`.

    If `needsConfirmedRisk`, the replacement is empty or there are more than 1,000 matches. `skipped` are the documents
    that cannot be searched, or not all of whose matches can be replaced.
    """

    previewId: int
    affectedDocuments: int
    totalMatches: int
    items: list[PreviewDocument]
    page: int
    hasMore: bool
    needsConfirmedRisk: bool
    expiresAt: str
    skipped: list[SkippedDocument]
    notice: str


class ReplaceOutcome(TypedDict):
    """What a replace changed. `versionIds` keep the contents before it, one per changed document."""

    replacedCount: int
    affectedDocumentCount: int
    versionIds: list[int]
    skipped: list[SkippedDocument]
    notice: str


class ReplaceProgress(TypedDict):
    """One line of progress: `done` of `total` documents are prepared. The last line has the outcome, or the error."""

    done: int
    total: int
    outcome: NotRequired[ReplaceOutcome]
    error: NotRequired[ApiError]


class UndoOutcome(TypedDict):
    """What an undo put back. `versionIds` keep the replaced contents; `skipped` changed after the replace."""

    restoredCount: int
    restoredDocumentCount: int
    versionIds: list[int]
    skipped: list[SkippedDocument]
    notice: str


class PastReplace(TypedDict):
    """A replace that was executed. `undoableDocumentCount` documents have not changed since, so an undo restores them;
    after an undo there are none."""

    previewId: int
    search: str
    replace: str
    caseSensitive: bool
    wholeWord: bool
    regex: bool
    preserveCase: bool
    scope: Literal["document", "project"]
    documentId: int | None
    replacedCount: int
    affectedDocumentCount: int
    undoableDocumentCount: int
    executedAt: str
    executedBy: str
    undoneAt: str | None
    undoneBy: str | None


class PastReplaces(TypedDict):
    """Replaces, newest first. `before` leads to older ones; it is null if there are none."""

    replaces: list[PastReplace]
    before: int | None
