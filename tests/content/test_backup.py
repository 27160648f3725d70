"""Backups of a store, and restoring them on either database."""

import asyncio
import json
import shutil
import zlib
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from findspot.app import App, open_app
from findspot.content import backup as backups
from findspot.content.backup_file import BadBackup, pack
from findspot.errors import FindspotError
from findspot.models import TableShape
from findspot.runtime.data_folder import DataFolder, FolderInUse
from findspot.settings import Settings
from findspot.store import index_owner, migrate, moves, projects
from findspot.store import processes as process_rows
from findspot.store import sessions as session_rows
from findspot.store.database import Store
from findspot.store.index_owner import IndexOwner
from findspot.store.process_schema import leases
from findspot.store.processes import Process
from findspot.store.schema import chunks, index_states, keys
from findspot.store.schema import projects as projects_table
from tests.content.backups import (
    BACKED_UP,
    BIG,
    LEFT_OUT,
    PROJECT,
    TEXT,
    Everything,
    NewSettings,
    backed_up,
    block,
    encoded_rows,
    everything,
    fill_all,
    filled_tables,
    forged,
    header,
    listing,
    opened,
    packed_parts,
    save,
    shape,
)
from tests.flows import PATIENCE_S, read_table
from tests.store.test_schema import a_chunk, add, fill


async def test_every_row_is_restored_from_and_to_either_database(new_settings: NewSettings, tmp_path: Path) -> None:
    first = new_settings("first")
    async with open_app(first, worker=False) as app:
        await fill_all(app)
        file = await save(app.store, tmp_path / "0.backup")
    found = await everything(first)
    assert all(found[table.name] for table in BACKED_UP), "every table holds a row"
    wanted = backed_up(found)
    for number, kind in enumerate(("postgres", "postgres", "sqlite", "sqlite"), 1):
        target = new_settings(f"target {number}", kind)
        verified = backups.verify(file)
        await backups.restore(verified, target)
        assert backed_up(await everything(target)) == wanted, (number, kind)
        assert verified.rows == {name: len(rows) for name, rows in wanted.items() if name != "last ids"}
        async with opened(target) as store:
            file = await save(store, tmp_path / f"{number}.backup")


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
async def test_a_restored_store_works_and_reuses_no_id(kind: str, new_settings: NewSettings, tmp_path: Path) -> None:
    async with open_app(new_settings("source"), worker=False) as app:
        await fill_all(app)
        async with app.store.write() as connection:
            for _ in range(3):
                gone = await projects.create(connection, "gone")
            await connection.execute(sa.delete(projects_table).where(projects_table.c.name == "gone"))
        file = await save(app.store, tmp_path / "a.backup")
    target = new_settings("target", kind)
    await backups.restore(backups.verify(file), target)
    async with open_app(target, worker=False) as app:
        async with app.store.write() as connection:
            assert (await projects.create(connection, "next")).id == gone.id + 1
        texts = [(await read_table(app, id))[1] for id in (2, 3, 4, 5)]
        assert texts == [TEXT, BIG, b"null", BIG]
        assert await app.tables.put(2, "/0", b"7", None) == 2


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
async def test_a_backup_can_be_restored_into_an_empty_store_and_into_one_without_content(
    kind: str, new_settings: NewSettings, tmp_path: Path
) -> None:
    source, target = new_settings("source", kind), new_settings("target", kind)
    async with open_app(source, worker=False) as app:
        empty = await save(app.store, tmp_path / "empty.backup")
        await fill_all(app)
        full = await save(app.store, tmp_path / "full.backup")
    await backups.restore(backups.verify(empty), target)
    async with open_app(target, worker=False):
        pass
    await backups.restore(backups.verify(full), target)
    assert backed_up(await everything(target)) == backed_up(await everything(source))
    files = {file.name for file in target.data.iterdir()}
    assert files <= {"lock", "owner-token", "findspot.db", "findspot.db-wal", "findspot.db-shm", "index"}


async def test_a_backup_has_no_owner_token_and_can_leave_out_embeddings(
    app: App, new_settings: NewSettings, tmp_path: Path
) -> None:
    await fill_all(app)
    file = await save(app.store, tmp_path / "a.backup", embeddings=False)
    found = backups.verify(file)
    assert "embedding_cache" not in found.rows
    unpacked = b"".join(zlib.decompress(part) for part in packed_parts(file.read_bytes()))
    assert "繁體".encode() in unpacked
    assert app.token.encode() not in unpacked
    target = new_settings("target")
    await backups.restore(found, target)
    assert (await everything(target))["embedding_cache"] == []


# ── while others write ──


