"""Format times, sizes and counts for people. With '--json' they are printed unformatted."""

from datetime import UTC, datetime, timedelta

_UNITS = ((timedelta(days=1), "day"), (timedelta(hours=1), "hour"), (timedelta(minutes=1), "minute"))
_DATE_AFTER = timedelta(days=7)


def ago(timestamp: str, now: datetime | None = None) -> str:
    """Return the age of an ISO timestamp, such as '3 hours ago', or its date if it is older than a week."""
    then = datetime.fromisoformat(timestamp)
    passed = (now or datetime.now(UTC)) - then
    if passed >= _DATE_AFTER or passed < -timedelta(minutes=1):  # clocks of two machines may differ slightly
        return f"{then.astimezone():%Y-%m-%d}"
    for unit, name in _UNITS:
        if passed >= unit:
            return f"{count(passed // unit, name)} ago"
    return "just now"


def size(size_in_bytes: int) -> str:
    """Return a number of bytes with a unit: '38 B', '1.2 kB', '52.4 MB'."""
    if size_in_bytes < 1000:
        return f"{size_in_bytes} B"
    value = size_in_bytes / 1000
    for unit in ("kB", "MB", "GB"):
        if value < 999.95:
            return f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:,.1f} TB"


def count(number: int, noun: str) -> str:
    """Return a number with its noun: '1 table', '2 tables', '12,000 tables'."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def duration(seconds: float) -> str:
    """Return a length of time in its largest unit: '40 seconds', '3 minutes', '2 hours'."""
    length = timedelta(seconds=seconds)
    for unit, name in _UNITS:
        if length >= unit:
            return count(round(length / unit), name)
    return count(round(seconds), "second")
