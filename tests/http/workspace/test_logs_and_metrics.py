"""What a search over HTTP leaves behind in logs and metrics."""

import asyncio
import hashlib
import io
import logging
import re
import threading
from collections.abc import Callable, Iterator
from typing import Any

import httpx2
import pytest
import structlog

from findspot.errors import FindspotError
from findspot.indexing.status import Problem
from findspot.models import documents_namespace
from findspot.runtime import logs
from tests import flows
from tests.flows import FakeEmbedder, settle
from tests.http.workspace.channels import app_of, ask, hybrid

pytestmark = pytest.mark.fake_embedder


# ── logs ──


@pytest.fixture
def logged() -> Iterator[io.StringIO]:
    """What a server writes to its log."""
    root, ours, stream = logging.getLogger(), logging.getLogger("findspot"), io.StringIO()
    before = root.handlers[:], root.level, ours.level
    logs.configure("debug", "json", stream=stream)
    yield stream
    root.handlers[:], root.level, ours.level = before
    structlog.reset_defaults()


@pytest.mark.scenario("004.security.query-hash", "D26")
async def test_a_query_is_in_no_log_and_no_figure_but_as_a_keyed_hash(
    owner: httpx2.AsyncClient, project: int, embedder: FakeEmbedder, logged: io.StringIO
) -> None:
    secret = "林远 zyzzyva"
    for _ in range(2):
        found = await hybrid(owner, project, secret, includeLowScores=True)
        place = {key: found["results"][0][key] for key in ("documentId", "chunkId")}
        await ask(owner, project, "search:rank:explain", query=secret, **place)
        await ask(owner, project, "embedding:search", query=secret)
        await ask(owner, project, "search:fts:query", query=secret, cursor="gone.2")
        embedder.query_error = FindspotError("EMBEDDING_UNAVAILABLE", "not now")
    flows.watched(app_of(owner)).instead["recall"] = lambda *_, **__: 1 / 0
    assert (await ask(owner, project, "search:fts:query", query=secret)).status_code == 500
    figures = (await owner.get("/metrics")).text
    written = logged.getvalue()
    for text in (written, figures):
        assert not re.search("zyzzyva|林远|\\\\u6797", text)
    hashes = set(re.findall(r"search in project \d+ for ([0-9a-f]{16}):", written))
    assert len(hashes) == 1
    assert "unexpected_error" in written
    assert hashes != {hashlib.sha256(secret.encode()).hexdigest()[:16]}


# ── metrics ──


@pytest.mark.scenario(
    "003.metric.search-requests",
    "003.metric.chunks-created",
    "003.metric.chunking-duration",
    "003.metric.search-duration",
    "003.metric.search-results",
    "003.metric.active-chunks",
)
async def test_searches_and_chunks_are_counted_under_the_names_of_the_requirement(
    owner: httpx2.AsyncClient, project: int, embedder: FakeEmbedder, figures: Callable[[], Any]
) -> None:
    before = await figures()
    await hybrid(owner, project, "林远")
    await ask(owner, project, "search:fts:query", query="林远", cursor="gone.2")
    embedder.query_error = FindspotError("EMBEDDING_UNAVAILABLE", "not now")
    await hybrid(owner, project, "林远 again")
    after = await figures()

    mine = f'project_id="{project}"'

    def grown(name: str) -> float:
        return after.get(name, 0.0) - before.get(name, 0.0)  # type: ignore[no-any-return]

    for status in ("success", "INVALID_ARGUMENT", "EMBEDDING_UNAVAILABLE"):
        assert grown(f'search_requests_total{{{mine},status="{status}",tool_id="workspace"}}') == 1
    assert grown(f"search_duration_seconds_count{{{mine}}}") == 3
    assert grown(f"search_results_count_count{{{mine}}}") == 2
    assert after[f"active_chunks_total{{{mine}}}"] == 6
    assert after[f"index_waiting_sources{{{mine}}}"] == 0
    assert before[f'chunks_created_total{{{mine},table_id="documents"}}'] >= 6
    assert before[f"chunking_duration_seconds_count{{{mine}}}"] >= 1


@pytest.mark.scenario("003.metric.upload-errors")
async def test_a_write_that_the_engine_refuses_is_counted(
    owner: httpx2.AsyncClient, project: int, figures: Callable[[], Any]
) -> None:
    def full(*_: Any) -> None:
        raise OSError("the disk is full")

    counter = f'turbopuffer_upload_errors_total{{project_id="{project}"}}'
    before = (await figures()).get(counter, 0)
    flows.watched(app_of(owner)).instead["write"] = full
    body = {"title": "t", "format": "text", "content": "林远又来了。"}
    await owner.post(f"/api/v1/projects/{project}/documents", json=body)
    await settle(app_of(owner), errors=True)
    assert (await figures())[counter] > before
    assert len((await hybrid(owner, project, "林远"))["results"]) == 2  # what was indexed is still found
    flows.watched(app_of(owner)).instead.clear()
    await settle(app_of(owner))
    assert len((await hybrid(owner, project, "林远"))["results"]) == 3


@pytest.mark.scenario("003.metric.upload-errors")
async def test_writes_that_fail_are_counted_for_a_build_and_for_words_alone_too(
    owner: httpx2.AsyncClient, project: int, embedder: FakeEmbedder, figures: Callable[[], Any]
) -> None:
    app, failed = app_of(owner), threading.Event()
    engine = flows.watched(app)

    def full(*_: Any) -> None:
        failed.set()
        raise OSError("the disk is full")

    def build(*arguments: Any) -> Any:
        made: Any = engine.engine.build(*arguments)
        if not failed.is_set():
            made.write = full
        return made

    counter = f'turbopuffer_upload_errors_total{{project_id="{project}"}}'
    before = (await figures()).get(counter, 0)
    engine.instead["build"] = build
    app.index_status.report(documents_namespace(project), Problem.WRONG_FINGERPRINT)
    await settle(app)
    assert (await figures())[counter] == before + 1
    failed.clear()
    embedder.fails_on = "来"
    engine.instead["write"] = full
    body = {"title": "t", "format": "text", "content": "林远又来了。"}
    await owner.post(f"/api/v1/projects/{project}/documents", json=body)
    assert await asyncio.to_thread(failed.wait, flows.PATIENCE_S)
    await settle(app, errors=True)
    assert (await figures())[counter] > before + 1


async def test_a_cancelled_search_is_counted_as_cancelled(
    owner: httpx2.AsyncClient, project: int, figures: Callable[[], Any]
) -> None:
    is_busy, going_on = threading.Event(), threading.Event()
    engine = flows.watched(app_of(owner))

    def slow(*arguments: Any, **more: Any) -> Any:
        is_busy.set()
        assert going_on.wait(flows.PATIENCE_S)
        return engine.engine.recall(*arguments, **more)

    name = 'search_requests_total{{project_id="' + str(project) + '",status="{}",tool_id="workspace"}}'
    before = await figures()
    engine.instead["recall"] = slow
    asking = asyncio.create_task(ask(owner, project, "search:fts:query", query="林远"))
    assert await asyncio.to_thread(is_busy.wait, flows.PATIENCE_S)
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    going_on.set()
    after = await figures()
    assert after[name.format("cancelled")] - before.get(name.format("cancelled"), 0) == 1
    assert after.get(name.format("INTERNAL"), 0) == before.get(name.format("INTERNAL"), 0)
