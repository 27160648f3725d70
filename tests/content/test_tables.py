"""Large tables: texts in pieces, written beside the current one and switched in one step."""

import asyncio
from typing import Any

import pytest
import sqlalchemy as sa

from findspot.app import App, open_app
from findspot.errors import FindspotError
from findspot.models import Project
from findspot.settings import Settings
from findspot.store import projects
from findspot.store import tables as rows
from findspot.store.database import Store
from findspot.store.schema import pieces, tables
from tests.flows import read_table

BIG = b'["' + "大き な text ".encode() * 150_000 + b'"]'  # about 2 MB: many pieces, several transactions


@pytest.fixture
async def project(app: App) -> Project:
    async with app.store.write() as connection:
        return await projects.create(connection, "p")


def body(data: bytes) -> bytes:
    return b'{"name":"t","data":' + data + b"}"


async def pieces_in(store: Store) -> int:
    async with store.read() as connection:
        return int((await connection.execute(sa.select(sa.func.count()).select_from(pieces))).scalar_one())


async def text_in(app: App, table_id: int) -> bytes:
    return (await read_table(app, table_id))[1]


async def test_a_large_text_is_written_and_read_in_pieces(app: App, project: Project) -> None:
    table = await app.tables.create(project.id, body(BIG))
    assert (table.revision, table.size) == (1, len(BIG))
    assert await pieces_in(app.store) == -(-len(BIG) // rows.PIECE)
    assert await text_in(app, table.id) == BIG
    for revision, text in ((2, BIG[:-2] + b'!"]'), (3, b"7"), (4, BIG), (5, b'"s"')):
        assert await app.tables.put(table.id, "", text, None) == revision
        assert await text_in(app, table.id) == text
        assert await pieces_in(app.store) == -(-len(text) // rows.PIECE)


async def test_a_large_write_with_an_old_revision_leaves_no_pieces(app: App, project: Project) -> None:
    table = await app.tables.create(project.id, body(b"1"))
    await app.tables.put(table.id, "", b"2", None)
    with pytest.raises(FindspotError, match="revision 2"):
        await app.tables.put(table.id, "", BIG, 1)
    assert await text_in(app, table.id) == b"2"
    assert await pieces_in(app.store) == 1


async def test_a_large_write_to_a_deleted_table_is_not_found(app: App, project: Project) -> None:
    with pytest.raises(FindspotError) as refused:
        await app.tables.put(12345, "", BIG, None)
    assert refused.value.code == "NOT_FOUND"
    with pytest.raises(FindspotError) as refused:
        await app.tables.create(12345, body(BIG))
    assert refused.value.code == "NOT_FOUND"
    assert await pieces_in(app.store) == 0


async def test_pieces_of_a_killed_writer_are_invisible_and_deleted_after_an_hour(settings: Settings) -> None:
    old, young = rows.new_text_id() - (3700 * 1_000_000 << 12), rows.new_text_id()
    async with open_app(settings) as app:
        async with app.store.write() as connection:
            project = await projects.create(connection, "p")
        table = await app.tables.create(project.id, body(b"[1]"))
        async with app.store.write() as connection:
            for text_id in (old, young):  # an unfinished text, and a table whose first text is unfinished
                await rows.write_pieces(connection, table.id, text_id, 0, [memoryview(b"[")])
                await rows.create(connection, project.id, "half", text_id, 1, revision=0)
        async with app.store.read() as connection:
            assert [each.id for each in await rows.every(connection, project.id)] == [table.id]
            assert await rows.get(connection, table.id + 1) is None
    async with open_app(settings) as app:
        async with app.store.read() as connection:
            left = (await connection.execute(sa.select(tables.c.revision).order_by(tables.c.id))).scalars().all()
        assert await pieces_in(app.store) == 2
        assert await text_in(app, table.id) == b"[1]"
    assert left == [1, 0]


async def test_a_cancelled_large_write_leaves_no_pieces(
    app: App, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = await app.tables.create(project.id, body(b"1"))
    written = rows.write_pieces

    async def interrupted(connection: Any, table_id: int, text_id: int, group: int, parts: Any) -> None:
        await written(connection, table_id, text_id, group, parts)
        if group == 3:
            raise asyncio.CancelledError

    monkeypatch.setattr(rows, "write_pieces", interrupted)
    with pytest.raises(asyncio.CancelledError):
        await app.tables.put(table.id, "", BIG, None)
    with pytest.raises(asyncio.CancelledError):
        await app.tables.create(project.id, body(BIG))
    assert await pieces_in(app.store) == 1
    assert await text_in(app, table.id) == b"1"
    async with app.store.read() as connection:
        assert len((await connection.execute(sa.select(tables.c.id))).all()) == 1


async def test_a_table_is_deleted_completely_in_small_transactions(app: App, project: Project) -> None:
    kept = await app.tables.create(project.id, body(b"1"))
    gone = await app.tables.create(project.id, body(BIG))
    await app.tables.delete(gone.id)
    assert await pieces_in(app.store) == 1
    with pytest.raises(FindspotError):
        await app.tables.delete(gone.id)
    await app.tables.delete_all(project.id)
    assert await pieces_in(app.store) == 0
    with pytest.raises(FindspotError):
        await read_table(app, kept.id)
