"""A glance at the store: quick, and never behind what is committed."""

import asyncio

import pytest
import sqlalchemy as sa

from findspot.errors import FindspotError
from findspot.store import projects as rows
from findspot.store.database import Store
from findspot.store.schema import projects


async def test_a_glance_sees_what_is_committed_and_nothing_else(store: Store) -> None:
    async with store.write() as connection:
        made = await rows.create(connection, "项目")
        async with store.glance() as look:
            assert await rows.get(look, made.id) is None
    async with store.glance() as look:
        assert await rows.get(look, made.id) == made
    async with store.write() as connection:
        await rows.delete(connection, made.id)
    async with store.glance() as look:
        assert await rows.get(look, made.id) is None


async def test_many_glance_while_others_write(store: Store) -> None:
    async def write() -> int:
        async with store.write() as connection:
            return (await rows.create(connection, "p")).id

    async def seen(id: int) -> bool:
        async with store.glance() as look:
            return await rows.get(look, id) is not None

    async def both() -> bool:
        return await seen(await write())

    assert await asyncio.gather(*(both() for _ in range(30))) == [True] * 30


async def test_a_statement_that_fails_spoils_nothing_for_the_next(store: Store) -> None:
    with pytest.raises((FindspotError, sa.exc.ProgrammingError)):
        async with store.glance() as look:
            await look.execute(sa.text("SELECT * FROM nowhere"))
    async with store.glance() as look:
        assert (await look.execute(sa.text("SELECT :n"), {"n": 1})).scalar_one() == 1


async def test_several_looks_see_one_moment_whoever_writes_in_between(store: Store) -> None:
    for number in range(3):
        async with store.moment() as look:
            before = len((await look.execute(sa.select(projects.c.id))).all())
            async with store.write() as connection:
                await connection.execute(sa.insert(projects).values(name=f"p{number}"))
            assert len((await look.execute(sa.select(projects.c.id))).all()) == before
        async with store.glance() as look:
            assert len((await look.execute(sa.select(projects.c.id))).all()) == before + 1
