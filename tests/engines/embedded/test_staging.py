"""Folders that are created and removed in one step."""

from __future__ import annotations

from pathlib import Path

import pytest

from findspot.engines.embedded.staging import Staging


def test_a_folder_appears_only_when_it_is_filled(tmp_path: Path) -> None:
    staging, folder = Staging(tmp_path / ".staging"), tmp_path / "project" / "namespace"

    def fill(new: Path) -> None:
        (new / "file").write_text("x")
        assert not folder.exists()

    staging.create(folder, fill)
    assert [each.name for each in folder.iterdir()] == ["file"]

    def fails(new: Path) -> None:
        raise OSError("No space left on device")

    with pytest.raises(OSError, match="No space"):
        staging.create(tmp_path / "project" / "other", fails)
    assert not (tmp_path / "project" / "other").exists()


def test_removing_the_last_folder_removes_its_parent(tmp_path: Path) -> None:
    staging, parent = Staging(tmp_path / ".staging"), tmp_path / "project"
    for name in ("one", "two"):
        staging.create(parent / name, lambda new: None)
    staging.remove(parent / "one")
    assert [each.name for each in parent.iterdir()] == ["two"]
    staging.remove(parent / "two")
    staging.remove(parent / "two")
    assert [each.name for each in tmp_path.iterdir()] == [".staging"]
    assert list((tmp_path / ".staging").iterdir()) == []


def test_opening_removes_what_a_killed_process_left(tmp_path: Path) -> None:
    (tmp_path / ".staging" / "half").mkdir(parents=True)
    Staging(tmp_path / ".staging")
    assert list((tmp_path / ".staging").iterdir()) == []
