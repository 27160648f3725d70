"""Limits of reading an archive, and the notes about what they leave out."""

from __future__ import annotations

from dataclasses import dataclass

from findspot.sources.files import Skipped
from findspot.sources.paths import printable

THE_ARCHIVE = "(the archive)"


@dataclass(frozen=True, slots=True)
class Limits:
    """Maximum entries of an archive, bytes of one unpacked file, and unpacked bytes in total."""

    entries: int
    file: int
    total: int


class ArchiveError(ValueError):
    """An archive that cannot be read at all. The message says why."""


def too_large(name: str, limits: Limits) -> Skipped:
    return Skipped(printable(name), f"it has more than {limits.file:,} bytes, the limit for one file")


def total_exceeded(limits: Limits, left: int | None = None) -> Skipped:
    rest = "the rest was" if left is None else f"the last {left:,} entries were"
    return Skipped(THE_ARCHIVE, f"it unpacks to more than {limits.total:,} bytes; {rest} not read")


def rest_unread(reason: str) -> Skipped:
    return Skipped(THE_ARCHIVE, f"{reason}; the files before this point were read, the rest was not")