async def test_a_backup_under_write_load_is_a_snapshot(app: App, new_settings: NewSettings, tmp_path: Path) -> None:
    """Each writer sets its tables one after the other to the same number. In a snapshot, a table is equal to or one
    ahead of the tables after it."""
    async with app.store.write() as connection:
        project = await projects.create(connection, "p")
    writers = [_Writer(size, [await _new_table(app, project.id) for _ in range(6)]) for size in (1, 300_000)]
    tasks = [asyncio.create_task(writer.run(app)) for writer in writers]
    file, piece_number = tmp_path / "a.backup", 0
    try:
        with file.open("wb") as out:
            async for piece in backups.stream(app.store):
                out.write(piece)
                piece_number += 1
                if piece_number <= 2:  # every writer continues while the snapshot is open
                    await asyncio.gather(*(writer.rounds(2) for writer in writers))
    finally:
        for task in tasks:
            task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)

    target = new_settings("target", "sqlite" if app.store.kind == "postgresql" else "postgres")
    await backups.restore(backups.verify(file), target)
    async with open_app(target, worker=False) as restored:
        for writer in writers:
            numbers = [await writer.number_in(restored, table) for table in writer.tables]
            assert numbers == sorted(numbers, reverse=True), numbers
            assert numbers[0] - numbers[-1] <= 1, numbers
            assert numbers[0] < writer.number, "it continued after the snapshot"


async def _new_table(app: App, project_id: int) -> int:
    return (await app.tables.create(project_id, b'{"name":"t","data":{"n":0,"text":""}}')).id


class _Writer:
    """Sets its tables to an increasing number, with a text of some size that repeats it."""

    def __init__(self, size: int, tables: list[int]) -> None:
        self.size, self.tables, self.number = size, tables, 0
        self._next = asyncio.Event()

    def value(self, number: int) -> bytes:
        return json.dumps({"n": number, "text": f"{number}字" * self.size}, ensure_ascii=False).encode()

    async def run(self, app: App) -> None:
        """Write until the task is cancelled."""
        while True:
            self.number += 1
            for table in self.tables:
                await app.tables.put(table, "", self.value(self.number), None)
            self._next.set()
            self._next = asyncio.Event()

    async def rounds(self, count: int) -> None:
        async with asyncio.timeout(PATIENCE_S):
            for _ in range(count):
                await self._next.wait()

    async def number_in(self, app: App, table: int) -> int:
        text = (await read_table(app, table))[1]
        number = int(json.loads(text)["n"])
        assert text in (self.value(number), b'{"n":0,"text":""}'), "number and text are of the same write"
        return number


async def test_a_backup_that_is_not_read_to_its_end_releases_the_database(settings: Settings) -> None:
    async with open_app(settings, worker=False) as app:
        await fill_all(app)
        for _ in range(12):  # more than the store has connections for reading
            stream = backups.stream(app.store)
            await anext(stream)
            await anext(stream)
            await stream.aclose()
        async with app.store.read() as connection:
            if app.store.kind == "sqlite":
                assert (await connection.execute(sa.text("PRAGMA wal_checkpoint(TRUNCATE)"))).one()[0] == 0
            else:
                others = (
                    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND xact_start < now()"
                )
                assert (await connection.execute(sa.text(others))).scalar_one() == 0


# ── the target ──


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
async def test_a_store_with_content_is_not_changed(
    kind: str, whole: bytes, new_settings: NewSettings, tmp_path: Path
) -> None:
    target = new_settings("target", kind)
    async with open_app(target, worker=False) as app, app.store.write() as connection:
        await projects.create(connection, "mine")
    before, files = await everything(target), listing(target.data)
    (tmp_path / "a").write_bytes(whole)
    with pytest.raises(backups.NotEmpty, match="only be restored into an empty store"):
        await backups.restore(backups.verify(tmp_path / "a"), target)
    assert listing(target.data).keys() == files.keys()
    assert await everything(target) == before


async def test_a_folder_in_use_is_not_changed(whole: bytes, new_settings: NewSettings, tmp_path: Path) -> None:
    target = new_settings("target")
    (tmp_path / "a").write_bytes(whole)
    folder = DataFolder(target.data).claim()
    with pytest.raises(FolderInUse):
        await backups.restore(backups.verify(tmp_path / "a"), target)
    folder.release()
    assert listing(target.data) == {"lock": b""}


