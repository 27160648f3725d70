"""Moving an installation between SQLite and PostgreSQL while it is used."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
import sqlalchemy as sa

from findspot.app import App, open_app
from findspot.content import moving
from findspot.content.moving import CannotMove, Moving
from findspot.errors import FindspotError
from findspot.models import OWNER
from findspot.replacing.execute import Confirmed
from findspot.replacing.preview import Scope
from findspot.replacing.rule import ReplaceRule
from findspot.settings import Settings
from findspot.store import moves, row_copies
from findspot.store.database import Store
from findspot.store.schema import bindings, documents, import_files, projects, tools, versions
from tests import flows
from tests.content.backups import TEXT, NewSettings, backed_up, everything, fill_all, opened


class Killed(Exception):
    """Stands for the end of a process."""


DIRECTIONS = [("sqlite", "postgres"), ("postgres", "sqlite")]
BOTH_WAYS = pytest.mark.parametrize(("kind", "other"), DIRECTIONS)


@asynccontextmanager
async def between(source: Settings, target: Settings) -> AsyncIterator[Moving]:
    """Give a move between two installations, as `findspot migrate` opens it."""
    target.data.mkdir(exist_ok=True)
    url = source.database_url.get_secret_value() if source.database_url else None
    async with moving.opened_source(url, source.data / "findspot.db") as old, opened(target) as new:
        yield Moving(old, new, "the old place", "the new place")


async def content(where: Settings) -> dict[str, Any]:
    """Return all rows that are moved, and the last ids. Embeddings are compared by the test that needs them."""
    found = backed_up(await everything(where))
    return {name: rows for name, rows in found.items() if name != "embedding_cache"}


async def change_everything(app: App) -> None:
    """Change rows of every table: saves, renames, exchanged paths, deletes, a replace, a new text of a table."""
    async with app.store.read() as connection:
        document = (await connection.execute(sa.select(documents.c.id))).scalars().first()
        project = int((await connection.execute(sa.select(projects.c.id).order_by(projects.c.id))).scalars().all()[0])
    assert document is not None
    created = await flows.make_document(app, project, "The old warehouse 旧仓库", "第二段 paragraph")
    doomed = await flows.make_document(app, project, "soon gone 马上删除")
    await flows.save(app, created.id, "The new warehouse 新仓库", "第二段 paragraph")
    table = await flows.make_table(app, project, {"书": ["红楼梦", "a\u0000b", 1.10]})
    await app.tables.put(table.id, "", TEXT, None)
    tool = await flows.add_tool(app, table, chunk_threshold=1)
    preview = await app.previews.create(ReplaceRule("warehouse", "仓房"), Scope(project, created.id), OWNER)
    await app.execution.execute(project, Confirmed(preview), OWNER)
    async with app.store.write() as connection:
        await connection.execute(sa.delete(documents).where(documents.c.id == doomed.id))
        await connection.execute(sa.update(tools).where(tools.c.id != tool).values(name="renamed 改名"))
        first, second = {"path": f"甲{created.id}.md"}, {"path": f"b{created.id}.md"}
        await connection.execute(sa.update(documents).where(documents.c.id == created.id).values(first))
        await connection.execute(sa.update(documents).where(documents.c.id == document).values(second))
        await connection.execute(sa.update(import_files).values(hash=b"\1" * 32, missing=True))
        await connection.execute(sa.update(bindings).values(enabled=False))


async def exchange_paths(store: Store) -> None:
    """Let two documents exchange their paths, which are unique."""
    async with store.write() as connection:
        query = sa.select(documents.c.id, documents.c.path).where(documents.c.path.is_not(None))
        one, other = (await connection.execute(query)).all()
        for document_id, path in ((one.id, None), (other.id, one.path), (one.id, other.path)):
            await connection.execute(sa.update(documents).where(documents.c.id == document_id).values(path=path))


@BOTH_WAYS
async def test_an_installation_that_changes_meanwhile_is_moved_there_and_back(
    kind: str, other: str, new_settings: NewSettings
) -> None:
    source, target, back = new_settings("source", kind), new_settings("target", other), new_settings("back", kind)
    async with open_app(source, worker=False) as app:
        await fill_all(app)
        async with between(source, target) as move:
            assert await move.begin()
            await move.copy()
            await change_everything(app)
            assert await move.catch_up()
            await exchange_paths(app.store)
            assert (await move.verify())["versions"] >= 2  # without what has changed since
            moved = await move.switch()
            assert moved.rows["versions"] >= 2
    before = await content(source)
    assert before == await content(target)
    assert len(before["replaces"]) == 2
    assert any("仓房" in bytes(row[-1]).decode(errors="replace") for row in before["documents"])
    async with between(target, back) as move:
        await move.begin()
        await move.copy()
        await move.switch()
    assert await content(back) == before
    async with open_app(back, worker=False) as app:  # new ids continue after the last one
        made = await flows.make_document(app, 1, "after the move 之后")
        assert made.id > max(row[0] for row in before["documents"])


@BOTH_WAYS
async def test_a_move_goes_on_where_it_was_interrupted(kind: str, other: str, new_settings: NewSettings) -> None:
    source, target = new_settings("source", kind), new_settings("target", other)
    async with open_app(source, worker=False) as app:
        await fill_all(app)
        for stop_at in ("documents", "bindings"):
            async with between(source, target) as move:
                move.on_rows = interrupted_at(stop_at)
                assert await move.begin()
                with pytest.raises(Killed):
                    await move.copy()
            await change_everything(app)
        async with between(source, target) as move:
            seen: list[str] = []
            move.on_rows = lambda table, rows: seen.append(table)
            assert await move.begin()
            await move.copy()
            assert "projects" not in seen, "what was copied is not copied again"
            await move.switch()
    assert await content(source) == await content(target)


def interrupted_at(wanted: str) -> Callable[[str, int], None]:
    def stop(table: str, rows: int) -> None:
        if table == wanted:
            raise Killed

    return stop


@BOTH_WAYS
async def test_changes_are_refused_only_while_the_last_ones_are_copied(
    kind: str, other: str, new_settings: NewSettings
) -> None:
    source, target = new_settings("source", kind), new_settings("target", other)
    async with open_app(source, worker=False) as app:
        project = await flows.make_project(app)
        document = await flows.make_document(app, project, "one 一")
        async with between(source, target) as move:
            await move.begin()
            await move.copy()
            async with move.target.write() as connection:  # a row that the source does not have
                await connection.execute(sa.insert(projects), {"name": "stray"})
            with pytest.raises(CannotMove, match="projects"):
                await move.verify()
            with pytest.raises(CannotMove, match="projects"):
                await move.switch()
            await flows.save(app, document.id, "accepted again 又可以了")
            async with move.target.write() as connection:
                await connection.execute(sa.delete(projects).where(projects.c.name == "stray"))
            await move.switch()
        with pytest.raises(FindspotError) as refused:
            await flows.save(app, document.id, "too late 太晚")
        assert (refused.value.code, refused.value.kind.status) == ("STORE_UNAVAILABLE", 503)
        assert refused.value.fields["retryAfterMs"] > 0
        assert "accepted again" in await flows.text_of(app, document.id)  # reading goes on
    old, new = await content(source), await content(target)
    del old["last ids"], new["last ids"]  # PostgreSQL has used an id for the refused version
    assert old == new


@pytest.mark.parametrize("other", ["sqlite", "postgres"])
async def test_an_altered_row_of_the_copy_is_noticed(other: str, new_settings: NewSettings) -> None:
    source, target = new_settings("source"), new_settings("target", other)
    async with open_app(source, worker=False) as app:
        await fill_all(app)
        async with between(source, target) as move:
            await move.begin()
            await move.copy()
            await move.verify()
            async with move.target.write() as connection:
                await connection.execute(sa.update(versions).values(content="别的".encode()))
            with pytest.raises(CannotMove, match="versions"):
                await move.verify()


async def test_a_source_that_was_moved_is_not_used_until_the_move_is_cancelled(new_settings: NewSettings) -> None:
    source, target = new_settings("source"), new_settings("target")
    async with open_app(source, worker=False) as app:
        await flows.make_project(app)
    async with between(source, target) as move:
        await move.begin()
        with pytest.raises(FindspotError, match="being filled from the old place"):
            async with open_app(new_settings("target"), worker=False):
                pass
        await move.copy()
        await move.switch()
    with pytest.raises(FindspotError, match="was moved to the new place"):
        async with open_app(source, worker=False):
            pass
    async with open_app(target, worker=False) as app:
        await flows.make_project(app)
    async with between(source, target) as move:
        assert await moving.cancel(move.source)
        assert not await moving.cancel(move.source)
    async with open_app(source, worker=False) as app:
        await flows.make_project(app)


async def test_a_target_that_is_not_empty_is_refused(new_settings: NewSettings) -> None:
    source, target = new_settings("source"), new_settings("target")
    for where in (source, target):
        async with open_app(where, worker=False) as app:
            await flows.make_project(app)
    async with between(source, target) as move:
        with pytest.raises(CannotMove, match="not empty"):
            await move.begin()
    async with open_app(source, worker=False) as app:
        await flows.make_project(app)


async def test_a_move_that_was_killed_while_it_refused_changes_accepts_them_again(new_settings: NewSettings) -> None:
    source, target = new_settings("source"), new_settings("target")
    async with open_app(source, worker=False) as app:
        await flows.make_project(app)
    async with between(source, target) as move:
        await move.begin()
        await move.copy()
        async with move.source.write() as connection:  # as after a kill while changes are refused
            await moves.refuse_changes(connection, row_copies.logged())
            await moves.set_state(connection, moves.FROZEN_STATE)
        assert await move.begin()
    async with open_app(source, worker=False) as app:
        await flows.make_project(app, "accepted again")
