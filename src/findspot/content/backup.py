"""Backups: a snapshot of the store without index data, as one file; and restoring it into an empty store."""

import asyncio
import contextlib
import os
import shutil
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection

from findspot import __version__
from findspot.content.backup_file import BadBackup, Block, Header, Reader, Writer, pack
from findspot.errors import FindspotError
from findspot.models import TableShape
from findspot.runtime.data_folder import DataFolder
from findspot.runtime.installation import require_database
from findspot.settings import Settings
from findspot.store import index_owner, migrate, snapshot
from findspot.store.database import Store, make_private

_AHEAD = 2  # batches that are packed while the next rows are read
_SLICE = 256 * 1024
_TEMPORARY = "findspot.db.restoring"
_SQLITE_FILES = ("", "-wal", "-shm", "-journal")

OnProgress = Callable[[int], None]  # called with the number of bytes read so far


class NotEmpty(Exception):
    """The store to restore into is not empty."""


@dataclass(frozen=True, slots=True)
class Verified:
    """A backup that was read completely and is intact."""

    file: Path
    header: Header
    rows: dict[str, int]
    size: int
    unpacked: int
    digest: bytes


# ── creating ──


async def stream(store: Store, *, embeddings: bool = True) -> AsyncGenerator[bytes, None]:
    """Yield the bytes of a backup. It is a snapshot, and other writers continue meanwhile."""
    async with store.snapshot() as connection:
        schema = str(await migrate.revision(connection))
        tables = await snapshot.shapes(connection, embeddings=embeddings)
        writer = Writer(Header(__version__, schema, store.kind, datetime.now(UTC), tables))
        yield writer.begin()
        async with contextlib.aclosing(_blocks(connection, tables)) as blocks:
            async for block in blocks:
                frame = memoryview(await asyncio.to_thread(writer.seal, block))
                for start in range(0, len(frame), _SLICE):  # small pieces, so that no connection buffers a whole block
                    yield bytes(frame[start : start + _SLICE])
        yield writer.end()


async def _blocks(connection: AsyncConnection, tables: tuple[TableShape, ...]) -> AsyncGenerator[Block, None]:
    """Yield rows as blocks, which threads pack."""
    ahead: deque[asyncio.Future[list[Block]]] = deque()
    loop = asyncio.get_running_loop()
    for number, table in enumerate(tables):
        async with contextlib.aclosing(snapshot.rows(connection, table.name)) as batches:
            async for batch in batches:
                ahead.append(loop.run_in_executor(None, pack, number, batch))
                if len(ahead) > _AHEAD:
                    for block in await ahead.popleft():
                        yield block
    while ahead:
        for block in await ahead.popleft():
            yield block


# ── verifying ──


def verify(file: Path, on_progress: OnProgress = lambda read: None) -> Verified:
    """Read a backup to its end. Raise BadBackup unless it is intact and this Findspot can restore it."""
    with _opened(file) as reader:
        _check_schema(reader.header)
        for _ in reader.blocks():
            on_progress(reader.position)
        assert reader.end is not None
        rows = {table.name: count for table, count in zip(reader.header.tables, reader.end.rows, strict=True)}
        return Verified(file, reader.header, rows, reader.position, reader.end.size, reader.digest)


@contextlib.contextmanager
def _opened(file: Path) -> Iterator[Reader]:
    with file.open("rb") as opened:
        yield Reader(opened, os.fstat(opened.fileno()).st_size)


def _check_schema(header: Header) -> None:
    if header.schema > migrate.HEAD:
        raise BadBackup(
            f"The backup was made by a newer Findspot ({header.findspot}, schema {header.schema}; this one knows "
            f"{migrate.HEAD}). Restore it with that version or a later one."
        )
    if header.schema < migrate.HEAD:
        if not migrate.known(header.schema):
            raise BadBackup(f"The backup has an unknown schema: {header.schema}.")
        return
    given = [(table.name, table.columns) for table in header.tables]
    both = [snapshot.contained(embeddings=embeddings) for embeddings in (True, False)]
    if given not in [[(table.name, snapshot.columns(table)) for table in tables] for tables in both]:
        raise BadBackup(f"The backup was altered: its tables are not those of schema {header.schema}.")


