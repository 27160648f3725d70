"""The data folder: created on first use, private, and owned by one process at a time."""

import fcntl
import json
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Self

_PROBE_S = 0.2  # other processes may hold the lock this long to read who owns it
_POLL_S = 0.01
_EXIT_S = 2.0


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
    """The process that owns a data folder, and the address of its API."""

    pid: int | None
    url: str | None

    @property
    def lingers_s(self) -> float:
        """How long the lock may outlive this process: a server exits shortly after its supervisor is killed."""
        return 0 if self.pid is None or _alive(self.pid) else _EXIT_S


class DataFolder:
    """A lock on the data folder. The operating system releases it when the process ends, also after a crash.

    A forked process shares the lock: it is held until both processes have ended.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder
        self._handle: int | None = None
        self._pid: int | None = None  # of the process that claimed the folder, also after a fork

    def claim(self) -> Self:
        """Create the folder if it is missing and lock it, or raise FolderInUse."""
        make(self.path)
        handle = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        started = time.monotonic()
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                owner = _read_owner(handle)
                # a holder without a pid is a command that reads who owns the folder
                if time.monotonic() - started > (_PROBE_S if owner.pid is None else owner.lingers_s):
                    os.close(handle)
                    raise FolderInUse(self.path, owner) from None
                time.sleep(_POLL_S)
        self._handle = handle
        self._pid = os.getpid()
        self.announce(None)
        return self

    def announce(self, url: str | None) -> None:
        """Write the address of this process into the lock file, for commands that connect to it."""
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
    """Return the owner of the folder, or None. Wait for an owner that is about to exit."""
    started = time.monotonic()
    while (owner := _current_owner(folder)) and time.monotonic() - started < owner.lingers_s:
        time.sleep(_POLL_S)
    return owner


def _current_owner(folder: Path) -> Owner | None:
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
    except PermissionError:  # it exists and belongs to another user
        return True
    return True


def _read_owner(handle: int) -> Owner:
    try:
        found = json.loads(os.pread(handle, 4096, 0))
        return Owner(found["pid"], found["url"])
    except (ValueError, KeyError):  # the owner is writing it
        return Owner(None, None)
