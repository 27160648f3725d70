"""The data folder: created on first use, private, and owned by one process at a time."""

import contextlib
import errno
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
_NO_FOLDER_LOCKS = (errno.EBADF, errno.EINVAL, errno.ENOLCK, errno.EOPNOTSUPP)  # file systems that lock files only


class FolderInUse(Exception):
    """Another process owns the data folder."""

    def __init__(self, folder: Path, owner: "Owner") -> None:
        where = f" at {owner.url}" if owner.url else ""
        process = f" (process {owner.pid})" if owner.pid else ""
        super().__init__(
            f"The data folder {folder} is in use by another Findspot{process}{where}. "
            "The data folder belongs to one server: stop that one, or choose another folder with --data."
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

    Two things are locked: the folder itself, so that deleting a file in it does not free it, and the file `lock`, which
    names the owner. A forked process shares the locks: they are held until both processes have ended.
    """

    def __init__(self, folder: Path, *, takes_over: bool = False) -> None:
        self.path = folder
        self.takes_over = takes_over  # the index of the database is built again here, if it was in another folder
        self._handle: int | None = None  # of the lock file
        self._folder: int | None = None
        self._pid: int | None = None  # of the process that claimed the folder, also after a fork

    def claim(self) -> Self:
        """Create the folder if it is missing and lock it, or raise FolderInUse."""
        make(self.path)
        handles = [_open_folder(self.path), _open_lock_file(self.path, os.O_CREAT)]
        started = time.monotonic()
        while not all(_lock(handle, fcntl.LOCK_EX) for handle in handles):
            owner = _read_owner(self.path)
            # a holder without a pid is a command that reads who owns the folder
            if time.monotonic() - started > (_PROBE_S if owner.pid is None else owner.lingers_s):
                for handle in handles:
                    os.close(handle)
                raise FolderInUse(self.path, owner) from None
            time.sleep(_POLL_S)
        self._folder, self._handle = handles
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
        if self._handle is not None and self._folder is not None:
            os.ftruncate(self._handle, 0)
            os.close(self._handle)
            os.close(self._folder)
            self._handle = self._folder = None


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
        handles = [_open_folder(folder)]
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        with contextlib.suppress(FileNotFoundError):  # it was deleted, or the folder has not been used
            handles.append(_open_lock_file(folder))
        return None if all(_lock(handle, fcntl.LOCK_SH) for handle in handles) else _read_owner(folder)
    finally:
        for handle in handles:
            os.close(handle)


def _open_folder(folder: Path) -> int:
    return os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)


def _open_lock_file(folder: Path, more: int = 0) -> int:
    return os.open(folder / "lock", os.O_RDWR | os.O_CLOEXEC | more, 0o600)


def _lock(handle: int, kind: int) -> bool:
    """Lock a file or folder, and return False if another process has locked it."""
    try:
        fcntl.flock(handle, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in _NO_FOLDER_LOCKS:
            raise
    return True


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # it exists and belongs to another user
        return True
    return True


def _read_owner(folder: Path) -> Owner:
    try:
        found = json.loads((folder / "lock").read_bytes())
        return Owner(found["pid"], found["url"])
    except (OSError, ValueError, KeyError):  # the file was deleted, or the owner is writing it
        return Owner(None, None)
