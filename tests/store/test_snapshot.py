"""Snapshots of the whole database, and loading rows into an empty one."""

import asyncio
import contextlib
from datetime import UTC, datetime
from typing import Any

import pytest
import sqlalchemy as sa

from findspot.models import ColumnKind
from findspot.store import projects as project_rows
from findspot.store import snapshot
from findspot.store import tables as table_rows
from findspot.store.database import Store
from findspot.store.schema import (
    documents,
    metadata,
    pieces,
    projects,
    replace_documents,
    replaces,
    tables,
    tools,
    versions,
)
from tests.store.test_schema import a_tool, add, fill


async def read(store: Store, name: str) -> list[tuple[Any, ...]]:
    async with store.snapshot() as connection:
        return [row async for batch in snapshot.rows(connection, name) for row in batch]


def test_every_column_has_a_kind_and_every_assigned_id_is_called_id() -> None:
    for table in metadata.sorted_tables:
        assert len(snapshot.columns(table)) == len(table.columns)
        assert table.autoincrement_column is None or table.autoincrement_column.name == "id"
    kinds = {(column.name, column.kind) for table in (metadata.tables["chunks"], tools) for column in
             snapshot.columns(table)}  # fmt: skip
    assert kinds >= {
        ("chunk_text", ColumnKind.BYTES),
        ("metadata", ColumnKind.JSON),
        ("created_at", ColumnKind.TIMESTAMP),
        ("id", ColumnKind.INTEGER),
        ("name", ColumnKind.TEXT),
    }


async def test_a_snapshot_does_not_see_later_writes_and_blocks_no_writer(store: Store) -> None:
    async with store.write() as connection:
        await project_rows.create(connection, "before")
    async with store.snapshot() as frozen:
        async with store.write() as connection:  # would wait for the end of the snapshot if it were blocked
            await project_rows.create(connection, "after")
            await connection.execute(sa.update(projects).values(name="changed"))
        seen = [row async for batch in snapshot.rows(frozen, "projects") for row in batch]
    assert [row[1] for row in seen] == ["before"]
    assert [row[1] for row in await read(store, "projects")] == ["changed", "changed"]


async def test_a_cancelled_snapshot_leaves_no_reader_with_old_data(store: Store) -> None:
    async def read_until_cancelled(ready: asyncio.Event) -> None:
        async with store.snapshot() as connection:
            await connection.execute(sa.select(projects))
            ready.set()
            await asyncio.Event().wait()

    for _ in range(12):  # more than there are readers
        ready = asyncio.Event()
        task = asyncio.create_task(read_until_cancelled(ready))
        await ready.wait()
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
    async with store.write() as connection:
        await project_rows.create(connection, "new")
    async with contextlib.AsyncExitStack() as readers:
        for _ in range(8):
            reader = await readers.enter_async_context(store.read())
            assert len((await reader.execute(sa.select(projects))).all()) == 1
    if store.kind == "sqlite":  # no reader needs the old log
        async with store.read() as connection:
            assert (await connection.execute(sa.text("PRAGMA wal_checkpoint(TRUNCATE)"))).one()[0] == 0


async def test_unfinished_writes_are_not_in_a_snapshot(store: Store) -> None:
    async with store.write() as connection:
        ids = await fill(connection)
        await table_rows.write_pieces(connection, ids["table"], 999, 0, [memoryview(b"half")])
        half = await table_rows.create(connection, ids["project"], "half", 7, 1, revision=0)
        await table_rows.write_pieces(connection, half.id, 7, 0, [memoryview(b"h")])
    assert [row[0] for row in await read(store, "tables")] == [ids["table"]]
    assert await read(store, "pieces") == [(ids["table"], 1, 0, b"1")]


async def test_a_snapshot_has_replaces_that_were_executed_and_no_previews(store: Store) -> None:
    async with store.write() as connection:
        ids = await fill(connection)
        values = {"project_id": ids["project"], "rule": {}, "documents": 1, "matches": 1, "actor": "owner"}
        for state in ("previewed", "executing", "undone"):
            id = await add(connection, replaces, **values, state=state, expires_at=datetime.now(UTC))
            document = {"document_id": 1, "title": state, "revision": 1, "first": 0, "matches": 1}
            await connection.execute(sa.insert(replace_documents), {"replace_id": id, **document})
    assert len(await read(store, "replace_documents")) == 2
    states = {value for row in await read(store, "replaces") for value in row if isinstance(value, str)}
    assert states & {"previewed", "executing", "done", "undone"} == {"done", "undone"}


