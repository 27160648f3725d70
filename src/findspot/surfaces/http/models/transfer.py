"""Answers of an import."""

from typing import Literal, NotRequired

from typing_extensions import TypedDict

from findspot.surfaces.http.models.errors import ApiError


class SkippedFile(TypedDict):
    path: str
    reason: str


class FolderListing(TypedDict):
    """Paths of files in a root."""

    root: str
    paths: list[str]


class MissingFile(TypedDict):
    """A document or table whose file is gone from its root."""

    kind: Literal["document", "table"]
    id: int
    path: str


class MissingFiles(TypedDict):
    missing: list[MissingFile]


class Pruned(TypedDict):
    """How many documents and tables were deleted."""

    deleted: int


class ImportProgress(TypedDict):
    """One line of an import's answer. The last line has `skipped_files`, and `error` if the import broke off.

    The last line of a complete import also has `missing_files`; with `prune` those were deleted.
    """

    done: int
    total: int | None
    created: int
    changed: int
    renamed: int
    unchanged: int
    skipped: int
    deleted: int
    skipped_files: NotRequired[list[SkippedFile]]
    missing_files: NotRequired[list[MissingFile]]
    error: NotRequired[ApiError]