@pytest.mark.parametrize(("kind", "started"), [("sqlite", True), ("postgres", False)])
async def test_inconsistent_rows_leave_the_target_empty(
    kind: str, started: bool, new_settings: NewSettings, tmp_path: Path
) -> None:
    target = new_settings("target", kind)
    if started:
        async with open_app(target, worker=False):
            pass
    orphan = block("keys", encoded_rows((1, 77, "k", "read", "h", "", PROJECT[2])))
    twin = block("projects", encoded_rows(PROJECT, PROJECT), count=2)
    for wrong in (orphan, twin):
        (tmp_path / "a").write_bytes(forged(wrong))
        verified = backups.verify(tmp_path / "a")
        with pytest.raises(BadBackup, match="do not fit this database"):
            await backups.restore(verified, target)
        assert not any("restoring" in name for name in listing(target.data))
    assert filled_tables(await everything(target)) == []


async def test_a_file_that_changed_after_verification_is_not_restored(
    whole: bytes, new_settings: NewSettings, tmp_path: Path
) -> None:
    file, target = tmp_path / "a", new_settings("target")
    file.write_bytes(whole)
    verified = backups.verify(file)
    file.write_bytes(forged(block("projects", encoded_rows(PROJECT))))
    with pytest.raises(BadBackup, match="file changed while"):
        await backups.restore(verified, target)
    assert set(listing(target.data)) == {"lock"}


