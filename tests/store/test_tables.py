"""Texts in pieces: written beside the one in place, switched at once, swept when left behind."""

import asyncio
from pathlib import Path
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

BIG = b'["' + "大き な text ".encode() * 400_000 + b'"]'  # about 6 MB: many pieces, several transactions


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
    return b"".join((await app.tables.read(table_id, ""))[1])


async def test_a_large_text_goes_in_and_out_in_pieces(app: App, project: Project) -> None:
    table = await app.tables.create(project.id, body(BIG))
    assert (table.revision, table.size) == (1, len(BIG))
    assert await pieces_in(app.store) == -(-len(BIG) // rows.PIECE)
    assert await text_in(app, table.id) == BIG
    for revision, text in ((2, BIG[:-2] + b'!"]'), (3, b"7"), (4, BIG), (5, b'"s"')):
        assert await app.tables.put(table.id, "", text, None) == revision
        assert await text_in(app, table.id) == text
        assert await pieces_in(app.store) == -(-len(text) // rows.PIECE)


async def test_a_large_write_that_comes_too_late_leaves_nothing_behind(app: App, project: Project) -> None:
    table = await app.tables.create(project.id, body(b"1"))
    await app.tables.put(table.id, "", b"2", None)
    with pytest.raises(FindspotError, match="revision 2"):
        await app.tables.put(table.id, "", BIG, 1)
    assert await text_in(app, table.id) == b"2"
    assert await pieces_in(app.store) == 1


async def test_a_large_write_to_a_table_that_is_gone_says_so(app: App, project: Project) -> None:
    with pytest.raises(FindspotError) as refused:
        await app.tables.put(12345, "", BIG, None)
    assert refused.value.code == "NOT_FOUND"
    with pytest.raises(FindspotError) as refused:
        await app.tables.create(12345, body(BIG))
    assert refused.value.code == "NOT_FOUND"
    assert await pieces_in(app.store) == 0


async def test_what_a_killed_writer_left_is_invisible_and_swept_after_an_hour(settings: Settings) -> None:
    old, young = rows.new_text_id() - (3700 * 1_000_000 << 12), rows.new_text_id()
    async with open_app(settings) as app:
        async with app.store.write() as connection:
            project = await projects.create(connection, "p")
        table = await app.tables.create(project.id, body(b"[1]"))
        async with app.store.write() as connection:
            for text_id in (old, young):  # a text half written, and a table whose first text is half written
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


async def test_a_large_write_that_is_broken_off_leaves_nothing_behind(
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


async def test_deleting_goes_little_by_little_and_leaves_nothing(app: App, project: Project) -> None:
    kept = await app.tables.create(project.id, body(b"1"))
    gone = await app.tables.create(project.id, body(BIG))
    await app.tables.delete(gone.id)
    assert await pieces_in(app.store) == 1
    with pytest.raises(FindspotError):
        await app.tables.delete(gone.id)
    await app.tables.delete_all(project.id)
    assert await pieces_in(app.store) == 0
    with pytest.raises(FindspotError):
        await app.tables.read(kept.id, "")


async def test_the_database_is_for_its_user_alone(tmp_path: Path) -> None:
    store = await Store.open(None, tmp_path / "findspot.db")
    async with store.write() as connection:
        await projects.create(connection, "p")
    modes = {file.name: file.stat().st_mode & 0o777 for file in tmp_path.iterdir()}
    await store.close()
    assert modes == dict.fromkeys(("findspot.db", "findspot.db-wal", "findspot.db-shm"), 0o600)


async def test_a_store_that_cannot_be_opened_says_so_plainly(tmp_path: Path) -> None:
    (tmp_path / "findspot.db").write_bytes(b"this is not a database, but long enough to look at" * 100)
    with pytest.raises(Exception, match=r"database") as refused:
        await Store.open(None, tmp_path / "findspot.db")
    assert "SELECT" not in str(refused.value)
    with pytest.raises(FindspotError) as refused_too:
        await Store.open("postgresql://nobody@127.0.0.1:1/none", tmp_path / "unused.db")
    assert refused_too.value.code == "STORE_UNAVAILABLE"
