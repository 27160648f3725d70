"""Stores, backups and forged backup files, shared by the tests of backups."""

import contextlib
import json
import os
import zlib
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import sqlalchemy as sa

from findspot.app import App
from findspot.content import backup as backups
from findspot.content import backup_file
from findspot.content.backup_file import Block, Header, Writer
from findspot.models import OWNER, TableShape
from findspot.settings import Settings
from findspot.store import migrate, projects, snapshot
from findspot.store.database import Store
from findspot.store.schema import chunks, documents, embedding_cache, metadata, versions
from tests.store.test_schema import a_chunk, add, fill

TEXT = json.dumps(["English", "中文 繁體", "\0", "🎈👩‍👩‍👧 é", "ל\u2028"], ensure_ascii=False).encode()
BIG = b'["' + "大き な text ".encode() * 200_000 + b'"]'  # about 3 MB: many pieces

# Tables that are not in a backup: the index worker fills them again, or they are of no use elsewhere.
LEFT_OUT = {
    "chunks",
    "document_lines",
    "gone_chunks",
    "changes",
    "index_states",
    "namespace_states",
    "index_requests",
    "installation",
    "index_owner",
    "engine_namespaces",
    "sessions",
    "search_cursors",
    "leases",
    "processes",
    "moves",
    "moved_tables",
    "changed_rows",
}
BACKED_UP = [table for table in metadata.sorted_tables if table.name not in LEFT_OUT]
NAMES = [table.name for table in BACKED_UP]
PROJECT = (1, "p", datetime(2026, 1, 1, tzinfo=UTC))

Everything = dict[str, list[tuple[Any, ...]]]
NewSettings = Callable[..., Settings]


@contextlib.asynccontextmanager
async def opened(where: Settings) -> AsyncIterator[Store]:
    url = where.database_url.get_secret_value() if where.database_url else None
    store = await Store.open(url, where.data / "findspot.db")
    try:
        yield store
    finally:
        await store.close()


async def everything(where: Settings) -> Everything:
    """Return every row of every table, and the last assigned ids."""
    async with opened(where) as store, store.snapshot() as connection:
        rows = {
            table.name: sorted(map(tuple, await connection.execute(sa.select(table))), key=repr)
            for table in metadata.sorted_tables
        }
        last = [(shape.name, shape.last_id) for shape in await snapshot.shapes(connection)]
    return {**rows, "last ids": last}


def backed_up(found: Everything) -> Everything:
    """Return the rows that a backup contains."""
    return {name: rows for name, rows in found.items() if name not in LEFT_OUT}


def filled_tables(found: Everything) -> list[str]:
    """Return the tables with a row that a new store does not have."""
    return [name for name, rows in found.items() if rows and name not in ("last ids", "installation")]


async def save(store: Store, file: Path, **options: bool) -> Path:
    with file.open("wb") as out:
        async for piece in backups.stream(store, **options):
            out.write(piece)
    return file


async def fill_all(app: App) -> None:
    """Add a row or more to every table, with texts of every kind, and delete rows so that ids are missing."""
    async with app.store.write() as connection:
        ids = await fill(connection)
        vector = {"fingerprint": "f", "text_hash": bytes(range(32)), "vector": os.urandom(4000)}
        await connection.execute(sa.insert(embedding_cache), [vector, {**vector, "fingerprint": "字"}])
        gone = await projects.create(connection, "gone 🎈")
        await projects.delete(connection, gone.id)
        await connection.execute(sa.update(documents).values(content=BIG))  # longer than a block
        await connection.execute(sa.update(versions).values(content=TEXT, title="题目 \u2028"))
        chunk = await add(connection, chunks, **a_chunk(ids["table"], turbopuffer_doc_id="gone", json_pointer="/b"))
        await connection.execute(sa.delete(chunks).where(chunks.c.id == chunk))
    own = {"redaction_patterns": (("order_number", "订单[0-9]{6}"),), "redaction_allowed": ("字@example.org",)}
    await app.retrieval_configs.update(ids["project"], {"min_score": 0.65} | own, OWNER)
    for text in (TEXT, BIG, b"null"):
        await app.tables.create(ids["project"], b'{"name":"t","data":' + text + b"}")
    table = await app.tables.create(ids["project"], b'{"name":"t","data":1}')
    await app.tables.put(table.id, "", BIG, None)


def listing(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file()}


def shape(table: sa.Table) -> TableShape:
    return TableShape(str(table.name), snapshot.columns(table), 0 if "id" in table.columns else None)


def header(**other: Any) -> Header:
    known = {"findspot": "0.1.0", "schema": migrate.HEAD, "database": "sqlite", "created_at": datetime.now(UTC)}
    return Header(**{**known, "tables": tuple(map(shape, BACKED_UP)), **other})


def forged(*blocks: Block, given: Header | None = None) -> bytes:
    writer = Writer(given or header())
    return b"".join((writer.begin(), *map(writer.seal, blocks), writer.end()))


def block(table: str, plain: bytes, size: int | None = None, count: int = 1) -> Block:
    return Block(NAMES.index(table), count, len(plain) if size is None else size, zlib.compress(plain))


def encoded_rows(*rows: Any) -> bytes:
    return backup_file.LIST_HEAD.pack(backup_file.LIST, len(rows)) + b"".join(map(msgspec.msgpack.encode, rows))


def frames_of(backup: bytes) -> list[bytes]:
    """Return the frames of a backup, each with its digest."""
    frames, at = [], len(backup_file.MAGIC) + 1
    while at < len(backup):
        length = backup_file.FRAME_HEAD.unpack_from(backup, at)[2]
        end = at + backup_file.FRAME_HEAD.size + length + 32
        frames.append(backup[at:end])
        at = end
    return frames


def packed_parts(backup: bytes) -> list[bytes]:
    """Return the packed content of every frame."""
    return [frame[backup_file.FRAME_HEAD.size : -32] for frame in frames_of(backup)]
