"""Every query of every route, and of the index worker that follows, uses an index of PostgreSQL when tables are large.

The statements are those that the API really sends. The planner chooses by the number of rows, so the tables are filled
with rows of other projects first: 60,000 chunks in `make test`, a million in `make torture`. It chooses the same plans.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import psycopg
import pytest
import sqlalchemy as sa

from findspot.settings import Settings
from tests.flows import FakeEmbedder, settle
from tests.http.calls import CALLS
from tests.http.world import World, app_behind, make_world, open_api, with_key

CHUNKS = 20_000 * int(os.environ.get("FINDSPOT_TORTURE", "3"))
PER_PROJECT = 40  # chunks
FIRST = 1000  # the first id of a row that is filled in

SHOWN = 300  # characters of a statement in the message of a failure

DEFAULT_TIMES = """\
SELECT format('ALTER TABLE %I ALTER COLUMN %I SET DEFAULT now()', table_name, column_name)
FROM information_schema.columns WHERE table_schema = 'public' AND column_name IN ('created_at', 'updated_at')"""

# One project has 2 documents of 10 chunks, and a table of 20 chunks. Triggers do not run.
FILL = f"""
SET session_replication_role = replica;
INSERT INTO projects (id, name)
  SELECT id, 'p' FROM generate_series({FIRST}, {FIRST} + {CHUNKS // PER_PROJECT} - 1) AS id;
INSERT INTO keys (project_id, name, role, hash, hint) SELECT id, 'k', 'read', id::text, 'h' FROM projects;
INSERT INTO sessions (hash, expires_at) SELECT id::text, now() + id * interval '1 day' FROM projects;
INSERT INTO endpoints (id, project_id, name, key_hash) SELECT id, id, 'e', id::text FROM projects WHERE id >= {FIRST};
INSERT INTO tables (id, project_id, name, revision, size, text_id, path)
  SELECT id, id, 't', 3, 2, 1, 'a.json' FROM projects WHERE id >= {FIRST};
INSERT INTO pieces (table_id, text_id, number, piece)
  SELECT id, 1, number, '[1]' FROM tables, generate_series(0, 9) AS number WHERE id >= {FIRST};
INSERT INTO changes (table_id, revision, json_pointer)
  SELECT id, 2, '/' || number FROM tables, generate_series(0, 9) AS number WHERE id >= {FIRST};
INSERT INTO tools (id, project_id, table_id, type, name, description, json_pointer, metadata)
  SELECT id, id, id, 'search', 't', '', '', '{{}}' FROM projects WHERE id >= {FIRST};
INSERT INTO bindings (endpoint_id, tool_id, tool_name, enabled)
  SELECT id, id, 't', true FROM projects WHERE id >= {FIRST};
INSERT INTO retrieval_configs (project_id, top_k, min_score, max_tokens, redaction_patterns, redaction_allowed, actor)
  SELECT id, 5, 0, 100, '[]', '[]', 'a' FROM projects, generate_series(1, 5) WHERE id >= {FIRST};
INSERT INTO documents (id, project_id, title, type, format, revision, path, content)
  SELECT {FIRST} + 2 * (id - {FIRST}) + number, id, 't', 'd', 'text', 3, 'a' || number, 'x'
  FROM projects, generate_series(0, 1) AS number WHERE id >= {FIRST};
INSERT INTO import_files (project_id, path, document_id, root)
  SELECT project_id, path, id, 'r' FROM documents WHERE id >= {FIRST};
INSERT INTO document_lines (document_id, number, lines) SELECT id, 0, 'x' FROM documents WHERE id >= {FIRST};
INSERT INTO versions (id, document_id, reason, actor, title, format, word_count, content)
  SELECT id, id, 'manual', 'a', 't', 'text', 1, 'x' FROM documents WHERE id >= {FIRST};
INSERT INTO replaces (id, project_id, rule, state, documents, matches, actor, expires_at)
  SELECT id, id, '{{}}', 'done', 2, 2, 'a', now() FROM projects WHERE id >= {FIRST};
INSERT INTO replace_documents (replace_id, document_id, title, revision, first, matches, version_id)
  SELECT project_id, id, 't', 1, 0, 1, id FROM documents WHERE id >= {FIRST};
INSERT INTO index_states (project_id, document_id, status, indexed_revision, done, total)
  SELECT project_id, id, 'ready', 3, 10, 10 FROM documents WHERE id >= {FIRST};
INSERT INTO index_states (project_id, table_id, status, indexed_revision, done, total)
  SELECT project_id, id, 'ready', 3, 20, 20 FROM tables WHERE id >= {FIRST};
INSERT INTO namespace_states (namespace, project_id, phase, fingerprint, done, total, rate)
  SELECT 'project_' || id || '_documents', id, 'in_service', 'f', 0, 0, 0 FROM projects WHERE id >= {FIRST};
INSERT INTO chunks (document_id, json_pointer, chunk_index, total_chunks, chunk_size, chunk_overlap, char_start,
    char_end, content_hash, turbopuffer_namespace, turbopuffer_doc_id, indexed, context, chunk_text)
  SELECT id, '', number, 10, 0, 0, number, number + 1, md5(id || '/' || number),
    'project_' || project_id || '_documents', 'd' || id || '/' || number, true, 't', 'x'
  FROM documents, generate_series(0, 9) AS number WHERE id >= {FIRST};
INSERT INTO chunks (table_id, json_pointer, chunk_index, total_chunks, chunk_size, chunk_overlap, char_start,
    char_end, content_hash, turbopuffer_namespace, turbopuffer_doc_id, indexed, chunk_text)
  SELECT id, '/' || number, 0, 1, 1000, 100, 0, 1, md5(id || '/' || number),
    'project_' || project_id || '_table_' || id, 't' || id || '/' || number, true, 'x'
  FROM tables, generate_series(0, 19) AS number WHERE id >= {FIRST};
INSERT INTO embedding_cache (fingerprint, text_hash, vector)
  SELECT 'f', turbopuffer_doc_id::bytea, 'x' FROM chunks WHERE id % 4 = 0;
ANALYZE"""

# Queues that the worker empties. They are filled in a transaction that no one else sees.
FILL_QUEUES = """
SET LOCAL session_replication_role = replica;
INSERT INTO gone_chunks (chunk_id, namespace)
  SELECT id + 1000000000, turbopuffer_namespace FROM chunks WHERE id % 4 = 0;
ANALYZE gone_chunks"""

# What may read all rows of a table, and why.
ALLOWED = {
    "projects": "GET /api/v1/projects lists them all",
    "pk_projects": "as above, in order",
    "index_requests": "the worker takes them all",
    "namespace_states": "a state of no namespace but `in_service` is rare, and only a wait for the end asks for it",
    "ix_chunks_waiting": "has no other chunks than those that wait",
    "ix_chunks_replaced": "has no other chunks than those that were replaced",
}
NOT_CALLED = {
    "GET /internal/backup": "reads everything",
    "GET /metrics": "adds up the chunks of all projects",
    "GET /internal/processes": "lists all processes, and counts what waits for the index in all projects",
    "GET /assets/{name}": "has no such file without a web client",
    "GET /api/v1/projects/{project_id}/status/events": "never ends; `status` sends the same queries",
}
TEXTS = [f"now 现在 number {number}" for number in range(40)]
SEARCH = "/api/v1/projects/{project_id}/search/query/strategy"
FILTERS: tuple[dict[str, Any], ...] = (
    {"types": ["document"]},
    {"pathPrefix": "notes/"},
    {"updatedAfter": "2020-01-01T00:00:00Z", "sort": "date", "counts": True},
    {"documentIds": [1, 2, 3], "perDocument": 1},
)


class Statements:
    """The statements that were sent, each with its parameters and what it was sent for."""

    def __init__(self) -> None:
        self.reason = ""
        self.found: dict[str, tuple[str, Any]] = {}

    def note(self, _: Any, __: Any, statement: str, parameters: Any, ___: Any, is_many: bool) -> None:
        if statement.lstrip().startswith(("SELECT", "INSERT", "UPDATE", "DELETE", "WITH")):
            self.found.setdefault(statement, (self.reason, parameters[0] if is_many else parameters))


@pytest.fixture
def statements() -> Iterator[Statements]:
    noted = Statements()
    sa.event.listen(sa.Engine, "before_cursor_execute", noted.note)
    yield noted
    sa.event.remove(sa.Engine, "before_cursor_execute", noted.note)


@pytest.fixture
def settings(embedder: FakeEmbedder, new_postgres_database: Callable[[], str], tmp_path: Path) -> Settings:
    """A database of its own, which is dropped afterwards: other tests need an empty one."""
    return Settings(data=tmp_path / "data", database_url=new_postgres_database(), port=0)


@pytest.fixture
async def world(settings: Settings) -> AsyncIterator[World]:
    """A small project with something of everything, in a database with many others."""
    async with open_api(settings) as owner:
        made = await make_world(owner)
        await asyncio.to_thread(fill, _address(settings))
        yield made


def fill(address: str) -> None:
    with psycopg.connect(address, autocommit=True) as connection:
        for (setting,) in connection.execute(DEFAULT_TIMES).fetchall():
            connection.execute(setting)
        _run(connection, FILL)


def _run(connection: psycopg.Connection[Any], statements: str) -> None:
    for each in statements.split(";\n"):
        connection.execute(each.encode())


def _address(settings: Settings) -> str:
    assert settings.database_url is not None
    return settings.database_url.get_secret_value()


async def use_everything(world: World, statements: Statements) -> None:
    """Call every route once, search in more ways, and let the worker follow each change."""
    last = [route for route in CALLS if route.startswith("DELETE")]
    async with with_key(world.owner, world.keys["mine admin"]) as admin:
        for route in [each for each in CALLS if each not in (*NOT_CALLED, *last)]:
            await use(world, statements, route, admin)
        statements.reason = "searches"
        await search_in_more_ways(world, admin)
        for route in reversed(last):  # the project in the end
            await use(world, statements, route, admin)


async def use(world: World, statements: Statements, route: str, admin: httpx2.AsyncClient) -> None:
    statements.reason = route
    answer = await world.call(route, admin if CALLS[route].of_a_project else world.owner)
    assert answer.status_code < 400, (route, answer.text)
    statements.reason = f"the worker after {route}"
    if not route.startswith("GET"):
        await settle(app_behind(world.owner))


async def search_in_more_ways(world: World, admin: httpx2.AsyncClient) -> None:
    """Search documents with filters and by pages, and a table by a tool while its index is behind."""
    path = SEARCH.format(**world.ids)
    for filters in FILTERS:
        assert (await admin.post(path, json={"query": "now", "strategy": "hybrid", **filters})).status_code == 200
    new = {"title": "d", "format": "text", "content": "\n\n".join(each * 40 for each in TEXTS)}
    assert (await admin.post(f"/api/v1/projects/{world.ids['project_id']}/documents", json=new)).status_code == 201
    await settle(app_behind(world.owner))
    page = (await admin.post(path, json={"query": "now", "strategy": "fts", "limit": 5})).json()
    more = {"query": "now", "strategy": "fts", "limit": 5, "cursor": page["cursor"], "page": 2}
    assert (await admin.post(path, json=more)).json()["results"]
    data, tool = f"/api/v1/tables/{world.ids['table_id']}/data", f"/api/v1/tools/{world.ids['tool_id']}"
    assert (await admin.patch(tool, json={"search_config": {"chunk_threshold": 1}})).status_code == 200
    for version in range(4):
        assert (await admin.put(data, json=[f"{text} {version}" for text in TEXTS])).status_code == 200
        assert (await admin.post(f"{tool}/call", json={"arguments": {"query": "now"}})).status_code == 200
    await settle(app_behind(world.owner))
    assert "现在" in (await admin.post(f"{tool}/call", json={"arguments": {"query": "now"}})).text


def whole_tables(plan: dict[str, Any], is_limited: bool = False) -> Iterator[str]:
    """Yield tables of which a plan reads all rows, and indexes of which it reads all entries."""
    kind = plan["Node Type"]
    if kind == "Seq Scan":
        yield plan["Relation Name"]
    elif "Index Name" in plan and "Index Cond" not in plan and not is_limited:
        yield plan["Index Name"]
    for each in plan.get("Plans", ()):
        yield from whole_tables(each, is_limited or kind == "Limit")


@pytest.mark.torture
async def test_every_query_of_every_route_and_of_the_worker_uses_an_index(
    settings: Settings, world: World, statements: Statements
) -> None:
    await use_everything(world, statements)
    wrong: list[tuple[str, str, str]] = []
    with psycopg.connect(_address(settings)) as connection:
        _run(connection, FILL_QUEUES)
        for statement, (reason, parameters) in statements.found.items():
            (plans,) = connection.execute(f"EXPLAIN (FORMAT JSON) {statement}".encode(), parameters).fetchone() or ()
            read = set(whole_tables(plans[0]["Plan"])) - ALLOWED.keys()
            wrong += [(each, reason, " ".join(statement.split())[:SHOWN]) for each in read]
        connection.rollback()
    assert len(statements.found) > 150
    assert not wrong