async def test_rows_of_any_length_are_read_a_megabyte_at_a_time(store: Store) -> None:
    async with store.write() as connection:
        ids = await fill(connection)
        many = [{"name": f"p{number}"} for number in range(1200)]
        await connection.execute(sa.insert(projects), many)
        for number, group in enumerate(table_rows.split(bytes(12 * table_rows.PIECE))):
            await table_rows.write_pieces(connection, ids["table"], 5, number, group)
        await connection.execute(sa.update(tables).values(text_id=5))
        document = {"project_id": ids["project"], "title": "", "type": "note", "format": "text", "revision": 1}
        await connection.execute(sa.insert(documents), [{**document, "content": bytes(3_000_000)}] * 3)
    async with store.snapshot() as connection:
        batches = {
            name: [len(batch) async for batch in snapshot.rows(connection, name)]
            for name in ("projects", "pieces", "documents", "tools")
        }
    assert batches == {"projects": [512, 512, 177], "pieces": [3] * 4, "documents": [1] * 4, "tools": [1]}


async def test_a_row_may_refer_to_a_later_row_but_not_to_a_missing_one(store: Store) -> None:
    async with store.write() as connection:
        ids = await fill(connection)
        await connection.execute(sa.delete(versions))
    shape = next(each for each in await _shapes(store) if each.name == "versions")
    some = {"document_id": ids["document"], "reason": "manual", "actor": "", "title": "", "format": "text"}
    row = {**some, "word_count": 0, "created_at": datetime(2026, 1, 1, tzinfo=UTC), "content": b""}
    names = [column.name for column in shape.columns]

    async def load(*links: tuple[int, int | None]) -> None:
        async with store.write() as connection:
            await snapshot.defer_references(connection)
            made = [{**row, "id": id, "parent_id": parent} for id, parent in links]
            for each in made:
                await snapshot.load(connection, shape, [tuple(each.get(name) for name in names)])
            await snapshot.check_references(connection)

    await load((20, 21), (21, None))
    with pytest.raises(sa.exc.IntegrityError):
        await load((30, 31))
    async with store.read() as connection:  # references are checked immediately again
        with pytest.raises(sa.exc.IntegrityError):
            await connection.execute(sa.insert(versions), {**row, "parent_id": 99})


async def _shapes(store: Store) -> Any:
    async with store.snapshot() as connection:
        return await snapshot.shapes(connection)


async def test_json_is_read_as_its_exact_text(store: Store) -> None:
    value = {"b": 12345678901234567890123, "a": [1.5, None, "\0字🎈"]}
    async with store.write() as connection:
        ids = await fill(connection)
        tool = a_tool(ids["project"], ids["table"], "x") | {"metadata": None, "search_config": None}
        empty = await add(connection, tools, **tool)
        await connection.execute(sa.update(tools).where(tools.c.id != empty).values(metadata=value))
    names = list(tools.c.keys())
    found = {row[0]: dict(zip(names, row, strict=True)) for row in await read(store, "tools")}
    assert (found[empty]["metadata"], found[empty]["search_config"]) == ("null", None)
    assert '"b": 12345678901234567890123' in found[ids["tool"]]["metadata"]
    assert "\\u0000" in found[ids["tool"]]["metadata"]


async def test_a_store_with_content_is_not_empty(store: Store) -> None:
    async with store.write() as connection:
        assert await snapshot.is_empty(connection)
        await connection.execute(sa.insert(metadata.tables["embedding_cache"]),
                                 {"fingerprint": "f", "text_hash": b"h", "vector": b"v"})  # fmt: skip
        assert not await snapshot.is_empty(connection)


async def test_the_last_ids_include_those_of_deleted_rows(store: Store) -> None:
    async with store.write() as connection:
        for _ in range(3):
            last = (await project_rows.create(connection, "p")).id
        await connection.execute(sa.delete(projects))
    found = {shape.name: shape.last_id for shape in await _shapes(store)}
    assert found["projects"] == last
    assert (found["tools"], found["pieces"]) == (0, None)
    assert pieces.name in found
