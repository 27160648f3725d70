"""How much is taken from an archive, counted while it is read."""

from __future__ import annotations

from dataclasses import dataclass

from findspot.sources.files import Skipped
from findspot.sources.paths import shown

THE_ARCHIVE = "(the archive)"


@dataclass(frozen=True, slots=True)
class Limits:
    """Entries of an archive, bytes of one unpacked file, and bytes unpacked in all."""

    entries: int
    file: int
    total: int


class ArchiveError(ValueError):
    """An archive of which nothing is read; the sentence says why."""


def too_large(name: str, limits: Limits) -> Skipped:
    return Skipped(shown(name), f"it has more than {limits.file:,} bytes, which is the limit for one file")


def past_total(limits: Limits, left: int | None = None) -> Skipped:
    rest = "the rest was" if left is None else f"the last {left:,} entries were"
    return Skipped(THE_ARCHIVE, f"it unpacks to more than {limits.total:,} bytes; {rest} not read")


def cut_off(reason: str) -> Skipped:
    return Skipped(THE_ARCHIVE, f"{reason}; what stands before was read, the rest was not")