async def test_a_full_disk_is_reported_before_anything_is_written(
    whole: bytes, new_settings: NewSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").write_bytes(whole)
    verified, target = backups.verify(tmp_path / "a"), new_settings("target")
    monkeypatch.setattr("shutil.disk_usage", lambda folder: type("U", (), {"free": 10}))
    with pytest.raises(FindspotError, match="the disk has only 10 free"):
        await backups.restore(verified, target)
    assert set(listing(target.data)) == {"lock"}


@pytest.mark.parametrize(("kind", "started"), [("sqlite", True), ("postgres", False)])
async def test_a_backup_of_an_older_schema_is_restored_and_migrated(
    kind: str, started: bool, whole: bytes, new_settings: NewSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "migrations"
    shutil.copytree(migrate.FOLDER, folder)
    (folder / "versions" / "9000_colour.py").write_text(
        "import sqlalchemy as sa\nfrom alembic import op\n"
        f"revision, down_revision = '9000', '{migrate.HEAD}'\n"
        "def upgrade():\n"
        "    op.add_column('projects', sa.Column('colour', sa.Text()))\n"
        "    op.execute(\"UPDATE projects SET colour = 'green ' || name\")\n"
        "def downgrade():\n"
        "    op.drop_column('projects', 'colour')\n"
    )
    (tmp_path / "a").write_bytes(whole)
    target = new_settings("target", kind)
    monkeypatch.setattr(migrate, "FOLDER", folder)
    monkeypatch.setattr(migrate, "HEAD", "9000")
    if started:
        async with open_app(target, worker=False):
            pass
    await backups.restore(backups.verify(tmp_path / "a"), target)
    async with opened(target) as store, store.read() as connection:
        assert (await connection.execute(sa.text("SELECT colour FROM projects"))).scalars().all() == ["green p"]
        assert await migrate.revision(connection) == "9000"
        assert len((await connection.execute(sa.select(keys))).all()) == 1


# ── the index starts again ──


def assert_the_index_starts_over(found: Everything) -> None:
    """Check that every source waits to be indexed, and that no state of another index is left."""
    names = [column.name for column in index_states.columns]
    states = [dict(zip(names, row, strict=True)) for row in found["index_states"]]
    wanted = {("table_id", row[0]) for row in found["tables"]} | {("document_id", row[0]) for row in found["documents"]}
    kinds = ("table_id", "document_id")
    assert len(states) == len(wanted) > 1
    assert {(kind, state[kind]) for state in states for kind in kinds if state[kind] is not None} == wanted
    for state in states:
        assert (state["status"], state["indexed_revision"]) == ("pending", 0)
        assert (state["done"], state["total"], state["attempts"], state["retry_at"]) == (0, 0, 0, None)
    assert (found["chunks"], found["gone_chunks"], found["changes"]) == ([], [], [])
    assert (len(found["installation"]), found["index_owner"]) == (1, [])


@pytest.mark.parametrize(("kinds", "started"), [(("sqlite", "postgres"), False), (("postgres", "sqlite"), True)])
async def test_a_restored_store_has_a_new_identity_and_every_source_waits_to_be_indexed(
    kinds: tuple[str, str], started: bool, new_settings: NewSettings, tmp_path: Path
) -> None:
    source, targets = new_settings("source", kinds[0]), [new_settings(f"target {kind}", kind) for kind in kinds]
    source.data.mkdir()
    async with opened(source) as store:
        async with store.write() as connection:
            ids = await fill(connection)
            chunk = await add(connection, chunks, **a_chunk(ids["table"], turbopuffer_doc_id="gone", json_pointer="/b"))
            await connection.execute(sa.delete(chunks).where(chunks.c.id == chunk))
            ready = {"status": "ready", "indexed_revision": 1, "done": 1, "total": 1}
            await connection.execute(sa.update(index_states).values(**ready))
            await session_rows.add(connection, "hash", datetime.now(UTC))
            now = datetime.now(UTC)
            await index_owner.put(connection, IndexOwner("embedded", "id", "/folder", "host", now))
            await process_rows.beat(connection, Process("id", "all", "host", 1, "0", "index", now), None, 30.0)
            lease = {"namespace": "n", "token": 1, "holder": "id", "claimed_at": now, "expires_at": now}
            await connection.execute(sa.insert(leases), lease)
            await moves.put(connection, moves.SOURCE, "elsewhere", "id")
            await moves.set_progress(connection, "tables", (1,), done=False)
            await connection.execute(sa.insert(moves.changed_rows), {"name": "tables", "row_key": "[1]"})
        file = await save(store, tmp_path / "a.backup")
    before = await everything(source)
    empty = {"namespace_states", "index_requests", "search_cursors", "engine_namespaces"}
    assert all(before[name] for name in LEFT_OUT - empty)
    identities = {before["installation"][0]}
    for target in targets:
        if started:
            async with open_app(target, worker=False) as app:
                await app.sessions.start()  # a signed-in browser is no content
        await backups.restore(backups.verify(file), target)
        found = await everything(target)
        assert ("hash",) not in {row[:1] for row in found["sessions"]}
        assert_the_index_starts_over(found)
        identities.add(found["installation"][0])
    assert len(identities) == 3
    assert await everything(source) == before


async def _tables_of(schema: str, folder: Path) -> tuple[TableShape, ...]:
    """Return the tables of an older schema."""
    store, built = Store.unprepared(None, folder / f"{schema}.db"), sa.MetaData()
    async with store.write() as connection:
        await migrate.rebuild(connection, schema)
        await connection.run_sync(built.reflect)
    await store.close()
    return tuple(shape(table) for table in built.sorted_tables if table.name != "alembic_version")


def _rows_of_0002() -> dict[str, dict[str, Any]]:
    """Return rows of a table and a document, both indexed. Backups of that schema had chunks and index states."""
    at = {"created_at": PROJECT[2], "updated_at": PROJECT[2]}
    source = {"project_id": 1, "revision": 3, **at}
    done = {"project_id": 1, "status": "ready", "indexed_revision": 3, "fingerprint": "f", "done": 1, "total": 1}
    return {
        "projects": {"id": 1, "name": "旧 📕", **at},
        "tables": {"id": 4, "name": "舊", "size": len(TEXT), "text_id": 1, **source},
        "pieces": {"table_id": 4, "text_id": 1, "number": 0, "piece": TEXT},
        "documents": {"id": 6, "title": "d", "type": "note", "format": "text", "word_count": 1, "content": b"x"}
        | source,
        "chunks": {"id": 41, **a_chunk(4), "chunk_text": "字".encode(), **at},
        "index_states": {"id": 5, "table_id": 4, **done, **at},
    }


@pytest.mark.parametrize(("kind", "started"), [("sqlite", True), ("postgres", False)])
async def test_chunks_in_an_old_backup_are_not_restored(
    kind: str, started: bool, new_settings: NewSettings, tmp_path: Path
) -> None:
    shapes, rows, target = await _tables_of("0002", tmp_path), _rows_of_0002(), new_settings("target", kind)
    assert {"chunks", "index_states"} < {each.name for each in shapes}
    blocks = [
        packed
        for number, each in enumerate(shapes)
        if each.name in rows
        for packed in pack(number, [tuple(rows[each.name].get(column.name) for column in each.columns)])
    ]
    (tmp_path / "old").write_bytes(forged(*blocks, given=header(schema="0002", tables=shapes)))
    verified = backups.verify(tmp_path / "old")
    assert {name for name, count in verified.rows.items() if count} == rows.keys()
    if started:
        async with open_app(target, worker=False):
            pass
    await backups.restore(verified, target)
    found = await everything(target)
    assert_the_index_starts_over(found)
    assert {name: len(found[name]) for name in rows.keys() - LEFT_OUT} == dict.fromkeys(rows.keys() - LEFT_OUT, 1)
    assert found["pieces"] == [(4, 1, 0, TEXT)]
    async with opened(target) as store, store.write() as connection:
        assert await migrate.revision(connection) == migrate.HEAD
        assert await add(connection, chunks, **a_chunk(4)) == 42  # no id is reused
