"""The measurements of Findspot itself. Each step runs in its own process, so that memory can be measured.

`python -m bench.speed_steps` reads a step from standard input and writes the measurements, both as JSON.
"""

import asyncio
import io
import json
import os
import re
import sys
import time
import zipfile
from collections.abc import AsyncIterator, Coroutine, Iterator, Sequence
from contextlib import asynccontextmanager
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import sqlalchemy as sa

from bench import nearest
from bench.new_documents import OF_A_DOCUMENT, texts_of
from findspot.app import App, open_app
from findspot.content.import_batch import BodyInfo
from findspot.content.import_plan import ImportTarget
from findspot.engines.opening import open_engine
from findspot.engines.protocol import EVERYTHING, Within
from findspot.models import OWNER, NamespaceKey, documents_namespace, table_namespace
from findspot.search import Found, SearchRequest, Strategy
from findspot.server.api_process import tune_process
from findspot.settings import Settings
from findspot.store import documents as document_rows
from findspot.store import index_states as states
from findspot.store import projects
from findspot.store.database import Store
from findspot.store.schema import tools

T = TypeVar("T")
Result = dict[str, Any]

DOCUMENTS_AT_ONCE = 500  # in one archive
SHOWN = 10
TOGETHER = 4
FEWER = 100  # hybrid queries with a filter
TIMES = 20  # how often a document is added and deleted
SHARES = {"10 %": 10, "1 %": 100, "0.1 %": 1000}
BRANCHES = {"10 %": (10, 1), "1 %": (100, 3), "0.1 %": (1000, 5)}  # in a table: every 10th chunk from 1 on, etc.
PROJECT = 1
PATIENCE_S = 60


@asynccontextmanager
async def _opened(step: Result) -> AsyncIterator[App]:
    # With the shortest cache, every round embeds its queries again.
    async with open_app(Settings(data=Path(step["data"]), embedding_cache_ttl=1, log_level="error")) as app:
        yield app


# ── filling ──


async def fill(step: Result) -> Result:
    """Import archives of text files with 20 chunks each, and wait until all are indexed."""
    async with _opened(step) as app:
        async with app.store.write() as connection:
            await projects.create(connection, "speed")
        texts = _texts(step)
        began = time.perf_counter()
        number = 0
        while some := list(islice(texts, DOCUMENTS_AT_ONCE * OF_A_DOCUMENT)):
            source = await app.importing.open([_archive(some, number)], BodyInfo())
            async for _ in app.importing.run(ImportTarget(PROJECT, OWNER), source):
                pass
            number += DOCUMENTS_AT_ONCE
        imported = time.perf_counter() - began
        await _settled(app)
        seconds = time.perf_counter() - began
        held = await asyncio.to_thread(app.engine.status, documents_namespace(PROJECT))
        assert held.chunks == step["count"], f"{held.chunks:,} chunks were indexed, not {step['count']:,}"
        return {"imported_s": imported, "seconds": seconds, "bytes": held.bytes, "memory": _memory()}


def _texts(step: Result) -> Iterator[str]:
    with Path(step["texts"]).open(encoding="utf-8", newline="\n") as file:
        yield from map(json.loads, islice(file, step["count"]))


def _archive(texts: Sequence[str], first: int) -> bytes:
    body = io.BytesIO()
    with zipfile.ZipFile(body, "w") as archive:
        for at in range(0, len(texts), OF_A_DOCUMENT):
            name = f"{first + at // OF_A_DOCUMENT:06}.txt"
            archive.writestr(name, "\n\n".join(texts[at : at + OF_A_DOCUMENT]))
    return body.getvalue()


async def _settled(app: App) -> None:
    await app.index_status.wait_until(app.index_status.is_at_rest)


# ── opening ──


async def open_alone(step: Result) -> Result:
    """Open the engine and one of its namespaces."""
    settings = Settings(data=Path(step["data"]))
    store = await Store.open(None, settings.data / "findspot.db")
    async with store.read() as connection:
        identity = await states.identity(connection)
    await store.close()
    began = time.perf_counter()
    engine = open_engine(settings, identity)
    chunks = engine.status(documents_namespace(PROJECT)).chunks
    seconds = time.perf_counter() - began
    engine.close()
    assert chunks == step["count"]
    return {"seconds": seconds}