# ── restoring ──


async def restore(verified: Verified, settings: Settings, on_progress: OnProgress = lambda read: None) -> None:
    """Restore a backup into the empty store of these settings, completely or not at all."""
    with contextlib.ExitStack() as closing:
        require_database(settings)
        if not settings.shared:
            folder = DataFolder(settings.data).claim()
            closing.callback(folder.release)
        if settings.database_url:
            async with _unprepared(settings.database_url.get_secret_value(), settings.data) as store:
                await _fill(verified, store, on_progress)
        else:
            await _into_sqlite(verified, settings.data / "findspot.db", on_progress)


async def _into_sqlite(verified: Verified, file: Path, on_progress: OnProgress) -> None:
    """Restore into a temporary file, and replace the empty database with it once it is complete and on disk."""
    if _exists(file):
        async with _unprepared(None, file) as store, store.write() as connection:
            await _check_target(connection)
    temporary = file.with_name(_TEMPORARY)
    _remove(temporary)
    _check_room(verified, file.parent)
    make_private(temporary)
    try:
        async with _unprepared(None, temporary) as store:
            await _fill(verified, store, on_progress)
        _sync(temporary)
        _remove(file)  # also its log, which SQLite would apply to the new file
        temporary.replace(file)
        _sync(file.parent)
    except BaseException:
        _remove(temporary)
        raise


async def _fill(verified: Verified, store: Store, on_progress: OnProgress) -> None:
    """In one transaction: create the schema of the backup, load the rows, then apply newer migrations."""
    try:
        async with store.write() as connection:
            await _check_target(connection)
            await migrate.rebuild(connection, verified.header.schema)
            await snapshot.defer_references(connection)
            await _load(verified, connection, on_progress)
            await snapshot.check_references(connection)
            await snapshot.set_last_ids(connection, verified.header.tables)
            await migrate.upgrade(connection)
            await index_owner.delete(connection)  # the next start makes its folder the owner
    except DBAPIError as error:  # the store turns an unusable database into STORE_UNAVAILABLE
        reason = str(error.orig).splitlines()[0].rstrip(".")
        raise BadBackup(f"The rows of the backup do not fit this database: {reason}. Nothing was changed.") from error


async def _load(verified: Verified, connection: AsyncConnection, on_progress: OnProgress) -> None:
    with _opened(verified.file) as reader:
        blocks = reader.blocks()
        while (block := await asyncio.to_thread(next, blocks, None)) is not None:
            await snapshot.load(connection, *block)
            on_progress(reader.position)
        if reader.digest != verified.digest:
            raise BadBackup("The backup file changed while it was being restored. Nothing was changed.")


async def _check_target(connection: AsyncConnection) -> None:
    await migrate.check(connection)
    if not await snapshot.is_empty(connection):
        raise NotEmpty("The store is not empty. A backup can only be restored into an empty store.")


@contextlib.asynccontextmanager
async def _unprepared(url: str | None, file: Path) -> AsyncIterator[Store]:
    store = Store.unprepared(url, file)
    try:
        yield store
    finally:
        await store.close()


def _check_room(verified: Verified, folder: Path) -> None:
    free = shutil.disk_usage(folder).free
    if free < verified.unpacked:
        message = f"The backup needs {verified.unpacked:,} bytes, but the disk has only {free:,} free."
        raise FindspotError("STORE_UNAVAILABLE", message)


def _exists(file: Path) -> bool:
    return file.exists()


def _remove(file: Path) -> None:
    for suffix in _SQLITE_FILES:
        file.with_name(file.name + suffix).unlink(missing_ok=True)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
