"""Backups: everything at one moment, back as it was on either database; whatever is not whole is refused."""

import asyncio
import contextlib
import hashlib
import json
import os
import signal
import sys
import zlib
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings, strategies
from pydantic import SecretStr

from findspot.app import App, open_app
from findspot.content import backup as backups
from findspot.content import backup_file
from findspot.content.backup_file import BadBackup, Block, Header, Writer, pack
from findspot.errors import FindspotError
from findspot.models import TableShape
from findspot.runtime.data_folder import DataFolder, FolderInUse
from findspot.settings import Settings
from findspot.store import migrate, projects, snapshot
from findspot.store.database import Store
from findspot.store.schema import chunks, documents, embedding_cache, index_states, keys, metadata, versions
from findspot.store.schema import projects as projects_table
from tests.store.test_schema import a_chunk, add, fill

TEXT = json.dumps(["English", "中文 繁體", "\0", "🎈👩‍👩‍👧 é", "ל\u2028"], ensure_ascii=False).encode()
BIG = b'["' + "大き な text ".encode() * 200_000 + b'"]'  # about 3 MB: many pieces

DERIVED = {"chunks", "gone_chunks", "changes", "index_states", "installation"}  # not in a backup, made anew
BACKED_UP = [table for table in metadata.sorted_tables if table.name not in DERIVED]

Everything = dict[str, list[tuple[Any, ...]]]
NewSettings = Callable[..., Settings]


@pytest.fixture
def new_settings(tmp_path: Path, request: pytest.FixtureRequest) -> NewSettings:
    """Settings of an installation that is not there yet, on the database that is named."""

    def make(name: str, kind: str = "sqlite") -> Settings:
        url = request.getfixturevalue("new_postgres_database")() if kind == "postgres" else None
        return Settings(data=tmp_path / name, database_url=SecretStr(url) if url else None, port=0)

    return make


@contextlib.asynccontextmanager
async def opened(where: Settings) -> Any:
    url = where.database_url.get_secret_value() if where.database_url else None
    store = await Store.open(url, where.data / "findspot.db")
    try:
        yield store
    finally:
        await store.close()


async def everything(where: Settings) -> Everything:
    """Every row of every table, and the counters."""
    async with opened(where) as store, store.snapshot() as connection:
        rows = {
            table.name: sorted(map(tuple, await connection.execute(sa.select(table))), key=repr)
            for table in metadata.sorted_tables
        }
        last = [(shape.name, shape.last_id) for shape in await snapshot.shapes(connection)]
    return {**rows, "last ids": last}


def backed_up(found: Everything) -> Everything:
    """What of it a backup brings back."""
    return {name: rows for name, rows in found.items() if name not in DERIVED}


def made_in(found: Everything) -> list[str]:
    """The tables that hold a row which a store does not have from its start."""
    return [name for name, rows in found.items() if rows and name not in ("last ids", "installation")]


async def save(store: Store, file: Path, **options: bool) -> Path:
    with file.open("wb") as out:
        async for piece in backups.stream(store, **options):
            out.write(piece)
    return file


async def fill_all(app: App) -> None:
    """A row or more in every table, with texts of every kind; and ids that were given out and are gone."""
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
    for text in (TEXT, BIG, b"null"):
        await app.tables.create(ids["project"], b'{"name":"t","data":' + text + b"}")
    table = await app.tables.create(ids["project"], b'{"name":"t","data":1}')
    await app.tables.put(table.id, "", BIG, None)


def listing(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file()}


