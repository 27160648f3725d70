"""The queries on chunk rows, and that each of them uses an index of the database."""

from collections.abc import Callable
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from findspot.errors import Failure
from findspot.models import NamespaceKey, documents_namespace, table_namespace
from findspot.store import chunks as rows
from findspot.store import found_chunks
from findspot.store import gone_chunks as gone_rows
from findspot.store import index_states as states
from findspot.store.database import Store
from findspot.store.schema import chunks, documents, gone_chunks, index_states, projects, tables

MANY = 1200  # more than fit into one statement or one part of an answer
PROJECT = 1
NAMESPACE = documents_namespace(PROJECT)


@pytest.fixture
async def filled(store: Store) -> Store:
    """A project with two documents and a table; chunks of the documents in turn, every tenth not in the engine."""
    async with store.write() as connection:
        await connection.execute(sa.insert(projects), {"name": "p"})
        new = {"project_id": PROJECT, "title": "t", "type": "d", "format": "text", "revision": 1, "content": b"x"}
        await connection.execute(sa.insert(documents), [new, new])
        table = {"project_id": PROJECT, "name": "t", "revision": 1, "size": 1, "text_id": 1}
        await connection.execute(sa.insert(tables), table)
        await rows.insert(connection, [chunk(number, document_id=1 + number % 2) for number in range(MANY)])
        nodes = [chunk(MANY + number, table_id=1, json_pointer=f"/{number // 2}") for number in range(6)]
        await rows.insert(connection, nodes)
        every_tenth = sa.select(chunks.c.id).where(~chunks.c.turbopuffer_doc_id.like("d%0"))
        await connection.execute(sa.update(chunks).where(chunks.c.id.in_(every_tenth)).values(indexed=True))
    return store


def chunk(number: int, **source: Any) -> rows.NewChunk:
    return rows.NewChunk(
        table_id=None,
        document_id=None,
        json_pointer="",
        chunk_index=number % 2 if "table_id" in source else number,
        total_chunks=2,
        chunk_size=1000,
        chunk_overlap=100,
        char_start=0,
        char_end=5,
        content_hash="hash",
        turbopuffer_namespace=table_namespace(PROJECT, 1) if "table_id" in source else NAMESPACE,
        turbopuffer_doc_id=f"d{number}",
        node_length=0,
        context=None if "table_id" in source else "Title 标题\nHeading",
        chunk_text=f"te\u0301xt {number} 字 \0",
    )._replace(**source)


async def test_waiting_chunks_are_returned_in_order_and_in_pages(filled: Store) -> None:
    async with filled.read() as connection:
        first = await rows.waiting(connection, NAMESPACE, 0, 100)
        second = await rows.waiting(connection, NAMESPACE, first[-1].id, 100)
        found = [row.text for row in [*first, *second]]
        assert found == [f"te\u0301xt {number} 字 \0" for number in range(0, MANY, 10)]
        assert sorted(await rows.waiting_ids(connection, NAMESPACE)) == [row.id for row in [*first, *second]]
        assert len(await rows.every(connection, NAMESPACE, first[-1].id, 10_000)) == MANY - first[-1].id


async def test_chunks_of_a_source_that_waits_after_an_error_are_not_returned(filled: Store) -> None:
    async with filled.write() as connection:
        await states.fail(connection, states.is_document(1), Failure("E", "x"), even_pending=True)
        assert await rows.waiting(connection, NAMESPACE, 0, 1000) == []
        assert len(await rows.waiting(connection, table_namespace(PROJECT, 1), 0, 1000)) == 1
        await states.fail(connection, states.is_table(1), Failure("E", "x"), even_pending=True)
        assert await rows.waiting(connection, table_namespace(PROJECT, 1), 0, 1000) == []
        await rows.mark(connection, [2], indexed=False)
        assert [row.document_id for row in await rows.waiting(connection, NAMESPACE, 0, 1000)] == [2]


