"""Chunks whose text was replaced, while other transactions change them."""

import asyncio

import pytest
import sqlalchemy as sa

from findspot.models import documents_namespace
from findspot.store import chunks as rows
from findspot.store import replaced_chunks
from findspot.store.database import Store
from findspot.store.schema import chunks, documents, index_states, projects
from tests.flows import PATIENCE_S

_PID = sa.text("SELECT pg_backend_pid()")
_WAITS = sa.text("SELECT count(*) FROM pg_locks WHERE pid = :pid AND NOT granted")


@pytest.fixture
async def filled(store: Store) -> Store:
    """A document at revision 3, with two chunks of revision 2: the first is indexed, the second waits."""
    async with store.write() as connection:
        await connection.execute(sa.insert(projects), {"name": "p"})
        new = {"project_id": 1, "title": "t", "type": "d", "format": "text", "revision": 3, "content": b"x"}
        await connection.execute(sa.insert(documents), new)
        await rows.insert(connection, [_chunk(number) for number in range(2)])
        await rows.mark(connection, [1], indexed=True)
        await connection.execute(sa.update(index_states).values(indexed_revision=2))
    return store


def _chunk(number: int) -> rows.NewChunk:
    return rows.NewChunk(
        table_id=None,
        document_id=1,
        json_pointer="",
        chunk_index=number,
        total_chunks=2,
        chunk_size=0,
        chunk_overlap=0,
        char_start=0,
        char_end=2,
        content_hash="hash",
        turbopuffer_namespace=documents_namespace(1),
        turbopuffer_doc_id=f"d{number}",
        node_length=0,
        context=None,
        chunk_text="灯塔",
    )


async def last_revisions(store: Store) -> dict[int, int | None]:
    async with store.read() as connection:
        return {row[0]: row[1] for row in await connection.execute(sa.select(chunks.c.id, chunks.c.last_revision))}


async def test_an_indexed_chunk_is_kept_with_its_revision_and_one_that_waits_is_deleted(filled: Store) -> None:
    async with filled.write() as connection:
        await replaced_chunks.replace_passages(connection, [1, 2])
    assert await last_revisions(filled) == {1: 2}


@pytest.mark.parametrize("database_url", ["postgres"], indirect=True)
async def test_a_chunk_that_is_being_marked_as_indexed_does_not_pass_for_the_new_revision(filled: Store) -> None:
    pid: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def replace() -> None:
        async with filled.write() as connection:
            pid.set_result((await connection.execute(_PID)).scalar_one())
            await replaced_chunks.replace_passages(connection, [2])

    async with asyncio.timeout(PATIENCE_S):
        async with filled.write() as connection:
            await rows.mark(connection, [2], indexed=True)
            replacing = asyncio.create_task(replace())
            while not (await connection.execute(_WAITS, {"pid": await pid})).scalar_one():
                pass
        await replacing
    assert await last_revisions(filled) == {1: None, 2: 2}


async def test_a_replaced_chunk_whose_text_has_come_back_is_not_deleted(filled: Store) -> None:
    async with filled.write() as connection:
        await rows.mark(connection, [2], indexed=True)
        await replaced_chunks.replace_passages(connection, [1, 2])
        await rows.move(connection, [{"which": 1, "start": 0, "end": 2, "index": 0, "total": 1}])
        await replaced_chunks.delete(connection, [1, 2])
        assert await replaced_chunks.lock(connection, [1, 2]) == {1}
    assert await last_revisions(filled) == {1: None}
