"""Figures as people say them. Machines get them as they are, with '--json'."""

from datetime import UTC, datetime, timedelta

_SPANS = ((timedelta(days=1), "day"), (timedelta(hours=1), "hour"), (timedelta(minutes=1), "minute"))
_DATED_AFTER = timedelta(days=7)


def ago(moment: str, now: datetime | None = None) -> str:
    """An ISO moment seen from now: '3 hours ago', and from a week on its date."""
    then = datetime.fromisoformat(moment)
    passed = (now or datetime.now(UTC)) - then
    if passed >= _DATED_AFTER or passed < -timedelta(minutes=1):  # the clocks of two machines may differ a little
        return f"{then.astimezone():%Y-%m-%d}"
    for span, name in _SPANS:
        if passed >= span:
            return f"{count(passed // span, name)} ago"
    return "just now"


def size(octets: int) -> str:
    """A number of bytes with three digits or so: '38 B', '1.2 kB', '52.4 MB'."""
    if octets < 1000:
        return f"{octets} B"
    figure = octets / 1000
    for unit in ("kB", "MB", "GB"):
        if figure < 999.95:
            return f"{figure:.1f} {unit}"
        figure /= 1000
    return f"{figure:,.1f} TB"


def count(number: int, noun: str) -> str:
    """'1 table', '2 tables', '12,000 tables'."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
