"""Requests and answers about documents and their versions."""

from typing import Annotated, Literal, NotRequired

from typing_extensions import TypedDict

from findspot.surfaces.http.models.json import JsonObject, one_of

DocumentFormat = Annotated[str, one_of("tiptap", "markdown", "text")]
Content = JsonObject | str
Reason = Annotated[str, one_of("manual", "autosave", "replace", "restore")]


class NewDocument(TypedDict):
    """A document to make. `content` is a TipTap document, or a text in the other formats."""

    title: str
    type: NotRequired[str]
    content: Content
    format: DocumentFormat


class DocumentChange(TypedDict):
    """The fields of a document to change. With `baseRevision`, the change is refused when the document moved on."""

    title: NotRequired[str]
    content: NotRequired[Content]
    format: NotRequired[DocumentFormat]
    baseRevision: NotRequired[int]
    reason: NotRequired[Reason]


class CreatedDocument(TypedDict):
    id: int
    revision: int
    updatedAt: str


class SavedDocument(CreatedDocument):
    """A document after a change; `versionId` is the version that keeps the previous content, if one was made."""

    versionId: int | None


class DocumentSummary(TypedDict):
    """A document without its content. `path` is the file that it was imported from."""

    id: int
    projectId: int
    title: str
    type: str
    format: DocumentFormat
    revision: int
    wordCount: int
    path: str | None
    updatedAt: str


class DocumentList(TypedDict):
    documents: list[DocumentSummary]


class Document(DocumentSummary):
    """A document with its content, and its text: the characters that are searched and that offsets count."""

    content: Content
    text: str


class VersionSummary(TypedDict):
    """A version without its content."""

    id: int
    reason: Reason
    actor: str
    createdAt: str
    parentId: int | None
    wordCount: int


class Versions(TypedDict):
    versions: list[VersionSummary]


class Version(VersionSummary):
    """A version with its content and its text."""

    title: str
    format: DocumentFormat
    content: Content
    text: str


class Change(TypedDict):
    """A run of words that both texts have, or that only one of them has."""

    op: Literal["equal", "insert", "delete"]
    text: str


Diff = TypedDict("Diff", {"from": int, "to": int | None, "changes": list[Change]})
Diff.__doc__ = "The changes from the version `from` to the version `to`, or to the document as it is now."
