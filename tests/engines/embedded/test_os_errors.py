"""Errors of the operating system and of tantivy: damaged files, or a lack of resources."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from findspot.engines.embedded.os_errors import damage_if_missing, is_damage, translate_os_errors
from findspot.engines.protocol import Damaged
from findspot.errors import FindspotError

IN_TANTIVY = "IoError { io_error: Os { code: 24, kind: Uncategorized } }"


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), False),
        (OSError(errno.EMFILE, "Too many open files"), False),
        (OSError(errno.ENFILE, "Too many open files in system"), False),
        (FileNotFoundError(errno.ENOENT, "No such file or directory"), True),
        (OSError(errno.EIO, "Input/output error"), True),
        (ValueError("An IO error occurred: 'No space left on device (os error 28)'"), False),
        (ValueError(IN_TANTIVY), False),
        (ValueError("Data corrupted: 'footer is cut'"), True),
        (OSError("words cannot be written"), True),
        (KeyError("a bug"), False),
    ],
)
def test_a_lack_of_resources_is_no_damage(error: Exception, expected: bool) -> None:
    assert is_damage(error) is expected


@pytest.mark.parametrize(
    "error", [OSError(errno.EMFILE, "Too many open files", "/secret/path"), ValueError(IN_TANTIVY)]
)
def test_an_os_error_is_translated_without_the_path(error: Exception) -> None:
    with (
        pytest.raises(FindspotError, match="The index cannot be used: Too many open files") as caught,
        translate_os_errors(),
    ):
        raise error
    assert (caught.value.code, caught.value.kind.status) == ("ENGINE_UNAVAILABLE", 503)
    assert "secret" not in caught.value.message


def test_other_errors_are_not_translated() -> None:
    with pytest.raises(KeyError), translate_os_errors():
        raise KeyError("a bug")


def test_a_missing_file_is_damage_and_a_full_disk_is_not(tmp_path: Path) -> None:
    with pytest.raises(Damaged), damage_if_missing(tmp_path):
        (tmp_path / "missing").read_bytes()
    with pytest.raises(OSError, match="No space"), damage_if_missing(tmp_path):
        raise OSError(errno.ENOSPC, "No space left on device")
