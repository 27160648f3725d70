"""Answers of an import."""

from typing import NotRequired

from typing_extensions import TypedDict

from findspot.surfaces.http.models.errors import ApiError


class SkippedFile(TypedDict):
    path: str
    reason: str


class ImportProgress(TypedDict):
    """One line of an import's answer. The last line has `skipped_files`, and `error` if the import broke off."""

    done: int
    total: int | None
    created: int
    changed: int
    unchanged: int
    skipped: int
    skipped_files: NotRequired[list[SkippedFile]]
    error: NotRequired[ApiError]
