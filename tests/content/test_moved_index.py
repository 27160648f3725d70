"""The index at the target of a move: it is waited for, compared, and a difference is named and repaired."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import NamedTuple

import pytest
import sqlalchemy as sa
from pydantic import SecretStr

from findspot.app import App, open_app
from findspot.content import moved_index, moving
from findspot.content.moved_index import EngineDiffers, TargetUnavailable
from findspot.content.moving import CannotMove, Moving
from findspot.settings import Settings
from findspot.store.schema import chunks
from tests import flows
from tests.content.backups import NewSettings
from tests.content.test_moving import between
from tests.turbopuffer.faults import Faults
from tests.turbopuffer.namespace import Namespace
from tests.turbopuffer.server import StandIn

BOOKS = {"书": ["红楼梦 " * 40, "Mardi and a voyage thither " * 10]}


class Installations(NamedTuple):
    """An old installation with indexed content, and a new one that is empty."""

    source: Settings
    target: Settings


@pytest.fixture
def standin() -> Iterator[StandIn]:
    opened = StandIn()
    yield opened
    opened.close()


def served_by(settings: Settings, standin: StandIn, key: str | None = None) -> Settings:
    service = {"turbopuffer_api_key": SecretStr(key or standin.api_key), "turbopuffer_base_url": standin.url}
    return settings.model_copy(update={"engine": "turbopuffer", **service})


@pytest.fixture
async def installations(new_settings: NewSettings) -> Installations:
    source = new_settings("source")
    async with open_app(source) as app:
        project = await flows.make_project(app)
        await flows.make_document(app, project, "The harbour at night.", "夜晚的港口。")
        await flows.add_tool(app, await flows.make_table(app, project, BOOKS), chunk_threshold=1)
        await flows.settle(app)
    return Installations(source, new_settings("target"))


@asynccontextmanager
async def indexing(source: Settings, target: Settings) -> AsyncIterator[tuple[Moving, App]]:
    """Copy what is missing, as `findspot migrate` does, and give the move with the app that indexes the target."""
    async with between(source, target) as move:
        await move.begin()
        await move.copy()
        async with open_app(target, filling=True) as app:
            move.target = app.store
            yield move, app


async def compared(move: Moving, app: App) -> moved_index.Compared:
    await moved_index.wait(move, lambda left: None)
    return await moved_index.verify(move, app.engine, attempts=1)


async def test_chunks_are_compared_with_those_of_either_engine(
    installations: Installations, standin: StandIn, new_settings: NewSettings
) -> None:
    source, target = installations.source, served_by(installations.target, standin)
    standin.service.faults.set(Faults(status=0.3))  # 429 and 503, which are tried again
    async with indexing(source, target) as (move, app):
        there = await compared(move, app)
        await move.switch()
    assert there.in_engine == there.in_databases == sum(len(each.rows) for each in standin.service.namespaces.values())
    async with indexing(target, new_settings("back")) as (move, app):
        assert await compared(move, app) == there
        await flows.lose(app, *await first_chunk(app))
        with pytest.raises(EngineDiffers, match="it lacks d1:"):
            await moved_index.verify(move, app.engine, attempts=1)


async def first_chunk(app: App) -> tuple[str, list[int]]:
    async with app.store.read() as connection:
        query = sa.select(chunks.c.turbopuffer_namespace, chunks.c.id).where(chunks.c.document_id.is_not(None))
        namespace, id = (await connection.execute(query.order_by(chunks.c.id))).first() or ("", 0)
    return namespace, [id]


def lose_row(namespace: Namespace) -> str:
    return str(namespace.rows.popitem()[0])


def rename_row(namespace: Namespace) -> str:
    """Put a chunk under the id of another text."""
    id, row = namespace.rows.popitem()
    namespace.rows[f"{id}0"] = {**row, "id": f"{id}0"}
    return f"{id}0"


def double_row(namespace: Namespace) -> str:
    id, row = next(iter(namespace.rows.items()))
    namespace.rows[f"{id}0"] = {**row, "id": f"{id}0"}
    return f"{id}0"


@pytest.mark.parametrize("damage", [lose_row, rename_row, double_row])
async def test_a_chunk_that_differs_in_the_engine_is_named_and_repaired_by_the_next_run(
    damage: Callable[[Namespace], str], installations: Installations, standin: StandIn
) -> None:
    source, target = installations.source, served_by(installations.target, standin)
    async with indexing(source, target) as (move, app):
        before = await compared(move, app)
        wrong = damage(next(iter(standin.service.namespaces.values())))
        with pytest.raises(EngineDiffers, match=wrong):
            await moved_index.verify(move, app.engine, attempts=1)
    async with indexing(source, target) as (move, app):
        assert await compared(move, app) == before


async def test_a_chunk_with_another_hash_is_named(installations: Installations) -> None:
    async with indexing(*installations) as (move, app):
        await compared(move, app)
        namespace, ids = await first_chunk(app)
        async with app.store.write() as connection:
            query = sa.update(chunks).where(chunks.c.id.in_(ids)).values(content_hash="0" * 64)
            await connection.execute(query)
        with pytest.raises(CannotMove, match=r"Chunks of document 1 differ from the source: d1:[0-9a-f]{16}:0"):
            await moved_index.verify(move, app.engine, attempts=1)
        assert namespace == "project_1_documents"


async def test_a_move_stops_while_the_engine_fails_and_goes_on_later(
    installations: Installations, standin: StandIn
) -> None:
    source, target = installations
    async with indexing(source, served_by(target, standin, "tpuf_wrong_key")) as (move, app):
        with pytest.raises(TargetUnavailable, match="turbopuffer refuses the API key"):
            await moved_index.wait(move, lambda left: None, stalled_s=0)
    async with indexing(source, served_by(target, standin)) as (move, app):
        assert (await compared(move, app)).in_engine > 2
        await move.switch()


async def test_what_is_not_indexed_at_the_target_is_named(installations: Installations, standin: StandIn) -> None:
    source, target = installations.source, served_by(installations.target, standin)
    async with between(source, target) as move:
        await move.begin()
        await move.copy()
        async with open_app(target, worker=False, filling=True) as app:
            with pytest.raises(CannotMove, match="has not indexed document 1, table 1"):
                await moved_index.verify(move, app.engine, attempts=1)


async def test_one_command_at_a_time_fills_a_database(new_settings: NewSettings) -> None:
    target = new_settings("target", "postgres")
    assert target.database_url is not None
    place = target.database_url.get_secret_value(), target.data / "findspot.db"
    async with moving.locked_target(*place):
        with pytest.raises(CannotMove, match="Another 'findspot migrate'"):
            async with asyncio.timeout(60), moving.locked_target(*place):
                pass
    async with moving.locked_target(*place):
        pass
