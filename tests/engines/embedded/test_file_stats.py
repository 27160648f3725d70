"""Files that were written over are noticed; files that are as they were, or gone, are not."""

import os
from pathlib import Path

import pytest

from findspot.engines.embedded.file_stats import FileStats


@pytest.fixture
def paths(tmp_path: Path) -> tuple[str, ...]:
    made = [tmp_path / name for name in ("segment", "段.idx", "third")]
    for path in made:
        path.write_bytes(b"as it was")
    return tuple(map(str, made))


@pytest.fixture
def stats(paths: tuple[str, ...]) -> FileStats:
    stats = FileStats({})
    stats.refresh(paths)
    return stats


def test_files_that_are_as_they_were_are_not_overwritten(stats: FileStats, paths: tuple[str, ...]) -> None:
    assert not stats.overwritten(paths)
    assert not stats.overwritten(())


@pytest.mark.parametrize("place", range(3))
def test_a_changed_byte_is_noticed_in_every_file(stats: FileStats, paths: tuple[str, ...], place: int) -> None:
    with Path(paths[place]).open("r+b") as file:
        file.write(b"A")
    os.utime(paths[place], ns=(1, stats.known[paths[place]][1] + 1))  # type: ignore[index]
    assert stats.overwritten(paths)
    stats.refresh([paths[place]])
    assert not stats.overwritten(paths)


def test_a_deleted_file_is_not_overwritten(stats: FileStats, paths: tuple[str, ...]) -> None:
    Path(paths[1]).unlink()
    assert not stats.overwritten(paths)


def test_a_file_that_appears_or_is_replaced_is_noticed(
    stats: FileStats, paths: tuple[str, ...], tmp_path: Path
) -> None:
    Path(paths[1]).unlink()
    stats.refresh([paths[1]])
    assert not stats.overwritten(paths)
    copy = tmp_path / "copy"
    copy.write_bytes(b"as it was")
    copy.replace(paths[1])
    assert stats.overwritten(paths)


def test_growth_of_a_file_that_another_process_appends_to_is_no_change(paths: tuple[str, ...]) -> None:
    stats = FileStats({}, growing=frozenset(paths))
    stats.refresh(paths)
    with Path(paths[0]).open("ab") as file:
        file.write(b" and more")
    assert not stats.overwritten(paths)
    Path(paths[0]).write_bytes(b"")
    assert stats.overwritten(paths)


def test_a_time_before_1970_is_known(paths: tuple[str, ...]) -> None:
    os.utime(paths[0], ns=(-5, -5))
    stats = FileStats({})
    stats.refresh(paths)
    assert not stats.overwritten(paths)