async def reopen(step: Result) -> Result:
    """Open the app, and answer one hybrid search."""
    began = time.perf_counter()
    async with _opened(step) as app:
        await _search(app, "is it ready 了吗", Strategy.HYBRID)
        return {"seconds": time.perf_counter() - began}


# ── searching ──


async def serve(step: Result) -> Result:
    """Search with every strategy, one at a time and four at once, and measure memory. Then add, delete and rebuild."""
    queries: list[str] = step["queries"]
    async with _opened(step) as app:
        await app.prepare()
        for query in queries[:TIMES]:
            await _search(app, f"warm {query}", Strategy.HYBRID)
        result: Result = {"alone": {}, "together": {}}
        for mode in Strategy:
            result["alone"][mode.name.lower()] = await _one_by_one(app, queries, mode)
            result["together"][mode.name.lower()] = await _together(app, queries, mode)
        result["memory"] = _memory()
        if step["whole"]:
            result["nearest"] = await _nearest(app, queries, documents_namespace(PROJECT))
            result["filters"] = await _by_documents(app, queries)
            result |= await _changed(app, queries)
            result |= await _rebuilt(app, queries, step["count"])
            result["memory_after"] = _memory()
        return result


def _search(
    app: App, query: str, mode: Strategy, namespace: str = "", within: Within = EVERYTHING
) -> Coroutine[Any, Any, Found]:
    table_id = NamespaceKey.of(namespace).table_id if namespace else None
    return app.table_search.search(SearchRequest(PROJECT, query, mode, table_id, within, limit=SHOWN))


async def _timed(call: Coroutine[Any, Any, T]) -> tuple[float, T]:
    began = time.perf_counter()
    answer = await call
    return (time.perf_counter() - began) * 1000, answer


async def _one_by_one(
    app: App, queries: Sequence[str], mode: Strategy, namespace: str = "", within: Within = EVERYTHING
) -> list[float]:
    """Return the milliseconds of each query."""
    times = []
    for query in queries:
        took, answer = await _timed(_search(app, query, mode, namespace, within))
        assert answer.degraded is None, answer.degraded
        times.append(took)
    return times


async def _together(app: App, queries: Sequence[str], mode: Strategy) -> Result:
    waiting, times = iter(queries), []

    async def asker() -> None:
        for query in waiting:
            took, _ = await _timed(_search(app, query, mode))
            times.append(took)

    took, _ = await _timed(_gathered([asker() for _ in range(TOGETHER)]))
    return {"times": times, "rate": len(queries) / took * 1000}


async def _gathered(calls: Sequence[Coroutine[Any, Any, None]]) -> None:
    await asyncio.gather(*calls)


async def _by_documents(app: App, queries: Sequence[str]) -> Result:
    async with app.store.read() as connection:
        ids = [each.id for each in sorted(await document_rows.every(connection, PROJECT), key=lambda each: each.title)]
    return {
        share: await _filtered(app, queries, documents_namespace(PROJECT), Within(document_ids=set(ids[::step])))
        for share, step in SHARES.items()
    }


async def _filtered(app: App, queries: Sequence[str], namespace: str, within: Within) -> Result:
    return {
        "vector": await _one_by_one(app, queries, Strategy.VECTOR, namespace, within),
        "hybrid": await _one_by_one(app, queries[:FEWER], Strategy.HYBRID, namespace, within),
        "nearest": await _nearest(app, queries, namespace, within),
    }


async def _nearest(app: App, queries: Sequence[str], namespace: str, within: Within = EVERYTHING) -> Any:
    """Return a `nearest.Search`, as JSON values."""
    return msgspec.to_builtins(await nearest.ask(app, queries, namespace, within))


# ── changing ──


async def _changed(app: App, queries: Sequence[str]) -> Result:
    """Measure the milliseconds until a new document of 20 chunks is found, and until a deleted one is not."""
    seen, unseen = [], []
    for turn in range(TIMES):
        word = f"speedmark{chr(ord('a') + turn)}"  # letters only: digits would be a second term
        body = {"title": word, "format": "text", "content": "\n\n".join(texts_of(word, queries, turn))}
        began = time.perf_counter()
        document = await app.documents.create(PROJECT, msgspec.json.encode(body))
        await _until(app, word, OF_A_DOCUMENT)
        seen.append((time.perf_counter() - began) * 1000)
        began = time.perf_counter()
        await app.documents.delete(document.id)
        await _until(app, word, 0)
        unseen.append((time.perf_counter() - began) * 1000)
        await _settled(app)
    return {"seen": seen, "unseen": unseen}


