"""Has someone touched the files of an index? The system's own notes on each are compared with what they were.

Files that searches read are mapped into memory: whatever is written over them stands in the next answer. Reading them
all again would take too long for every search, asking for their sizes and times does not.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable

Stamp: TypeAlias = tuple[int, int, int]  # size, time of the last change, and the file's number on its disk


@dataclass(frozen=True, slots=True)
class Stamps:
    """What the system said of files when they were as they should be, by their paths."""

    known: dict[str, Stamp | None]
    fixed: tuple[str, ...] = ()  # mapped, and never written to again
    growing: tuple[str, ...] = ()  # mapped, and written to behind what is read

    def overwritten(self, paths: Iterable[str]) -> bool:
        """Whether one of these has changed. A mapped file that is gone is still read as it was."""
        return any((now := stamp(path)) != self.known[path] and now is not None for path in paths)

    def changed(self) -> list[str]:
        return [path for path, before in self.known.items() if stamp(path) != before]

    def renew(self, paths: Iterable[str]) -> None:
        """These are as they should be, whatever the system says of them now."""
        self.known.update((path, stamp(path)) for path in paths)


def stamp(path: str) -> Stamp | None:
    """None if there is no such file."""
    try:
        found = os.stat(path)  # noqa: PTH116 - hundreds of these belong to a search
    except (FileNotFoundError, NotADirectoryError):
        return None
    return found.st_size, found.st_mtime_ns, found.st_ino
