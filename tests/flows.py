"""Shared by tests of the index and of searches: sources, an embedder that fails on demand, an engine to watch."""

import asyncio
import hashlib
import json
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import sqlalchemy as sa

from findspot.app import App
from findspot.context import Context, embedded_text
from findspot.embedding.calibration import Calibration
from findspot.embedding.protocol import Vector, Vectors, refused
from findspot.engines.opening import open_engine
from findspot.engines.protocol import LocalFiles, Within
from findspot.errors import FindspotError
from findspot.indexing.status import Problem
from findspot.models import OWNER, Document, NamespaceKey, Table
from findspot.search import Found, Page, SearchRequest, Strategy
from findspot.settings import Settings
from findspot.store import index_states as states
from findspot.store import projects
from findspot.store.process_schema import leases
from findspot.store.schema import chunks, index_states, tools

PATIENCE_S = 120.0
TITLE = "t"
PARAGRAPHS = (
    "The library opens at nine and closes at six",
    "Library cards are free for residents",
    "圖書館九點開門，居民免費辦理借書證",
    "The swimming pool is closed on Mondays",
    "Pool and library share one car park 停车场 🚗",
)


async def read_table(app: App, table_id: int, pointer: str = "") -> tuple[Table, bytes]:
    """Return a table and the JSON text of its value at a pointer."""
    async with app.tables.reading(table_id, pointer) as (table, text):
        return table, b"".join(text)


MIXED = (
    "The river runs past the mill. " * 3,
    "河水流过磨坊。臺灣的圖書館很安靜。",
    "mixed 中英 text with 👩‍👩‍👧 family and 🇨🇳 flag",
    "e\u0301 combining n\u0303 marks — a\u0308 o\u0302",
)


class FakeEmbedder:
    """An embedder that hashes words. It records its calls, and fails on demand."""

    id = "fake"
    batch = 8
    calibration = Calibration(10, -3)
    vector_weight = 0.25
    is_quick = True
    word_table = None

    def __init__(self, fingerprint: str = "one", dimension: int = 64) -> None:
        self.fingerprint = fingerprint
        self.dimension = dimension
        self.asked: list[str] = []
        self.refuses = "\0"  # texts with this in them are refused
        self.fails_on = "\0"  # and a call with this in it fails as if the service were unavailable
        self.query_error: FindspotError | None = None
        self.open = threading.Event()  # documents wait for it
        self.open.set()

    def documents(self, texts: Sequence[str], *, soon: bool = False) -> Vectors:
        if not self.open.wait(PATIENCE_S):
            raise TimeoutError("no one opened the embedder")
        if any(self.fails_on in text for text in texts):
            raise FindspotError("EMBEDDING_UNAVAILABLE", "The service is unavailable.")
        for index, text in enumerate(texts):
            if self.refuses in text:
                raise refused(index, "it is not to be read.")
        self.asked += texts
        return np.stack([self._vector(text) for text in texts])

    def query(self, text: str) -> Vector:
        if self.query_error is not None:
            raise self.query_error
        return self._vector(text)

    def knows(self, text: str) -> bool:
        return True

    def close(self) -> None:
        self.open.set()

    def _vector(self, text: str) -> Vector:
        vector: npt.NDArray[np.float32] = np.zeros(self.dimension, np.float32)
        for word in text.lower().split():
            vector[int.from_bytes(hashlib.sha256(word.encode()).digest()[:4]) % self.dimension] += 1
        length = float(np.linalg.norm(vector))
        return vector / np.float32(length) if length else vector


class Watched:
    """An engine, or its local files, that forwards every call. A test may put a call of its own into `instead`."""

    def __init__(self, engine: Any, instead: dict[str, Callable[..., Any]] | None = None) -> None:
        self.engine = engine
        self.instead: dict[str, Callable[..., Any]] = {} if instead is None else instead

    def __getattr__(self, name: str) -> Any:
        return self.instead.get(name) or getattr(self.engine, name)

    @property
    def files(self) -> Any:
        return None if self.engine.files is None else Watched(self.engine.files, self.instead)


def use(monkeypatch: pytest.MonkeyPatch, embedder: FakeEmbedder | None = None) -> None:
    """Have every app that is opened from now on use this embedder, and an engine that can be watched."""
    if embedder is not None:
        monkeypatch.setattr("findspot.runtime.embeddings.open_embedder", lambda settings: embedder)
    monkeypatch.setattr("findspot.app.open_engine", open_watched)


def open_watched(settings: Settings, identity: str, catalog: Any = None) -> Watched:
    return Watched(open_engine(settings, identity, catalog))


def watched(app: App) -> Watched:
    assert isinstance(app.engine, Watched)
    return app.engine


def files(app: App) -> LocalFiles:
    assert app.engine.files is not None
    return app.engine.files


# ── sources ──


async def make_project(app: App, name: str = "p") -> int:
    async with app.store.write() as connection:
        return (await projects.create(connection, name)).id


def separate(*paragraphs: str) -> dict[str, Any]:
    """Return a TipTap document in which every paragraph is a passage: thematic breaks keep short ones apart."""
    content: list[dict[str, Any]] = []
    for paragraph in filter(None, paragraphs):
        content += [
            {"type": "paragraph", "content": [{"type": "text", "text": paragraph}]},
            {"type": "horizontalRule"},
        ]
    return {"type": "doc", "content": content}


async def make_document(app: App, project_id: int, *paragraphs: str, title: str = TITLE) -> Document:
    """Create a document in which every paragraph is a passage."""
    body = {"title": title, "format": "tiptap", "content": separate(*paragraphs)}
    return await app.documents.create(project_id, json.dumps(body).encode())


async def save(app: App, document_id: int, *paragraphs: str) -> Document:
    body = json.dumps({"content": separate(*paragraphs)}).encode()
    return (await app.documents.save(document_id, body, OWNER)).document


