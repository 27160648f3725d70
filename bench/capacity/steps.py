"""Measurements inside the process: recall, searches during a rebuild, and eviction.

`python -m bench.capacity.steps` reads a step from standard input and writes the measurements, both as JSON.
"""

import asyncio
import itertools
import json
import sys
import time
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from bench import nearest as nearest_chunks
from findspot.app import App, open_app
from findspot.embedding.offline import OfflineEmbedder
from findspot.models import OWNER, NamespaceKey, documents_namespace
from findspot.search import Found, SearchRequest, Strategy
from findspot.server.api_process import tune_process
from findspot.settings import Settings

Result = dict[str, Any]

SHOWN = 10
CLIENTS = 4  # that search during a rebuild
PER_SECOND = 5  # searches that each of them begins, unless the one before takes longer
MARK = "evictmark"


@asynccontextmanager
async def _opened(step: Result, **more: Any) -> AsyncIterator[App]:
    async with open_app(Settings(data=Path(step["data"]), embedding_cache_ttl=1, log_level="error", **more)) as app:
        await app.prepare()
        await _settled(app)
        yield app


async def _settled(app: App) -> None:
    await app.index_status.wait_until(app.index_status.is_at_rest)


async def _search(app: App, step: Result, query: str, mode: Strategy) -> Found:
    found = await app.table_search.search(SearchRequest(step["project"], query, mode, limit=SHOWN))
    assert found.degraded is None, found.degraded
    return found


async def nearest(step: Result) -> Result:
    """Return the nearest chunks of each query, as the index finds them."""
    async with _opened(step) as app:
        found = await nearest_chunks.ask(app, step["queries"], documents_namespace(step["project"]))
    return {"search": msgspec.to_builtins(found)}


async def rebuild(step: Result) -> Result:
    """Rebuild the index, again until there were enough searches, and search by every strategy meanwhile."""
    times: dict[str, list[float]] = {mode.name.lower(): [] for mode in Strategy}
    errors: list[str] = []
    seconds: list[float] = []  # of each rebuild
    asked = itertools.cycle(itertools.product(step["queries"], Strategy))
    async with _opened(step) as app:
        while not seconds or sum(map(len, times.values())) < step["searches"]:
            began = time.perf_counter()
            building = asyncio.create_task(_rebuilt(app, NamespaceKey(step["project"], None)))
            await asyncio.gather(*(_ask(app, step, asked, building, times, errors) for _ in range(CLIENTS)))
            await building
            seconds.append(time.perf_counter() - began)
    return {"seconds": seconds, "times": times, "errors": errors}


async def _rebuilt(app: App, key: NamespaceKey) -> None:
    await app.index_status.request_rebuild(key)

    async def done() -> bool:
        return not await app.index_status.is_rebuild_due(key.namespace)

    await app.index_status.wait_until(done)


async def _ask(
    app: App,
    step: Result,
    asked: Iterable[tuple[str, Strategy]],
    building: "asyncio.Task[None]",
    times: dict[str, list[float]],
    errors: list[str],
) -> None:
    for query, mode in asked:
        if building.done():
            return
        began = time.perf_counter()
        try:
            await _search(app, step, query, mode)
        except Exception as error:  # noqa: BLE001 (every error counts, and is reported)
            errors.append(repr(error))
        took = time.perf_counter() - began
        times[mode.name.lower()].append(took * 1000)
        await asyncio.sleep(1 / PER_SECOND - took)  # a negative pause is none


async def evict(step: Result) -> Result:
    """Lower the limit of vectors to half of what there is, save a document, and compare keyword searches with those
    before. The save changes one word, so that the statistics of keywords stay as they are."""
    dimension = OfflineEmbedder().dimension
    async with _opened(step) as app:
        body = {"title": MARK, "format": "text", "content": f"{MARK} alpha"}
        document = await app.documents.create(step["project"], msgspec.json.encode(body))
        await _settled(app)
        before = await _keyword_hits(app, step)
        vectors = await _vectors(app, step)
    limit = vectors // 2
    async with _opened(step, max_vectors=limit * dimension) as app:
        await app.documents.save(document.id, msgspec.json.encode({"content": f"{MARK} gamma"}), OWNER)
        began = time.perf_counter()
        await _settled(app)
        seconds = time.perf_counter() - began
        after = await _keyword_hits(app, step)
        left = await _vectors(app, step)
    same = sum(old == new for old, new in zip(before, after, strict=True)) / len(before)
    return {"vectors": vectors, "limit": limit, "left": left, "seconds": seconds, "same": same}


async def _keyword_hits(app: App, step: Result) -> Sequence[Any]:
    """Return hits and number of candidates of each query."""
    found = [await _search(app, step, query, Strategy.KEYWORD) for query in step["queries"]]
    return [([hit.ranked.id for hit in each.hits], each.keyword_count) for each in found]


async def _vectors(app: App, step: Result) -> int:
    return sum(each.vectors for each in await app.index_status.of_project(step["project"]))


STEPS = {each.__name__: each for each in (nearest, rebuild, evict)}

if __name__ == "__main__":
    asked = json.load(sys.stdin)
    tune_process()  # as `findspot serve` does
    json.dump(asyncio.run(STEPS[asked["step"]](asked)), sys.stdout)
