"""The data folder: made on first use, private, and owned by one process at a time."""

import fcntl
import json
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Self

_LOOK_S, _AGAIN_S = 0.2, 0.01
_GOING_S = 2.0


class FolderInUse(Exception):
    """Another process owns the data folder."""

    def __init__(self, folder: Path, owner: "Owner") -> None:
        where = f" at {owner.url}" if owner.url else ""
        process = f" (process {owner.pid})" if owner.pid else ""
        super().__init__(
            f"The data folder {folder} is in use by another Findspot{process}{where}. "
            "The embedded engine belongs to one process: stop that one, or choose another folder with --data."
        )
        self.owner = owner


@dataclass(frozen=True, slots=True)
class Owner:
    """The process that owns a data folder, and where it answers."""

    pid: int | None
    url: str | None

    @property
    def lingers_s(self) -> float:
        """How long its hold may outlast it: a server ends a moment after the process that watches over it is killed."""
        return 0 if self.pid is None or _alive(self.pid) else _GOING_S


class DataFolder:
    """A hold on the data folder. The operating system lets go of it when the process ends, however it ends.

    A process that is forked from the owner shares the hold: it lasts until both have ended.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder
        self._handle: int | None = None
        self._pid: int | None = None  # the owner's, also in a process that is forked from it

    def claim(self) -> Self:
        """Make the folder if need be and become its owner, or raise FolderInUse."""
        make(self.path)
        handle = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        started = time.monotonic()
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                owner = _read_owner(handle)
                # one that left no name only looks who owns it
                if time.monotonic() - started > (_LOOK_S if owner.pid is None else owner.lingers_s):
                    os.close(handle)
                    raise FolderInUse(self.path, owner) from None
                time.sleep(_AGAIN_S)
        self._handle = handle
        self._pid = os.getpid()
        self.announce(None)
        return self

    def announce(self, url: str | None) -> None:
        """Leave word where this process answers, for commands that look for it."""
        if self._handle is None:
            return
        text = json.dumps({"pid": self._pid, "url": url}).encode()
        os.ftruncate(self._handle, 0)
        os.pwrite(self._handle, text, 0)

    def release(self) -> None:
        if self._handle is not None:
            os.ftruncate(self._handle, 0)
            os.close(self._handle)
            self._handle = None


def make(folder: Path) -> None:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)


def owner_of(folder: Path) -> Owner | None:
    """Who owns the folder at this moment; None if no one does. An owner that is just ending is waited for."""
    started = time.monotonic()
    while (owner := _look(folder)) and time.monotonic() - started < owner.lingers_s:
        time.sleep(_AGAIN_S)
    return owner


def _look(folder: Path) -> Owner | None:
    try:
        handle = os.open(folder / "lock", os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _read_owner(handle)
    finally:
        os.close(handle)
    return None


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # it is there, and someone else's
        return True
    return True


def _read_owner(handle: int) -> Owner:
    try:
        found = json.loads(os.pread(handle, 4096, 0))
        return Owner(found["pid"], found["url"])
    except (ValueError, KeyError):  # the owner is just writing it
        return Owner(None, None)
