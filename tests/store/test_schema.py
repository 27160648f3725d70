"""The schema: the same from the migrations as from the definitions, on both databases, and what it enforces."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from findspot.errors import Failure
from findspot.store import index_states as states
from findspot.store import migrate
from findspot.store.database import Store
from findspot.store.schema import (
    bindings,
    changes,
    chunks,
    document_lines,
    documents,
    embedding_cache,
    endpoints,
    gone_chunks,
    import_files,
    index_states,
    keys,
    metadata,
    pieces,
    projects,
    replace_documents,
    replaces,
    tables,
    tools,
    versions,
)


async def add(connection: AsyncConnection, into: sa.Table, **values: Any) -> int:
    row = await connection.execute(sa.insert(into).returning(into.c.id), values)
    return int(row.scalar_one())


async def count(connection: AsyncConnection, of: sa.Table) -> int:
    return int((await connection.execute(sa.select(sa.func.count()).select_from(of))).scalar_one())


def a_chunk(table_id: int, **other: Any) -> dict[str, Any]:
    return {
        "table_id": table_id,
        "json_pointer": "/a",
        "chunk_index": 0,
        "total_chunks": 1,
        "chunk_size": 1000,
        "chunk_overlap": 100,
        "char_start": 0,
        "char_end": 3,
        "content_hash": "0" * 64,
        "turbopuffer_namespace": "project_1_table_1",
        "turbopuffer_doc_id": "1:a:0:0",
        "chunk_text": "字\0x",
        **other,
    }


def a_tool(project: int, table: int, name: str) -> dict[str, Any]:
    return {
        "project_id": project,
        "table_id": table,
        "type": "search",
        "name": name,
        "description": "",
        "json_pointer": "",
        "metadata": {"b": 1, "a": None},
        "search_config": {"top_k": 3},
    }


async def fill(connection: AsyncConnection) -> dict[str, int]:
    """A project with a row of everything it can own."""
    project = await add(connection, projects, name="p")
    table = await add(connection, tables, project_id=project, name="t", revision=1, size=1, text_id=1)
    document = await add(
        connection, documents, project_id=project, title="d", type="note", format="text", revision=1, content=b"x"
    )
    await add(connection, keys, project_id=project, name="k", role="read", hash="h", hint="fsk_")
    await connection.execute(sa.insert(pieces), {"table_id": table, "text_id": 1, "number": 0, "piece": b"1"})
    version = {"document_id": document, "reason": "manual", "actor": "owner", "title": "d", "format": "text"}
    first = await add(connection, versions, **version, word_count=1, content=b"x")
    await add(connection, versions, **version, word_count=1, content=b"y", parent_id=first)
    for number, source in enumerate(({"document_id": document}, {"table_id": table})):
        await connection.execute(sa.insert(import_files), {"project_id": project, "path": str(number), **source})
    await connection.execute(sa.insert(document_lines), {"document_id": document, "number": 0, "lines": b"x"})
    rule = {"search": "x", "replace": "\0"}
    times = {"expires_at": datetime.now(UTC), "executed_at": datetime.now(UTC)}
    replace = {"project_id": project, "rule": rule, "state": "done", "documents": 1, "matches": 1, "actor": "owner"}
    replaced = {"replace_id": await add(connection, replaces, **replace, **times), "document_id": document}
    values = {"title": "d", "revision": 1, "first": 0, "matches": 1, "version_id": first}
    await connection.execute(sa.insert(replace_documents), replaced | values)
    tool = await add(connection, tools, **a_tool(project, table, "find"))
    endpoint = await add(connection, endpoints, project_id=project, name="e", key_hash="e")
    await connection.execute(
        sa.insert(bindings), {"endpoint_id": endpoint, "tool_id": tool, "tool_name": "find", "enabled": True}
    )
    await add(connection, chunks, **a_chunk(table))
    await connection.execute(sa.insert(changes), {"table_id": table, "revision": 1, "json_pointer": "/a"})
    return {"project": project, "table": table, "document": document, "tool": tool, "endpoint": endpoint}


@pytest.mark.scenario("002.data", "003.schema.chunks-table", "003.migration.chunks-table", "003.migration.tool-columns")
async def test_the_migrations_create_the_defined_schema(store: Store) -> None:
    def differences(connection: sa.Connection) -> Any:
        options = {"compare_type": True, "compare_server_default": True}
        return compare_metadata(MigrationContext.configure(connection, opts=options), metadata)

    async with store.read() as connection:
        assert await connection.run_sync(differences) == []
        assert await migrate.revision(connection) == migrate.HEAD


def test_the_newest_migration_is_the_one_the_code_expects() -> None:
    assert ScriptDirectory(str(migrate.FOLDER)).get_heads() == [migrate.HEAD]


@pytest.mark.scenario("003.migration.downgrade")
async def test_the_schema_can_be_removed_and_created_again(store: Store) -> None:
    def down_and_up(connection: sa.Connection) -> list[str]:
        from alembic import command
        from alembic.config import Config

        config = Config()
        config.set_main_option("script_location", str(migrate.FOLDER))
        config.attributes["connection"] = connection
        command.downgrade(config, "base")
        left = sa.inspect(connection).get_table_names()
        command.upgrade(config, "head")
        return left

    async with store.write() as connection:
        assert await connection.run_sync(down_and_up) == ["alembic_version"]
        await fill(connection)


async def test_an_upgrade_knows_the_files_of_documents_that_were_imported_before(store: Store) -> None:
    def at(revision: str) -> Callable[[sa.Connection], None]:
        def migrate_to(connection: sa.Connection) -> None:
            from alembic import command
            from alembic.config import Config

            config = Config()
            config.set_main_option("script_location", str(migrate.FOLDER))
            config.attributes["connection"] = connection
            move = command.downgrade if revision != "head" else command.upgrade
            move(config, revision)

        return migrate_to

    before = ScriptDirectory(str(migrate.FOLDER)).get_revision("0010").down_revision
    assert isinstance(before, str)
    async with store.write() as connection:
        await connection.run_sync(at(before))
        project = await add(connection, projects, name="p")
        table = {"project_id": project, "name": "t", "revision": 1, "size": 1, "text_id": 1, "path": "b.json"}
        table_id = await add(connection, tables, **table)
        document = {"project_id": project, "title": "d", "type": "note", "format": "text", "revision": 1}
        document_id = await add(connection, documents, **document, content=b"x", path="笔记/a.md")
        await connection.execute(sa.update(index_states).values(status="ready"))
        await connection.run_sync(at("head"))
        found = await connection.execute(sa.select(import_files).order_by(import_files.c.path))
        assert [(row.path, row.document_id, row.table_id, row.root, row.hash, row.missing) for row in found] == [
            ("b.json", None, table_id, None, None, False),
            ("笔记/a.md", document_id, None, None, None, False),
        ]
        states = await connection.execute(sa.select(index_states.c.document_id, index_states.c.status))
        assert {row.document_id: row.status for row in states} == {None: "ready", document_id: "pending"}


async def test_a_database_of_a_newer_findspot_is_refused_and_not_changed(
    store: Store, database_url: str | None, tmp_path: Any
) -> None:
    async with store.write() as connection:
        await connection.execute(sa.text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(Exception, match="newer Findspot"):
        await Store.open(database_url, tmp_path / "findspot.db")


async def test_deleting_a_project_deletes_everything_in_it(store: Store) -> None:
    async with store.write() as connection:
        ids = await fill(connection)
        await connection.execute(sa.delete(projects).where(projects.c.id == ids["project"]))
        left = {table.name: await count(connection, table) for table in metadata.sorted_tables}
    assert (left.pop("installation"), left.pop("gone_chunks")) == (1, 1)  # the engine has one chunk to forget
    assert not any(left.values()), left


async def test_creating_or_changing_a_source_requests_indexing(store: Store) -> None:
    async def states(connection: AsyncConnection) -> list[tuple[Any, ...]]:
        query = sa.select(index_states.c.table_id, index_states.c.document_id, index_states.c.status)
        return [tuple(row) for row in await connection.execute(query.order_by(index_states.c.id))]

    async with store.write() as connection:
        ids = await fill(connection)
        table, document = ids["table"], ids["document"]
        assert await states(connection) == [(table, None, "pending"), (None, document, "pending")]
        await connection.execute(sa.update(index_states).values(status="ready"))
        await connection.execute(sa.update(documents).values(title="another"))
        assert await states(connection) == [(table, None, "ready"), (None, document, "ready")]
        await connection.execute(sa.update(documents).values(revision=2))
        assert await states(connection) == [(table, None, "ready"), (None, document, "pending")]
        await connection.execute(sa.update(tables).values(revision=0))  # hidden: about to be deleted
        assert await states(connection) == [(table, None, "ready"), (None, document, "pending")]


async def test_every_deleted_chunk_is_recorded_for_the_engine(store: Store) -> None:
    async with store.write() as connection:
        ids = await fill(connection)
        chunk = (await connection.execute(sa.select(chunks.c.id))).scalar_one()
        await connection.execute(sa.delete(tables).where(tables.c.id == ids["table"]))
        gone = (await connection.execute(sa.select(gone_chunks))).one()
    assert tuple(gone) == (chunk, "project_1_table_1")


@pytest.mark.scenario("003.chunks-table.table-id")
async def test_deleting_a_table_deletes_its_text_tools_chunks_and_state(store: Store) -> None:
    async with store.write() as connection:
        ids = await fill(connection)
        await connection.execute(sa.delete(tables).where(tables.c.id == ids["table"]))
        for gone in (pieces, tools, bindings, chunks, changes):
            assert await count(connection, gone) == 0
        assert await count(connection, documents) == 1
        states = (await connection.execute(sa.select(index_states.c.document_id))).scalars().all()
    assert states == [ids["document"]]


@pytest.mark.scenario(
    "003.chunks-table.id",
    "003.chunks-table.chunk-text",
    "003.chunks-table.namespace",
    "003.chunks-table.timestamps",
    "003.schema.search-config-column",
    "003.schema.tool-namespace",
)
async def test_rows_keep_their_values_and_timestamps(store: Store) -> None:
    async with store.write() as connection:
        ids = await fill(connection)
        chunk = (await connection.execute(sa.select(chunks))).one()
        tool = (await connection.execute(sa.select(tools).where(tools.c.id == ids["tool"]))).one()
        await connection.execute(sa.update(chunks).values(total_chunks=2))
        later = (await connection.execute(sa.select(chunks))).one()
    assert isinstance(chunk.id, int)
    assert chunk.chunk_text == "字\0x"
    assert chunk.turbopuffer_namespace == "project_1_table_1"
    assert abs(chunk.created_at - chunk.updated_at) < timedelta(seconds=1)
    assert chunk.created_at.utcoffset().total_seconds() == 0
    assert later.updated_at > chunk.updated_at
    assert list(tool.metadata) == ["b", "a"]
    assert not [column for column in tools.c if "namespace" in column.name]
    assert tool.search_config == {"top_k": 3}


@pytest.mark.scenario("003.chunks-table.doc-id", "003.migration.constraints")
async def test_the_database_enforces_unique_values(store: Store) -> None:
    async def refused(into: sa.Table, **values: Any) -> None:
        with pytest.raises(IntegrityError):
            async with store.write() as connection:
                await connection.execute(sa.insert(into), values)

    async with store.write() as connection:
        ids = await fill(connection)
        table = ids["table"]
        await add(connection, chunks, **a_chunk(table, turbopuffer_doc_id="other size", chunk_size=500))
        await add(connection, chunks, **a_chunk(table, turbopuffer_doc_id="other overlap", chunk_overlap=0))
        twin = await add(connection, tools, **a_tool(ids["project"], table, "find"))
        rename = await add(connection, tools, **a_tool(ids["project"], table, "look"))
        bound = {"endpoint_id": ids["endpoint"], "tool_id": rename, "tool_name": "look", "enabled": True}
        await connection.execute(sa.insert(bindings), bound)
    await refused(chunks, **a_chunk(table, chunk_index=1))  # the engine's id is taken
    await refused(chunks, **a_chunk(table, turbopuffer_doc_id="same place"))
    await refused(chunks, **a_chunk(table, turbopuffer_doc_id="empty", json_pointer="/b", char_end=0))
    await refused(chunks, **a_chunk(999_999, turbopuffer_doc_id="no table"))
    await refused(chunks, **{**a_chunk(table, turbopuffer_doc_id="two sources"), "document_id": ids["document"]})
    await refused(keys, project_id=ids["project"], name="k", role="owner", hash="x", hint="")
    await refused(bindings, endpoint_id=ids["endpoint"], tool_id=twin, tool_name="find", enabled=True)
    with pytest.raises(IntegrityError):
        async with store.write() as connection:
            await connection.execute(sa.update(tools).where(tools.c.id == rename).values(name="find"))
    async with store.write() as connection:
        await connection.execute(sa.update(tools).where(tools.c.id == rename).values(name="seek"))
        names = (await connection.execute(sa.select(bindings.c.tool_name).order_by(bindings.c.tool_name))).scalars()
        assert list(names) == ["find", "seek"]


async def test_a_cached_vector_is_identified_by_fingerprint_and_text(store: Store) -> None:
    row = {"fingerprint": "model-1", "text_hash": b"\x00" * 32, "vector": b"\x01\x02"}
    async with store.write() as connection:
        await connection.execute(
            sa.insert(embedding_cache), [row, {**row, "fingerprint": "model-2", "vector": b"\x03"}]
        )
        query = sa.select(embedding_cache.c.vector).where(embedding_cache.c.fingerprint == "model-1")
        assert (await connection.execute(query)).scalars().all() == [b"\x01\x02"]
    with pytest.raises(IntegrityError):
        async with store.write() as connection:
            await connection.execute(sa.insert(embedding_cache), row)


@pytest.mark.scenario(
    "003.chunks-table.index-pointer",
    "003.chunks-table.index-content-hash",
    "003.chunks-table.index-namespace",
    "003.query-plan.composite-index",
    "003.query-plan.doc-id-index",
    "003.migration.indexes",
)
async def test_every_query_of_chunks_has_an_index(store: Store) -> None:
    wanted = (
        ("table_id = 1 AND json_pointer = '/a'", "uq_chunks_place"),
        ("table_id = 1 AND json_pointer = '/a' AND content_hash = 'x'", ""),  # either of its two indexes
        ("content_hash = 'x'", "ix_chunks_content_hash"),
        ("turbopuffer_namespace = 'x'", "ix_chunks_turbopuffer_namespace"),
        ("turbopuffer_doc_id = 'x'", "uq_chunks_turbopuffer_doc_id"),
    )
    explain: Callable[[str], str] = "EXPLAIN QUERY PLAN {}".format if store.kind == "sqlite" else "EXPLAIN {}".format
    async with store.read() as connection:
        if store.kind == "postgresql":
            await connection.execute(sa.text("SET LOCAL enable_seqscan = off"))
        for where, index in wanted:
            rows = await connection.execute(sa.text(explain(f"SELECT id FROM chunks WHERE {where}")))
            plan = " ".join(str(column) for row in rows for column in row)
            assert index in plan or "sqlite_autoindex_chunks" in plan, (where, plan)
            assert "SCAN chunks" not in plan
            assert "Seq Scan" not in plan


async def test_old_errors_of_sources_become_a_code_and_a_message(database_url: str | None, tmp_path: Path) -> None:
    store = Store.unprepared(database_url, tmp_path / "old.db")
    errors = ["EMBEDDING_UNAVAILABLE: The service: is unavailable.", "no code", None]
    async with store.write() as connection:
        await migrate.rebuild(connection, "0005")
        await connection.execute(sa.text("INSERT INTO projects (id, name, created_at) VALUES (1, 'p', '2026-01-01')"))
        for number, error in enumerate(errors, 1):
            await connection.execute(
                sa.text(
                    "INSERT INTO tables (id, project_id, name, revision, size, text_id, created_at, updated_at) "
                    "VALUES (:id, 1, 't', 1, 1, 1, '2026-01-01', '2026-01-01')"
                ),
                {"id": number},
            )
            values = {"id": number, "error": error}
            await connection.execute(
                sa.text("UPDATE index_states SET last_error = :error WHERE table_id = :id"), values
            )
    async with store.write() as connection:
        await migrate.upgrade(connection)
        found = [await states.of_table(connection, number) for number in (1, 2, 3)]
    await store.close()
    assert [each.last_error if each else "" for each in found] == [errors[0], "INTERNAL: no code", None]
    assert found[0] is not None
    assert found[0].error == Failure("EMBEDDING_UNAVAILABLE", "The service: is unavailable.")


async def test_an_upgrade_keeps_chunks_and_what_watches_over_them(database_url: str | None, tmp_path: Path) -> None:
    store = Store.unprepared(database_url, tmp_path / "old.db")
    everything = sa.select(chunks).order_by(chunks.c.id)
    async with store.write() as connection:
        await migrate.rebuild(connection, "0023")
        project = await add(connection, projects, name="p")
        table = await add(connection, tables, project_id=project, name="t", revision=1, size=1, text_id=1)
        for number in (1, 2, 3):
            last = await add(connection, chunks, **a_chunk(table, turbopuffer_doc_id=str(number), chunk_index=number))
        await connection.execute(sa.delete(chunks).where(chunks.c.id == last))
        before = (await connection.execute(everything)).all()
    async with store.write() as connection:
        await migrate.upgrade(connection)
    with pytest.raises(IntegrityError):
        async with store.write() as connection:
            await add(connection, chunks, **a_chunk(table, turbopuffer_doc_id="4", chunk_index=1))
    async with store.write() as connection:
        assert (await connection.execute(everything)).all() == before
        assert await add(connection, chunks, **a_chunk(table, turbopuffer_doc_id="4", chunk_index=4)) > last
        await connection.execute(sa.delete(tables))
        assert await count(connection, chunks) == 0
        assert await count(connection, gone_chunks) == 4
    await store.close()


def test_every_reference_has_an_index_so_that_deleting_reads_no_whole_table() -> None:
    for table in metadata.tables.values():
        indexed = [tuple(index.columns.keys()) for index in table.indexes]
        keys = (each for each in table.constraints if isinstance(each, sa.PrimaryKeyConstraint | sa.UniqueConstraint))
        indexed += [tuple(each.columns.keys()) for each in keys]
        for reference in table.foreign_key_constraints:
            first = next(iter(reference.columns.keys()))
            assert any(each[0] == first for each in indexed), (table.name, first)