def embedded(*paragraphs: str, title: str = TITLE) -> list[str]:
    """Return what the embedder is asked for when a document with these paragraphs is indexed."""
    return [embedded_text(Context(title), each) for each in paragraphs]


async def text_of(app: App, document_id: int) -> str:
    _, shown = await app.documents.read(document_id)
    return str(json.loads(b"{" + bytes(shown) + b"}")["text"])


async def make_table(app: App, project_id: int, data: Any) -> Table:
    return await app.tables.create(project_id, json.dumps({"name": "t", "data": data}).encode())


async def add_tool(app: App, table: Table, pointer: str = "", **config: int) -> int:
    values = {
        "project_id": table.project_id,
        "table_id": table.id,
        "type": "search",
        "name": "s",
        "description": "",
        "json_pointer": pointer,
        "metadata": {},
        "search_config": {"chunk_threshold": 1, "chunk_size": 1000, "chunk_overlap": 100} | config,
    }
    async with app.store.write() as connection:
        tool_id = (await connection.execute(sa.insert(tools).returning(tools.c.id), values)).scalar_one()
        await states.request(connection, table.id)
    return int(tool_id)


async def remove_tool(app: App, table: Table, tool_id: int) -> None:
    async with app.store.write() as connection:
        await connection.execute(sa.delete(tools).where(tools.c.id == tool_id))
        await states.request(connection, table.id)


# ── looking ──


async def settle(app: App, *, errors: bool = False) -> None:
    """Wait until the index is at rest; with `errors`, sources may have failed."""
    unfinished = ("pending", "indexing") if errors else ("pending", "indexing", "error")

    async def done() -> bool:
        async with app.store.read() as connection:
            behind = sa.select(index_states.c.id).where(index_states.c.status.in_(unfinished)).limit(1)
            if (await connection.execute(behind)).first() is not None:
                return False
        return await app.index_status.is_at_rest()

    await until(app, done)


async def hold(app: App) -> None:
    """Stop the index worker when it has nothing left to do."""
    await settle(app)
    await app.index_worker.close()


async def rebuild(app: App, key: NamespaceKey) -> None:
    """Rebuild a namespace, and wait for the end."""
    await app.index_status.request_rebuild(key)

    async def done() -> bool:
        return not await app.index_status.is_rebuild_due(key.namespace)

    await until(app, done)


@asynccontextmanager
async def held_rebuild(app: App, namespace: str) -> AsyncIterator[None]:
    """Have a namespace rebuilt. The new index is complete, but replaces the old one only after the block."""
    engine, is_complete, released = watched(app), threading.Event(), threading.Event()

    def build(*arguments: Any) -> Any:
        made = engine.engine.build(*arguments)

        def switch() -> None:
            is_complete.set()
            assert released.wait(PATIENCE_S)
            made.switch()

        return Watched(made, {"switch": switch})

    engine.instead["build"] = build
    app.index_status.report(namespace, Problem.WRONG_FINGERPRINT)
    try:
        assert await asyncio.to_thread(is_complete.wait, PATIENCE_S)
        yield
    finally:
        released.set()
    await settle(app)


async def until(app: App, done: Callable[[], Any]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        await app.index_status.wait_until(done)


async def rows(app: App, **where: int) -> list[Any]:
    """Return the chunk rows, or those with these values, in order."""
    query = sa.select(chunks).where(*(chunks.c[name] == value for name, value in where.items()))
    async with app.store.read() as connection:
        return list(await connection.execute(query.order_by(chunks.c.chunk_index, chunks.c.id)))


def held(app: App, namespace: str) -> list[int]:
    """Return the chunks that the engine holds."""
    return [int(each) for each in app.engine.ids(namespace)]


async def lose(app: App, namespace: str, ids: Sequence[int]) -> None:
    """Delete chunks from the engine behind the worker's back, with the fence of its lease."""
    async with app.store.read() as connection:
        token = await connection.scalar(sa.select(leases.c.token).where(leases.c.namespace == namespace))
    await asyncio.to_thread(partial(app.engine.delete, namespace, ids, fence=token or 0))


def with_vector(app: App, namespace: str) -> list[int]:
    """Return the chunks that the engine holds with a vector."""
    ids, (_, dimension) = held(app, namespace), app.engine.kind(namespace)
    recall = app.engine.recall(namespace, None, np.ones(dimension, np.float32), limit=0, also=ids)
    return sorted(recall.vector_also)


async def state(app: App, source: Document | Table) -> Any:
    async with app.store.read() as connection:
        if isinstance(source, Document):
            return await states.of_document(connection, source.id)
        return await states.of_table(connection, source.id)


async def search(app: App, source: Document | Table, query: str, **more: Any) -> Found:
    """Search in the namespace of a source."""
    table_id = source.id if isinstance(source, Table) else None
    return await app.table_search.search(SearchRequest(source.project_id, query, table_id=table_id, **more))


async def find(
    app: App,
    project_id: int,
    query: str,
    strategy: str = "fts",
    page: int | None = None,
    *,
    cursor: str | None = None,
    document_ids: frozenset[int] | None = None,
    **more: Any,
) -> Page:
    """Return a page of a workspace search."""
    within = Within(document_ids=document_ids)
    request = SearchRequest(project_id, query, Strategy(strategy), within=within, **more)
    return await app.workspace_search.search(request, page, cursor)


async def texts(app: App, source: Document | Table, query: str, **more: Any) -> list[str]:
    """Return the texts of the hits. Keyword search is the default: every chunk is a hit of a vector search."""
    found = await search(app, source, query, **({"strategy": Strategy.KEYWORD} | more))
    return [hit.found.chunk.text for hit in found.hits]
