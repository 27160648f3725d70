"""Times, sizes and counts as text."""

from datetime import UTC, datetime, timedelta

import pytest

from findspot.surfaces.cli.formatting import ago, count, duration, size

NOW = datetime(2026, 3, 14, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("passed", "text"),
    [
        (timedelta(seconds=-30), "just now"),
        (timedelta(seconds=59), "just now"),
        (timedelta(seconds=60), "1 minute ago"),
        (timedelta(minutes=59, seconds=59), "59 minutes ago"),
        (timedelta(hours=1), "1 hour ago"),
        (timedelta(hours=23, minutes=59), "23 hours ago"),
        (timedelta(days=1), "1 day ago"),
        (timedelta(days=6, hours=23), "6 days ago"),
    ],
)
def test_a_recent_time_is_shown_as_its_age(passed: timedelta, text: str) -> None:
    assert ago((NOW - passed).isoformat().replace("+00:00", "Z"), NOW) == text


@pytest.mark.parametrize("passed", [timedelta(days=7), timedelta(days=400), timedelta(hours=-1)])
def test_an_old_or_future_time_is_shown_as_its_date(passed: timedelta) -> None:
    then = NOW - passed
    assert ago(then.isoformat(), NOW) == then.astimezone().date().isoformat()


@pytest.mark.parametrize(
    ("bytes_", "text"),
    [
        (0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (999_949, "999.9 kB"), (999_950, "1.0 MB"),
        (52_428_800, "52.4 MB"), (3_000_000_000, "3.0 GB"), (5_000_000_000_000_000, "5,000.0 TB"),
    ],
)  # fmt: skip
def test_a_size_has_a_unit_that_fits(bytes_: int, text: str) -> None:
    assert size(bytes_) == text


def test_one_is_singular() -> None:
    assert [count(n, "table") for n in (0, 1, 2, 12_000)] == ["0 tables", "1 table", "2 tables", "12,000 tables"]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 seconds"), (1, "1 second"), (59, "59 seconds"), (60, "1 minute"), (170, "3 minutes"), (7300, "2 hours")],
)
def test_a_duration_has_its_largest_unit(seconds: float, text: str) -> None:
    assert duration(seconds) == text
