"""Decides what an error of the operating system or of tantivy means: damaged files, or a lack of resources."""

from __future__ import annotations

import errno
import os
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING

from findspot.engines.protocol import Damaged
from findspot.errors import FindspotError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_NUMBER_IN_MESSAGE = re.compile(r"(?:os error|code:) (\d+)")
_DAMAGE = {errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.EIO}


@contextmanager
def translate_os_errors() -> Iterator[None]:
    """Raise ENGINE_UNAVAILABLE for an error of the operating system, such as a full disk or too many open files."""
    try:
        yield
    except BaseException as error:
        number = error_number(error)
        if number is None and not isinstance(error, OSError):
            raise
        reason = str(error) if number is None else os.strerror(number)  # not the whole error, which names a path
        message = f"The index cannot be used: {reason}. Saved content is safe, and indexing is retried until it works."
        raise FindspotError("ENGINE_UNAVAILABLE", message) from error


@contextmanager
def damage_if_missing(folder: Path) -> Iterator[None]:
    """Raise Damaged if a file is missing or unreadable; let errors such as a full disk pass."""
    try:
        yield
    except OSError as error:
        if not is_damage(error):
            raise
        raise Damaged(f"{folder}: {error}") from error


def is_damage(error: BaseException) -> bool:
    """Return whether damaged files may have caused this error."""
    number = error_number(error)
    if number is not None:
        return number in _DAMAGE
    return isinstance(error, (ValueError, OSError)) or _is_panic(error)


def error_number(error: BaseException) -> int | None:
    """Return the errno of an error, if it has one.

    tantivy has no error classes of its own. It raises ValueError, with the errno in the message if there is one, or
    panics with a class that cannot be imported.
    """
    if isinstance(error, OSError) and error.errno is not None:
        return error.errno
    if not (isinstance(error, (ValueError, OSError)) or _is_panic(error)):
        return None
    number = _NUMBER_IN_MESSAGE.search(str(error))
    return int(number[1]) if number else None


def _is_panic(error: BaseException) -> bool:
    return type(error).__name__ == "PanicException"
