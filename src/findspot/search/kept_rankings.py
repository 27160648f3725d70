"""Keeps encoded rankings where every process of a server finds them, for five minutes after their last use.

On PostgreSQL they are rows. On SQLite they are files: a row would have to wait for whoever writes to the database.
docs/decisions/012 has the figures.
"""

import asyncio
import contextlib
import errno
import os
import re
import secrets
import shutil
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Protocol

from findspot.search.paging import KEPT_S
from findspot.store import search_cursors as rows
from findspot.store.database import Store

MAX_PROJECT_BYTES = 20_000_000  # of one project; the least recently used are dropped first
SWEEP_BYTES, SWEEP_S = 5_000_000, 30.0  # after so much was kept, or so long, what is too much or too old is dropped
FOLDER = "cursors"
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)


class KeptRankings(Protocol):
    """Encoded rankings by project and name. tests/search/test_kept_rankings.py holds every implementation to it."""

    async def put(self, project_id: int, name: str, content: bytes) -> None:
        """Keep a ranking in place of the one before. One that is larger than a project may keep is not kept."""

    async def get(self, project_id: int, name: str) -> bytes | None:
        """Return a ranking, and keep it for another five minutes."""


class _Sweeping:
    """Decides when it is time to sweep."""

    def __init__(self) -> None:
        self._bytes, self._at = 0, time.monotonic()

    def is_due(self, added: int) -> bool:
        self._bytes += added
        if self._bytes < SWEEP_BYTES and time.monotonic() - self._at < SWEEP_S:
            return False
        self._bytes, self._at = 0, time.monotonic()
        return True


class RankingFiles:
    """Rankings as files in a folder. Nothing is synced to disk."""

    def __init__(self, folder: Path, clock: Callable[[], float] = time.time) -> None:
        self._folder = folder
        self._clock = clock
        self._sweeping = _Sweeping()

    async def put(self, project_id: int, name: str, content: bytes) -> None:
        if len(content) <= MAX_PROJECT_BYTES:
            await asyncio.to_thread(self._put, project_id, name, content)

    async def get(self, project_id: int, name: str) -> bytes | None:
        return await asyncio.to_thread(self._get, project_id, name) if _NAME.fullmatch(name) else None

    def _put(self, project_id: int, name: str, content: bytes) -> None:
        file = self._file(project_id, name)
        try:
            self._write(file, content)
        except FileNotFoundError:
            (self._folder / str(project_id)).mkdir(parents=True, exist_ok=True)
            self._write(file, content)
        except FileExistsError:  # others may read it: replace it in one step
            new = self._file(project_id, f".{name}-{secrets.token_hex(4)}")
            self._write(new, content)
            os.replace(new, file)  # noqa: PTH105 - strings are faster, and every search keeps a ranking
        if self._sweeping.is_due(len(content)):
            self._sweep()

    def _file(self, project_id: int, name: str) -> str:
        return f"{self._folder}/{project_id}/{name}"

    def _write(self, file: str, content: bytes) -> None:
        """Create a file. Raise FileExistsError if there is one."""
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(handle, "wb", buffering=0) as opened:
            if opened.write(content) != len(content):
                os.unlink(file)  # noqa: PTH108
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        now = self._clock()
        os.utime(file, (now, now))

    def _get(self, project_id: int, name: str) -> bytes | None:
        file, now = Path(self._file(project_id, name)), self._clock()
        try:
            if file.stat().st_mtime < now - KEPT_S:
                return None
            content = file.read_bytes()
            os.utime(file, (now, now))
        except (FileNotFoundError, NotADirectoryError):
            return None
        return content

    def _sweep(self) -> None:
        for folder in self._folder.iterdir():
            with contextlib.suppress(FileNotFoundError):  # another process sweeps too
                self._sweep_project(folder)

    def _sweep_project(self, folder: Path) -> None:
        found = [(each.stat(), Path(each.path)) for each in os.scandir(folder)]
        total, oldest = 0, self._clock() - KEPT_S
        for stat, path in sorted(found, key=lambda each: -each[0].st_mtime):
            total += stat.st_size
            if stat.st_mtime < oldest or total > MAX_PROJECT_BYTES:
                path.unlink(missing_ok=True)
        if not found:
            shutil.rmtree(folder, ignore_errors=True)


class RankingRows:
    """Rankings as rows of the store, in a table that is not logged: a commit does not wait for the disk."""

    def __init__(self, store: Store, clock: Callable[[], float] = time.time) -> None:
        self._store = store
        self._clock = clock
        self._sweeping = _Sweeping()

    async def put(self, project_id: int, name: str, content: bytes) -> None:
        if len(content) > MAX_PROJECT_BYTES:
            return
        now = self._now()
        async with self._store.statement() as connection:
            await rows.put(connection, project_id, name, content, now)
        if self._sweeping.is_due(len(content)):
            async with self._store.write(durable=False) as connection:
                await rows.sweep(connection, now - timedelta(seconds=KEPT_S), MAX_PROJECT_BYTES)

    async def get(self, project_id: int, name: str) -> bytes | None:
        now = self._now()
        async with self._store.statement() as connection:
            return await rows.use(connection, project_id, name, now, now - timedelta(seconds=KEPT_S))

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._clock(), UTC)


def kept_rankings(store: Store, data: Path) -> KeptRankings:
    """Return where the processes of a server keep rankings."""
    return RankingFiles(data / FOLDER) if store.kind == "sqlite" else RankingRows(store)