async def _until(app: App, word: str, wanted: int) -> None:
    """Search every few milliseconds until keywords find this many chunks, or no hit is shown if none are wanted."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            found = await _search(app, word, Strategy.KEYWORD)
            if found.keyword_count == wanted if wanted else not found.hits:
                return
            await asyncio.sleep(0.005)


async def _rebuild(app: App, key: NamespaceKey) -> None:
    await app.index_status.request_rebuild(key)

    async def done() -> bool:
        return not await app.index_status.is_rebuild_due(key.namespace)

    await app.index_status.wait_until(done)


async def _rebuilt(app: App, queries: Sequence[str], count: int) -> Result:
    key = NamespaceKey(PROJECT, None)
    took, _ = await _timed(_rebuild(app, key))
    building = asyncio.create_task(_rebuild(app, key))
    times: list[float] = []
    began = time.perf_counter()
    while not building.done():
        query = queries[len(times) % len(queries)]
        times.append((await _timed(_search(app, query, Strategy.HYBRID)))[0])
        await asyncio.sleep(0.01)
    await building
    both = time.perf_counter() - began
    return {"rebuild": count / took * 1000, "rebuild_searched": count / both, "meanwhile": times}


# ── a table ──


async def table(step: Result) -> Result:
    """Search the same chunks as strings of one table, below pointers."""
    async with _opened(step) as app:
        took, made = await _timed(app.tables.create(PROJECT, _table(list(_texts(step)))))
        await _settled(app)
        async with app.store.write() as connection:
            tool = {"project_id": PROJECT, "table_id": made.id, "type": "search", "name": "all", "description": "all"}
            config = {"json_pointer": "", "metadata": {}, "search_config": {"chunk_threshold": 1}}
            await connection.execute(sa.insert(tools).values(**tool, **config))
            await states.request(connection, made.id)
        indexed, _ = await _timed(_settled(app))
        namespace = table_namespace(PROJECT, made.id)
        held = await asyncio.to_thread(app.engine.status, namespace)
        assert held.chunks == step["count"], f"{held.chunks:,} chunks were indexed, not {step['count']:,}"
        filters = {
            share: await _filtered(app, step["queries"], namespace, Within(pointer=f"/{every}"))
            for share, (every, _) in BRANCHES.items()
        }
        return {"created_ms": took, "indexed_ms": indexed, "filters": filters, "memory": _memory()}


def _table(texts: Sequence[str]) -> bytes:
    branches: dict[str, dict[str, str]] = {"rest": {}}
    branches |= {str(every): {} for every, _ in BRANCHES.values()}
    for number, text in enumerate(texts):
        branch = next((str(every) for every, first in BRANCHES.values() if number % every == first), "rest")
        branches[branch][str(number)] = text
    return msgspec.json.encode({"name": "speed", "data": branches})


# ── the process ──


def _memory() -> dict[str, float]:
    """Return megabytes of this process (resident, private, peak), and the private memory of its helpers."""
    mine = _kilobytes(os.getpid(), "smaps_rollup")
    children = [int(pid) for file in Path("/proc/self/task").glob("*/children") for pid in file.read_text().split()]
    helpers = [_kilobytes(child, "smaps_rollup") for child in children]
    return {
        "resident": mine["Rss"] / 1024,
        "private": _private(mine) / 1024,
        "highest": _kilobytes(os.getpid(), "status")["VmHWM"] / 1024,
        "helpers": sum(map(_private, helpers)) / 1024,
    }


def _kilobytes(pid: int, file: str) -> dict[str, int]:
    lines = re.findall(r"^(\w+):\s+(\d+) kB$", Path(f"/proc/{pid}/{file}").read_text(), re.MULTILINE)
    return {name: int(value) for name, value in lines}


def _private(parts: dict[str, int]) -> int:
    return parts["Private_Clean"] + parts["Private_Dirty"]


STEPS = {each.__name__: each for each in (fill, open_alone, reopen, serve, table)}

if __name__ == "__main__":
    asked = json.load(sys.stdin)
    tune_process()  # as `findspot serve` does
    json.dump(asyncio.run(STEPS[asked["step"]](asked)), sys.stdout)
