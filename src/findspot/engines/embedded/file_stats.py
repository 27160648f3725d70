"""Detects changes to the files of an open index by comparing their size, modification time and inode.

The files that queries read are mapped into memory, so a query sees whatever is written over them. Reading all bytes
again for every query would take too long; `stat` does not.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable

Stat: TypeAlias = tuple[int, int, int]  # size, modification time in ns, inode


@dataclass(frozen=True, slots=True)
class FileStats:
    """The stats of files when they were known to be correct, by path."""

    known: dict[str, Stat | None]
    immutable: tuple[str, ...] = ()  # mapped, and never written again
    appended: tuple[str, ...] = ()  # mapped, and only written behind the mapped part
    growing: frozenset[str] = frozenset()  # another process appends to these, so that growth is no change

    def overwritten(self, paths: Iterable[str]) -> bool:
        """Return whether one of these files has changed. A deleted file does not count: its mapping stays intact."""
        return any((now := stat(path)) is not None and self._differs(path, now) for path in paths)

    def changed(self) -> list[str]:
        return [path for path in self.known if self._differs(path, stat(path))]

    def _differs(self, path: str, now: Stat | None) -> bool:
        before = self.known[path]
        if now == before:
            return False
        is_same_file = now is not None and before is not None and now[2] == before[2]
        return not (path in self.growing and is_same_file and now[0] > before[0])  # type: ignore[index]

    def refresh(self, paths: Iterable[str]) -> None:
        """Record the current stats of files that are known to be correct."""
        self.known.update((path, stat(path)) for path in paths)


def stat(path: str) -> Stat | None:
    """Return the stat of a file, or None if it does not exist."""
    try:
        found = os.stat(path)  # noqa: PTH116 - a query calls this hundreds of times, and Path.stat is slower
    except (FileNotFoundError, NotADirectoryError):
        return None
    return found.st_size, found.st_mtime_ns, found.st_ino