async def test_any_number_of_chunks_is_marked_counted_and_deleted(filled: Store) -> None:
    async with filled.write() as connection:
        everything = await rows.ids(connection, NAMESPACE)
        assert len(everything) == MANY
        names = [NAMESPACE, table_namespace(PROJECT, 1), "project_1_table_2"]
        assert await rows.counts(connection, names) == {NAMESPACE: MANY, names[1]: 6}
        assert await rows.counts_waiting(connection, names) == {NAMESPACE: MANY // 10, names[1]: 1}
        await rows.mark(connection, everything, indexed=True)
        assert await rows.waiting_ids(connection, NAMESPACE) == []
        assert await rows.existing(connection, [*everything, 999_999]) == set(everything)
        await rows.delete(connection, everything)
        assert await gone_rows.to_forget(connection, NAMESPACE, MANY * 2) == sorted(everything)
        assert await gone_rows.namespaces_to_forget(connection) == [NAMESPACE]
        await gone_rows.forgotten(connection, everything)
        assert await gone_rows.namespaces_to_forget(connection) == []


async def test_the_nodes_of_a_table_are_listed_and_deleted_as_a_whole(filled: Store) -> None:
    async with filled.write() as connection:
        nodes = [node async for part in rows.nodes_of(connection, 1) for node in part]
        assert sorted(nodes) == [(f"/{number}", "hash", 1000, 100) for number in range(3)]
        await rows.delete_nodes(connection, 1, [node for node in nodes if node[0] != "/1"])
        left = (await connection.execute(sa.select(chunks.c.json_pointer).where(chunks.c.table_id == 1))).scalars()
        assert list(left) == ["/1", "/1"]
        assert len((await connection.execute(sa.select(gone_chunks))).all()) == 4


async def test_a_found_chunk_comes_with_the_current_state_of_its_source(filled: Store) -> None:
    async with filled.write() as connection:
        await connection.execute(sa.update(documents).where(documents.c.id == 2).values(revision=5, title="new"))
        await states.set_indexed_revision(connection, states.is_document(2), 4, is_current=False)
        table_chunk = (await rows.ids(connection, table_namespace(PROJECT, 1)))[0]
        found = await connection.run_sync(found_chunks.found, [2, table_chunk, 999_999])
    assert set(found) == {2, table_chunk}
    assert (found[2].revision, found[2].indexed_revision, found[2].title) == (5, 4, "new")
    assert (found[table_chunk].revision, found[table_chunk].title) == (1, None)


async def test_a_source_is_ready_when_none_of_its_chunks_waits(filled: Store) -> None:
    async with filled.write() as connection:
        await connection.execute(sa.update(index_states).values(status="indexing"))
        for key, ready in ((NamespaceKey(PROJECT, None), [(2, None)]), (NamespaceKey(PROJECT, 1), [(2, None)])):
            await states.mark_ready(connection, key)
            assert await _ready(connection) == ready
        await rows.mark(connection, await rows.waiting_ids(connection, table_namespace(PROJECT, 1)), indexed=True)
        await states.mark_ready(connection, NamespaceKey(PROJECT, 1))
        assert await _ready(connection) == [(2, None), (None, 1)]


async def _ready(connection: AsyncConnection) -> list[tuple[int | None, int | None]]:
    query = sa.select(index_states.c.document_id, index_states.c.table_id).where(index_states.c.status == "ready")
    return [(row[0], row[1]) for row in await connection.execute(query.order_by(index_states.c.id))]


async def test_each_failure_waits_longer_and_an_edit_ends_the_wait(filled: Store) -> None:
    async with filled.write() as connection:
        await states.set_indexed_revision(connection, states.is_document(1), 1, is_current=True)
        pauses = []
        for attempt in range(1, 4):
            await states.fail(connection, states.is_document(1), Failure("E", "unavailable"))
            state = await states.of_document(connection, 1)
            assert state is not None
            assert state.retry_at is not None
            assert (state.status, state.last_error, state.attempts) == ("error", "E: unavailable", attempt)
            pauses.append(state.retry_at)
            assert not state.is_due(state.updated_at)
        assert pauses == sorted(pauses)
        await connection.execute(sa.update(documents).where(documents.c.id == 1).values(revision=2))
        await states.fail(connection, states.is_document(1), Failure("E", "unavailable"))
        state = await states.of_document(connection, 1)
        assert state is not None
        assert (state.status, state.attempts) == ("pending", 0)


QUERIES: dict[str, Callable[[Any], Any]] = {
    "found": lambda connection: connection.run_sync(found_chunks.found, range(1, 40)),
    "changed_at": lambda connection: connection.run_sync(found_chunks.changed_at, PROJECT, range(1, 40)),
    "texts": lambda connection: connection.run_sync(found_chunks.texts, range(1, 40)),
    "waiting": lambda connection: rows.waiting(connection, NAMESPACE, 5, 100),
    "waiting_ids": lambda connection: rows.waiting_ids(connection, NAMESPACE),
    "every": lambda connection: rows.every(connection, NAMESPACE, 5, 100),
    "ids": lambda connection: rows.ids(connection, NAMESPACE),
    "counts": lambda connection: rows.counts(connection, [NAMESPACE]),
    "counts_waiting": lambda connection: rows.counts_waiting(connection, [NAMESPACE]),
    "any_indexed": lambda connection: rows.any_indexed(connection, NAMESPACE),
    "of_documents": lambda connection: rows.of_documents(connection, [1, 2]),
    "changed_between": lambda connection: found_chunks.changed_between(connection, 1, 1, 4, 10),
    "to_forget": lambda connection: gone_rows.to_forget(connection, NAMESPACE, 10),
    "due_namespaces": states.due_namespaces,
    "next_retry": states.next_retry,
    "pending_documents": lambda connection: states.pending_documents(connection, PROJECT, 10, 1000),
    "mark_ready": lambda connection: states.mark_ready(connection, NamespaceKey(PROJECT, None)),
    "of_project": lambda connection: states.of_project(connection, PROJECT),
}


class Explaining:
    """A connection that notes how SQLite goes about each query."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection
        self._asked: list[Any] = []

    def stream(self, query: Any, **options: Any) -> Any:
        self._asked.append(query)
        return self._connection.stream(query, **options)

    async def execute(self, query: Any, values: Any = None) -> Any:
        self._asked.append(query.params(values) if values else query)
        return await self._connection.execute(query, values)

    async def run_sync(self, question: Any, *arguments: Any) -> Any:
        def noted(_: Any, __: Any, statement: str, values: Any, *___: Any) -> None:
            parts = statement.split("?")
            self._asked.append("".join(f"{part}{value}" for part, value in zip(parts, (*values, ""), strict=True)))

        sa.event.listen(self._connection.sync_connection, "before_cursor_execute", noted)
        return await self._connection.run_sync(question, *arguments)

    async def plans(self) -> list[str]:
        steps: list[str] = []
        for query in list(self._asked):
            text = query
            if not isinstance(query, str):
                text = query.compile(dialect=self._connection.dialect, compile_kwargs={"literal_binds": True})
            found = await self._connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {text}")
            steps += [row.detail for row in found]
        return steps


@pytest.mark.parametrize("database_url", [None], ids=["sqlite"])
@pytest.mark.parametrize("name", list(QUERIES))
async def test_no_query_reads_a_whole_table(filled: Store, name: str) -> None:
    async with filled.write() as connection:
        explaining = Explaining(connection)
        await QUERIES[name](explaining)
        plans = await explaining.plans()
    assert plans
    scanned = [step for step in plans if step.startswith("SCAN") and not step.startswith("SCAN anon_")]
    assert not scanned, plans  # a subquery, `anon_1`, is read as a whole, and its own steps are in the plan too
    if name.startswith("waiting"):
        assert any("ix_chunks_waiting" in step for step in plans), plans
