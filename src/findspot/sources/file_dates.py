"""Decides which dates of files are believed."""

from __future__ import annotations

import struct
from datetime import UTC, datetime

# Tools write the first day that a zip can name, or the first second of Unix, for files without a date.
_EARLIEST = datetime(1980, 1, 2, tzinfo=UTC)
_EXTENDED_TIME = 0x5455  # the extra field of a zip entry with Unix times
_HAS_MODIFIED = 0x01


def date_of(seconds: float) -> datetime | None:
    """Return a Unix time as a date; None if it is before 1980-01-02 or cannot be a date."""
    try:
        date = datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, OSError, ValueError):
        return None
    return date if date >= _EARLIEST else None


def zip_date(local: tuple[int, int, int, int, int, int], extra: bytes) -> datetime | None:
    """Return the date of a zip entry: its Unix time if it has one, else its local time, taken as UTC.

    The time zone of the local time is not in the archive. An error of some hours does not matter for recency.
    """
    at = 0
    while at + 4 <= len(extra):
        kind, size = struct.unpack_from("<HH", extra, at)
        if kind == _EXTENDED_TIME and size >= 5 and at + 9 <= len(extra) and extra[at + 4] & _HAS_MODIFIED:
            return date_of(struct.unpack_from("<i", extra, at + 5)[0])
        at += 4 + size
    try:
        return date_of(datetime(*local, tzinfo=UTC).timestamp())
    except ValueError:
        return None


def not_in_future(date: datetime | None) -> datetime | None:
    """Return the date, or the present time if it is later: a clock was wrong."""
    return None if date is None else min(date, datetime.now(UTC))