async def test_every_row_comes_back_on_either_database_from_either(new_settings: NewSettings, tmp_path: Path) -> None:
    first = new_settings("first")
    async with open_app(first, worker=False) as app:
        await fill_all(app)
        file = await save(app.store, tmp_path / "0.backup")
    found = await everything(first)
    assert all(found.values()), "every table holds a row"
    wanted = backed_up(found)
    for number, kind in enumerate(("postgres", "sqlite", "sqlite", "postgres", "postgres"), 1):
        target = new_settings(f"target {number}", kind)
        verified = backups.verify(file)
        await backups.restore(verified, target)
        assert backed_up(await everything(target)) == wanted, (number, kind)
        assert verified.rows == {name: len(rows) for name, rows in wanted.items() if name != "last ids"}
        async with opened(target) as store:
            file = await save(store, tmp_path / f"{number}.backup")


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
async def test_a_restored_store_works_and_its_new_ids_follow_all_that_were_ever_given_out(
    kind: str, new_settings: NewSettings, tmp_path: Path
) -> None:
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
        texts = [b"".join((await app.tables.read(id, ""))[1]) for id in (2, 3, 4, 5)]
        assert texts == [TEXT, BIG, b"null", BIG]
        assert await app.tables.put(2, "/0", b"7", None) == 2


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
async def test_an_empty_store_and_one_that_was_only_started_can_be_restored_into(
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


async def test_the_owners_token_and_leftovers_are_not_in_a_backup_and_embeddings_need_not_be(
    app: App, new_settings: NewSettings, tmp_path: Path
) -> None:
    await fill_all(app)
    file = await save(app.store, tmp_path / "a.backup", embeddings=False)
    found = backups.verify(file)
    assert "embedding_cache" not in found.rows
    unpacked = b"".join(zlib.decompress(part) for part in _packed_parts(file))
    assert "繁體".encode() in unpacked
    assert app.token.encode() not in unpacked
    target = new_settings("target")
    await backups.restore(found, target)
    assert (await everything(target))["embedding_cache"] == []


def _packed_parts(file: Path) -> list[bytes]:
    data, at, parts = file.read_bytes(), len(backup_file.MAGIC) + 1, []
    while at < len(data):
        _, _, length, _ = backup_file._HEAD.unpack_from(data, at)
        at += backup_file._HEAD.size
        parts.append(data[at : at + length])
        at += length + 32
    return parts


# ── under load ──


async def test_a_backup_under_write_load_equals_the_source_at_one_moment(
    app: App, new_settings: NewSettings, tmp_path: Path
) -> None:
    """Each writer sets its tables one after the other to the same number. At one moment, those in front are at most
    one ahead of those behind; in a mix of moments, one behind would be ahead."""
    async with app.store.write() as connection:
        project = await projects.create(connection, "p")
    writers = [_Writer(size, [await _new_table(app, project.id) for _ in range(6)]) for size in (1, 40_000, 300_000)]
    tasks = [asyncio.create_task(writer.run(app)) for writer in writers]
    file, piece_number = tmp_path / "a.backup", 0
    with file.open("wb") as out:
        async for piece in backups.stream(app.store):
            out.write(piece)
            piece_number += 1
            if piece_number <= 2:  # every writer gets on while the snapshot is open
                await asyncio.gather(*(writer.rounds(2) for writer in writers))
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
            assert numbers[0] < writer.number, "it went on after the moment of the backup"


async def _new_table(app: App, project_id: int) -> int:
    return (await app.tables.create(project_id, b'{"name":"t","data":{"n":0,"text":""}}')).id


class _Writer:
    """Sets its tables to a number that grows, with a text of some size that repeats it."""

    def __init__(self, size: int, tables: list[int]) -> None:
        self.size, self.tables, self.number = size, tables, 0
        self._next = asyncio.Event()

    def value(self, number: int) -> bytes:
        return json.dumps({"n": number, "text": f"{number}字" * self.size}, ensure_ascii=False).encode()

    async def run(self, app: App) -> None:
        while True:
            self.number += 1
            for table in self.tables:
                await app.tables.put(table, "", self.value(self.number), None)
            self._next.set()
            self._next = asyncio.Event()

    async def rounds(self, count: int) -> None:
        for _ in range(count):
            await self._next.wait()

    async def number_in(self, app: App, table: int) -> int:
        text = b"".join((await app.tables.read(table, ""))[1])
        number = int(json.loads(text)["n"])
        assert text in (self.value(number), b'{"n":0,"text":""}'), "a text of one moment"
        return number


async def at_rest(app: App) -> None:
    """Wait until the index has nothing to do."""

    await app.index_status.wait_until(app.index_status.is_at_rest)


async def test_a_backup_that_no_one_reads_to_its_end_lets_go_of_the_database(app: App) -> None:
    await fill_all(app)
    for _ in range(12):
        stream = backups.stream(app.store)
        await anext(stream)
        await anext(stream)
        await stream.aclose()
    await at_rest(app)
    async with app.store.read() as connection:
        if app.store.kind == "sqlite":
            assert (await connection.execute(sa.text("PRAGMA wal_checkpoint(TRUNCATE)"))).one()[0] == 0
        else:
            open_ones = (
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND xact_start < now()"
            )
            assert (await connection.execute(sa.text(open_ones))).scalar_one() == 0


# ── what is not whole ──


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A small backup with a row of everything a project can own."""
    folder = tmp_path_factory.mktemp("whole")

    async def make() -> bytes:
        async with open_app(Settings(data=folder / "data"), worker=False) as app:
            async with app.store.write() as connection:
                await fill(connection)
            return (await save(app.store, folder / "a.backup")).read_bytes()

    return asyncio.run(make())


def refused(data: bytes, folder: Path) -> str:
    file = folder / "wrong.backup"
    file.write_bytes(data)
    with pytest.raises(BadBackup) as reason:
        backups.verify(file)
    return str(reason.value)


def test_a_backup_cut_off_anywhere_is_refused(whole: bytes, tmp_path: Path) -> None:
    assert "not a Findspot backup" in refused(b"", tmp_path)
    for length in range(1, len(whole)):
        assert "cut off" in refused(whole[:length], tmp_path), length


@settings(max_examples=400, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=strategies.data())
def test_a_backup_with_any_byte_altered_is_refused(whole: bytes, tmp_path: Path, data: strategies.DataObject) -> None:
    at = data.draw(strategies.integers(0, len(whole) - 1))
    flipped = data.draw(strategies.integers(1, 255))
    altered = bytearray(whole)
    altered[at] ^= flipped
    assert refused(bytes(altered), tmp_path)


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rubbish=strategies.binary(max_size=300))
def test_rubbish_is_refused(whole: bytes, tmp_path: Path, rubbish: bytes) -> None:
    assert refused(rubbish, tmp_path)
    assert refused(whole[:18] + rubbish, tmp_path)
    if rubbish:
        assert f"{len(rubbish)} bytes follow its end" in refused(whole + rubbish, tmp_path)


def _frames(whole: bytes) -> list[bytes]:
    frames, at = [], len(backup_file.MAGIC) + 1
    while at < len(whole):
        length = backup_file._HEAD.unpack_from(whole, at)[2]
        end = at + backup_file._HEAD.size + length + 32
        frames.append(whole[at:end])
        at = end
    return frames


def test_frames_left_out_doubled_or_in_another_order_are_refused(whole: bytes, tmp_path: Path) -> None:
    start, frames = whole[: len(backup_file.MAGIC) + 1], _frames(whole)
    assert start + b"".join(frames) == whole
    for at in range(len(frames) - 1):
        one, other = frames[at : at + 2]
        for instead in ([other, one], [other], [one, one, other]):
            assert refused(start + b"".join([*frames[:at], *instead, *frames[at + 2 :]]), tmp_path)


def test_two_halves_of_two_backups_are_refused(whole: bytes, tmp_path: Path) -> None:
    frames = _frames(whole)
    writer = Writer(_header())
    other = _frames(writer.begin() + writer.end())
    start = whole[: len(backup_file.MAGIC) + 1]
    assert "altered" in refused(start + other[0] + b"".join(frames[1:]), tmp_path)


# ── files made to do harm: their seals are right ──


def _shape(table: sa.Table) -> TableShape:
    return TableShape(str(table.name), snapshot.columns(table), 0 if "id" in table.columns else None)


def _header(**other: Any) -> Header:
    known = {"findspot": "0.1.0", "schema": migrate.HEAD, "database": "sqlite", "created_at": datetime.now(UTC)}
    return Header(**{**known, "tables": tuple(map(_shape, BACKED_UP)), **other})


def _forged(*blocks: Block, header: Header | None = None) -> bytes:
    writer = Writer(header or _header())
    return b"".join((writer.begin(), *map(writer.seal, blocks), writer.end()))


NAMES = [table.name for table in BACKED_UP]
PROJECT = (1, "p", datetime(2026, 1, 1, tzinfo=UTC))


def _block(table: str, plain: bytes, size: int | None = None, count: int = 1) -> Block:
    return Block(NAMES.index(table), count, len(plain) if size is None else size, zlib.compress(plain))


def _rows(*rows: Any) -> bytes:
    return backup_file._COUNT.pack(backup_file._LIST, len(rows)) + b"".join(map(msgspec.msgpack.encode, rows))


def test_a_forged_file_that_is_right_is_accepted(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(_forged(_block("projects", _rows(PROJECT))))
    assert backups.verify(tmp_path / "a").rows["projects"] == 1


@pytest.mark.parametrize(
    "block",
    [
        _block("projects", _rows((1, "p"))),
        _block("projects", _rows((*PROJECT, 1))),
        _block("projects", _rows(("1", "p", PROJECT[2]))),
        _block("projects", _rows((2**63, "p", PROJECT[2]))),
        _block("projects", _rows((1, b"p", PROJECT[2]))),
        _block("projects", _rows((1, "p", "2026-01-01"))),
        _block("projects", _rows({"id": 1})),
        _block("projects", _rows(PROJECT) + b"\xc0"),
        _block("projects", _rows(PROJECT)[:-1]),
        _block("projects", _rows(PROJECT), count=2),
        _block("projects", _rows()),
        _block("projects", b"\xc0"),
        _block("projects", b"\x91" * 200_000),
        _block("projects", backup_file._COUNT.pack(backup_file._LIST, 2**32 - 1)),
        _block("projects", _rows(PROJECT), size=5),
        _block("projects", _rows(PROJECT), size=2**30),
        _block("projects", _rows(PROJECT), size=2**32 - 1),
        Block(NAMES.index("projects"), 1, 20, b"this was never packed"),
        _block("keys", _rows(*[(n, 1, "k", "read", str(n), "", PROJECT[2]) for n in range(80_000)]), count=80_000),
    ],
)
def test_a_block_that_does_not_hold_rows_of_its_table_is_refused(block: Block, tmp_path: Path) -> None:
    assert "altered" in refused(_forged(block), tmp_path)


def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    import tracemalloc

    bomb = zlib.compress(bytes(300_000_000), 9)
    data = _forged(Block(NAMES.index("pieces"), 1, 1000, bomb))
    tracemalloc.start()
    try:
        assert "altered" in refused(data, tmp_path)
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()


def test_tables_in_another_order_or_of_no_number_are_refused(tmp_path: Path) -> None:
    project = _block("projects", _rows(PROJECT))
    key = _block("keys", _rows((1, 1, "k", "read", "h", "", PROJECT[2])))
    backups_ok = _forged(project, key)
    (tmp_path / "a").write_bytes(backups_ok)
    assert backups.verify(tmp_path / "a").rows["keys"] == 1
    assert "altered" in refused(_forged(key, project), tmp_path)
    writer = Writer(_header())
    begun = writer.begin()
    writer._rows.append(0)
    assert "altered" in refused(begun + writer.seal(Block(len(NAMES), 1, 1, b"x")), tmp_path)


@pytest.mark.parametrize(
    ("header", "sentence"),
    [
        (_header(schema="9999"), "made by a newer Findspot"),
        (_header(schema="0000"), "an unknown schema"),
        (_header(tables=_header().tables[1:4]), "its tables are not those of schema"),
        (_header(tables=(*_header().tables, TableShape("sqlite_master", (), None))), "its tables are not those"),
        (_header(tables=(*_header().tables, _shape(chunks))), "its tables are not those of schema"),
        (_header(tables=(TableShape('x" DROP', (), None),)), "its tables are not those of schema"),
    ],
)
def test_a_backup_with_other_tables_than_ours_is_refused(header: Header, sentence: str, tmp_path: Path) -> None:
    assert sentence in refused(_forged(header=header), tmp_path)


def test_a_backup_of_a_later_format_is_refused(whole: bytes, tmp_path: Path) -> None:
    later = whole[: len(backup_file.MAGIC)] + b"\x02" + whole[len(backup_file.MAGIC) + 1 :]
    assert "has the format 2" in refused(later, tmp_path)


# ── the target ──


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
async def test_a_store_that_holds_something_is_left_as_it_is(
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


async def test_a_folder_that_someone_owns_is_left_alone(
    whole: bytes, new_settings: NewSettings, tmp_path: Path
) -> None:
    target = new_settings("target")
    (tmp_path / "a").write_bytes(whole)
    folder = DataFolder(target.data).claim()
    with pytest.raises(FolderInUse):
        await backups.restore(backups.verify(tmp_path / "a"), target)
    folder.release()
    assert listing(target.data) == {"lock": b""}


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
@pytest.mark.parametrize("started", [False, True])
async def test_rows_that_contradict_each_other_leave_the_target_empty(
    kind: str, started: bool, new_settings: NewSettings, tmp_path: Path
) -> None:
    target = new_settings("target", kind)
    if started:
        async with open_app(target, worker=False):
            pass
    orphan = _block("keys", _rows((1, 77, "k", "read", "h", "", PROJECT[2])))
    twin = _block("projects", _rows(PROJECT, PROJECT), count=2)
    for wrong in (orphan, twin):
        (tmp_path / "a").write_bytes(_forged(wrong))
        verified = backups.verify(tmp_path / "a")
        with pytest.raises(BadBackup, match="do not fit this database"):
            await backups.restore(verified, target)
        assert not any("restoring" in name for name in listing(target.data))
    assert made_in(await everything(target)) == []


async def test_a_file_exchanged_after_it_was_looked_at_is_not_restored(
    whole: bytes, new_settings: NewSettings, tmp_path: Path
) -> None:
    file, target = tmp_path / "a", new_settings("target")
    file.write_bytes(whole)
    verified = backups.verify(file)
    file.write_bytes(_forged(_block("projects", _rows(PROJECT))))
    with pytest.raises(BadBackup, match="file changed while"):
        await backups.restore(verified, target)
    assert set(listing(target.data)) == {"lock"}


async def test_a_disk_without_room_is_told_before_anything_is_written(
    whole: bytes, new_settings: NewSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").write_bytes(whole)
    verified, target = backups.verify(tmp_path / "a"), new_settings("target")
    monkeypatch.setattr("shutil.disk_usage", lambda folder: type("U", (), {"free": 10}))
    with pytest.raises(FindspotError, match="the disk has only 10 free"):
        await backups.restore(verified, target)
    assert set(listing(target.data)) == {"lock"}


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
@pytest.mark.parametrize("started", [False, True])
async def test_a_backup_of_an_older_schema_is_restored_and_then_brought_up_to_date(
    kind: str, started: bool, whole: bytes, new_settings: NewSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import shutil

    folder = tmp_path / "migrations"
    shutil.copytree(migrate._FOLDER, folder)
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
    monkeypatch.setattr(migrate, "_FOLDER", folder)
    monkeypatch.setattr(migrate, "HEAD", "9000")
    if started:
        async with open_app(target, worker=False):
            pass
    await backups.restore(backups.verify(tmp_path / "a"), target)
    async with opened(target) as store, store.read() as connection:
        assert (await connection.execute(sa.text("SELECT colour FROM projects"))).scalars().all() == ["green p"]
        assert await migrate.revision(connection) == "9000"
        assert len((await connection.execute(sa.select(keys))).all()) == 1


# ── what the index follows by is made anew ──


def assert_the_index_starts_over(found: Everything) -> None:
    """Every source waits as if it had just been made, and nothing is left that another index did or still owes."""
    names = [column.name for column in index_states.columns]
    states = [dict(zip(names, row, strict=True)) for row in found["index_states"]]
    wanted = {("table_id", row[0]) for row in found["tables"]} | {("document_id", row[0]) for row in found["documents"]}
    kinds = ("table_id", "document_id")
    assert len(states) == len(wanted) > 1
    assert {(kind, state[kind]) for state in states for kind in kinds if state[kind] is not None} == wanted
    for state in states:
        assert (state["status"], state["indexed_revision"], state["fingerprint"]) == ("pending", 0, None)
        assert (state["done"], state["total"], state["attempts"], state["retry_at"]) == (0, 0, 0, None)
    assert (found["chunks"], found["gone_chunks"], found["changes"]) == ([], [], [])
    assert len(found["installation"]) == 1


@pytest.mark.parametrize("kinds", [("sqlite", "postgres"), ("postgres", "sqlite")])
@pytest.mark.parametrize("started", [False, True])
async def test_after_a_restore_every_source_waits_for_the_index_of_a_store_that_is_another(
    kinds: tuple[str, str], started: bool, new_settings: NewSettings, tmp_path: Path
) -> None:
    source, targets = new_settings("source", kinds[0]), [new_settings(f"target {kind}", kind) for kind in kinds]
    source.data.mkdir()
    async with opened(source) as store:
        async with store.write() as connection:
            ids = await fill(connection)
            chunk = await add(connection, chunks, **a_chunk(ids["table"], turbopuffer_doc_id="gone", json_pointer="/b"))
            await connection.execute(sa.delete(chunks).where(chunks.c.id == chunk))
            ready = {"status": "ready", "indexed_revision": 1, "fingerprint": "f", "done": 1, "total": 1}
            await connection.execute(sa.update(index_states).values(**ready))
        file = await save(store, tmp_path / "a.backup")
    before = await everything(source)
    assert all(before[name] for name in DERIVED)
    identities = {before["installation"][0]}
    for target in targets:
        if started:
            async with open_app(target, worker=False):
                pass
        await backups.restore(backups.verify(file), target)
        found = await everything(target)
        assert_the_index_starts_over(found)
        identities.add(found["installation"][0])
    assert len(identities) == 3
    assert await everything(source) == before


async def _tables_of(schema: str, folder: Path) -> tuple[TableShape, ...]:
    """The tables as a Findspot of that schema listed them."""
    async with backups._unprepared(None, folder / f"{schema}.db") as store, store.write() as connection:
        await migrate.rebuild(connection, schema)
        built = sa.MetaData()
        await connection.run_sync(built.reflect)
    return tuple(_shape(table) for table in built.sorted_tables if table.name != "alembic_version")


def _rows_of_0002() -> dict[str, dict[str, Any]]:
    """A table and a document, both indexed; in that schema, chunks and index states were in a backup."""
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


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
@pytest.mark.parametrize("started", [False, True])
async def test_a_backup_from_when_chunks_were_in_it_is_restored_and_they_are_made_anew(
    kind: str, started: bool, new_settings: NewSettings, tmp_path: Path
) -> None:
    shapes, rows, target = await _tables_of("0002", tmp_path), _rows_of_0002(), new_settings("target", kind)
    assert {"chunks", "index_states"} < {shape.name for shape in shapes}
    blocks = [
        block
        for number, shape in enumerate(shapes)
        if shape.name in rows
        for block in pack(number, [tuple(rows[shape.name].get(column.name) for column in shape.columns)])
    ]
    (tmp_path / "old").write_bytes(_forged(*blocks, header=_header(schema="0002", tables=shapes)))
    verified = backups.verify(tmp_path / "old")
    assert {name for name, count in verified.rows.items() if count} == rows.keys()
    if started:
        async with open_app(target, worker=False):
            pass
    await backups.restore(verified, target)
    found = await everything(target)
    assert_the_index_starts_over(found)
    assert {name: len(found[name]) for name in rows.keys() - DERIVED} == dict.fromkeys(rows.keys() - DERIVED, 1)
    assert found["pieces"] == [(4, 1, 0, TEXT)]
    async with opened(target) as store, store.write() as connection:
        assert await migrate.revision(connection) == migrate.HEAD
        assert await add(connection, chunks, **a_chunk(4)) == 42  # no id is used twice


# ── kill -9 ──

_KILLED = """
import importlib, os, signal, sys
from findspot.surfaces.cli.main import run

module, name, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
owner = importlib.import_module(module)
if "." in name:
    kind, name = name.split(".")
    owner = getattr(owner, kind)
real = getattr(owner, name)

def counted(*args, **kwargs):
    global count
    count -= 1
    if count == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return real(*args, **kwargs)

setattr(owner, name, counted)
run(sys.argv[4:])
"""
_EVERYWHERE = [
    ("findspot.store.migrate", "rebuild", 1),
    ("findspot.store.snapshot", "load", 1),
    ("findspot.store.snapshot", "load", 7),
    ("findspot.store.snapshot", "set_last_ids", 1),
    ("findspot.store.migrate", "upgrade", 1),
]
_IN_A_FOLDER = [
    ("findspot.content.backup", "_sync", 1),
    ("findspot.content.backup", "_remove", 2),
    ("pathlib", "Path.replace", 1),
    ("findspot.content.backup", "_sync", 2),  # the new file is in place
]


@pytest.mark.parametrize(
    ("kind", "place"),
    [*(("sqlite", place) for place in (*_EVERYWHERE, *_IN_A_FOLDER)), *(("postgres", place) for place in _EVERYWHERE)],
)
async def test_kill_9_in_the_middle_of_a_restore_leaves_nothing_or_everything(
    kind: str, place: tuple[str, str, int], whole: bytes, new_settings: NewSettings, tmp_path: Path
) -> None:
    target, file = new_settings("target", kind), tmp_path / "a"
    file.write_bytes(whole)
    async with open_app(
        target, worker=False
    ):  # a store that was started once, and a log that its end leaves to be cleared
        pass
    command = ["-c", _KILLED, *map(str, place), "restore", str(file), "--data", str(target.data)]
    url = {"FINDSPOT_DATABASE_URL": target.database_url.get_secret_value()} if target.database_url else {}
    process = await asyncio.create_subprocess_exec(sys.executable, *command, env={**os.environ, **url})
    assert await process.wait() == -signal.SIGKILL
    left = await everything(target)
    verified = backups.verify(file)
    if place == _IN_A_FOLDER[-1]:
        with pytest.raises(backups.NotEmpty):
            await backups.restore(verified, target)
    else:
        assert made_in(left) == []
        await backups.restore(verified, target)
        left = await everything(target)
    assert {name: len(rows) for name, rows in backed_up(left).items() if name != "last ids"} == verified.rows
    assert not any("restoring" in name for name in listing(target.data))


# ── the format ──


def test_the_format_is_written_as_its_page_says() -> None:
    """By hand from docs/backup.md, so that backups of today can be read for as long as the page stands."""
    data = _forged(*pack(NAMES.index("projects"), [PROJECT]))
    assert data.startswith(b"\x89findspot backup\r\n\x1a\n\x01")
    at, digest, kinds = 21, hashlib.sha256(data[:21]), b""
    while at < len(data):
        length, size = int.from_bytes(data[at + 3 : at + 7]), int.from_bytes(data[at + 7 : at + 11])
        kinds += data[at : at + 1]
        body = data[at + 11 : at + 11 + length]
        assert len(zlib.decompress(body)) == size
        digest.update(data[at : at + 11 + length])
        at += 11 + length + 32
        assert data[at - 32 : at] == digest.digest()
    assert kinds == b"HRE"
