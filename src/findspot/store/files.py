"""The files of an open SQLite database: were they removed or replaced, and is there room on their disk?

SQLite goes on writing to a file that was deleted, and everything written there is lost. So the files are compared with
those that were opened, before and after each write. A deletion needs disk space too: a reserve is kept for it.
"""

import contextlib
import os
import sqlite3
from pathlib import Path

from findspot.errors import FindspotError

RESERVE = 16 << 20  # bytes; several times the log that small deletions need
_SHARE = 8  # the reserve takes at most this part of a small disk
_NOTHING_LEFT = 1 << 20  # bytes
_MUCH = 1 << 30  # bytes; many times the log


def free_bytes(folder: Path) -> int:
    """Return how many bytes this user can still write on the disk of a folder."""
    disk = os.statvfs(folder)
    return disk.f_bavail * disk.f_frsize


def disk_full() -> FindspotError:
    return FindspotError("DISK_FULL", "The disk of the database is full. Nothing was saved.")


class DatabaseFiles:
    """Watches the database file and its log. A connection is held open, so that SQLite never removes the log."""

    def __init__(self, file: Path) -> None:
        self._folder = file.parent
        self._watched = (file, Path(f"{file}-wal"))
        self._reserve_file = _reserve_of(file)
        self._reserve = _size(self._reserve_file)  # bytes that are kept; 0 without a reserve
        self._held = sqlite3.connect(file, check_same_thread=False)
        self._held.execute("PRAGMA schema_version").fetchone()  # opens the log
        self._opened = self._identities()

    def close(self) -> None:
        self._held.close()

    def require_present(self) -> None:
        """Raise STORE_REPLACED if the paths no longer lead to the files that are open."""
        if self._identities() != self._opened:
            message = (
                "The database file was removed or replaced while Findspot was using it. Nothing is saved until the "
                "file is back, or Findspot is restarted."
            )
            raise FindspotError("STORE_REPLACED", message)

    def is_full(self) -> bool:
        """Return whether the disk has no room, or only what is kept for deleting."""
        return free_bytes(self._folder) < (self._reserve if self._is_released else _NOTHING_LEFT)

    @property
    def has_much_room(self) -> bool:
        """Whether the disk is far from full."""
        return free_bytes(self._folder) >= _MUCH

    # ── the reserve ──

    def keep_reserve(self) -> None:
        """Set disk space aside, so that content can be deleted when the disk is full."""
        disk = os.statvfs(self._folder)
        self._reserve = min(RESERVE, disk.f_blocks * disk.f_frsize // _SHARE)
        self.refill()

    def make_room(self) -> None:
        """Release the reserve if the disk is full, for a transaction that deletes."""
        if self._reserve and not self._is_released and free_bytes(self._folder) < self._reserve:
            self._reserve_file.unlink(missing_ok=True)

    def require_room(self) -> None:
        """Raise DISK_FULL if only the released reserve is left, which is for deleting."""
        if self._is_released and self.is_full():
            raise disk_full()

    @property
    def _is_released(self) -> bool:
        """Whether the reserve is in use: by this process, or by another one on the same database."""
        return self._reserve > 0 and not self._reserve_file.exists()

    @property
    def can_refill(self) -> bool:
        return self._is_released and free_bytes(self._folder) >= 2 * self._reserve

    def refill(self) -> None:
        """Set the reserve aside again if there is room. It may take a while: call it in a thread."""
        if not self.can_refill and not self._reserve_file.exists():
            return
        try:
            descriptor = os.open(self._reserve_file, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                _allocate(descriptor, self._reserve)
            finally:
                os.close(descriptor)
        except OSError:  # another program was faster; a later write tries again
            with contextlib.suppress(OSError):
                self._reserve_file.unlink(missing_ok=True)

    def _identities(self) -> list[tuple[int, int] | None]:
        return [_identity(file) for file in self._watched]


def make_room_to_open(file: Path) -> None:
    """Release the reserve of an earlier process if the disk is full: SQLite cannot open its log without any room."""
    if free_bytes(file.parent) < _NOTHING_LEFT:
        _reserve_of(file).unlink(missing_ok=True)


def _reserve_of(file: Path) -> Path:
    return Path(f"{file}-reserve")


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except FileNotFoundError:
        return 0


def _identity(file: Path) -> tuple[int, int] | None:
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _allocate(descriptor: int, size: int) -> None:
    """Give a file blocks on the disk, not only a length."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(descriptor, 0, size)
    else:
        for start in range(0, size, _NOTHING_LEFT):
            os.pwrite(descriptor, bytes(min(_NOTHING_LEFT, size - start)), start)
        os.fsync(descriptor)
