"""Failures below workspace search: full disks, failed rebuilds, damaged documents and full projects."""

import errno
import json
import os
from collections.abc import Callable
from typing import Any

import pytest
import sqlalchemy as sa

from findspot.app import App, open_app
from findspot.engines.embedded import manifest
from findspot.engines.embedded.index import Index
from findspot.engines.embedded.keyword_index import KeywordIndex
from findspot.engines.embedded.rows import Rows
from findspot.errors import FindspotError
from findspot.models import OWNER, Backoff, Document, NamespaceKey, documents_namespace
from findspot.search import SearchRequest, Strategy
from findspot.settings import Settings
from findspot.store import index_states as states
from findspot.store.schema import documents
from tests import flows
from tests.flows import FakeEmbedder, make_document, make_project, rows, save, settle, text_of

pytestmark = [pytest.mark.fake_embedder, pytest.mark.one_database]

BEFORE = "A heron stands in the reeds 苍鹭立在芦苇里"
AFTER = "The heron has flown away 苍鹭飞走了"
DISK_FULL = (
    "ENGINE_UNAVAILABLE: The index cannot be used: No space left on device. "
    "Saved content is safe, and indexing is retried until it works."
)


@pytest.fixture
def settings(settings: Settings, embedder: FakeEmbedder, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Settings with the test embedder and short pauses between retries."""
    monkeypatch.setattr(states, "SOURCE_BACKOFF", Backoff(0.05, 0.1))
    monkeypatch.setattr("findspot.indexing.worker.NAMESPACE_BACKOFF", Backoff(0.05, 0.1))
    return settings


def queries(strategy: Strategy) -> tuple[str, ...]:
    """Return queries that find every heron. The vectors of the fake embedder know no Chinese words without spaces."""
    return ("heron",) if strategy is Strategy.VECTOR else ("heron", "苍鹭")


async def found(app: App, project: int, query: str, strategy: Strategy = Strategy.KEYWORD) -> list[str]:
    """Return the snippets of a search, which must not be degraded."""
    page = await app.workspace_search.search(SearchRequest(project, query, strategy, low_scores=True))
    assert page.degraded is None
    return [each.snippet for each in page.results]


async def error_of(app: App, project: int) -> str:
    """Wait until the status of the project has an error, and return it."""

    async def has_error() -> bool:
        return any(report.status == "error" and report.errors for report in await app.index_status.of_project(project))

    await flows.until(app, has_error)
    (report,) = await app.index_status.of_project(project)
    (message,) = report.errors
    return message


async def is_ready(app: App, project: int) -> bool:
    reports = await app.index_status.of_project(project)
    return all((report.status, report.errors) == ("ready", ()) for report in reports)


# ── a full disk ──


class Disk:
    """The disk of the index. While it is full, nothing can be written or opened there."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *places: tuple[object, str]) -> None:
        self.is_full = False
        self.refused = 0
        for place, name in places:
            monkeypatch.setattr(place, name, self._limited(getattr(place, name)))

    def _limited(self, write: Callable[..., Any]) -> Callable[..., Any]:
        def limited(*arguments: Any, **more: Any) -> Any:
            if self.is_full:
                self.refused += 1
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/where/it/lies")
            return write(*arguments, **more)

        return limited


WRITES: list[tuple[object, str]] = [
    (KeywordIndex, "commit"),
    (KeywordIndex, "retain"),
    (Rows, "append"),
    (manifest, "write"),
]


@pytest.mark.scenario("004.matrix.index-write-fails")
@pytest.mark.parametrize("where", WRITES, ids=lambda each: each[1])
@pytest.mark.local_files
async def test_with_a_full_disk_saves_and_searches_work_and_the_index_catches_up_later(
    app: App, project: int, monkeypatch: pytest.MonkeyPatch, where: tuple[object, str]
) -> None:
    document = await make_document(app, project, BEFORE)
    await settle(app)
    disk = Disk(monkeypatch, where, (Index, "open"))
    disk.is_full = True
    saved = await save(app, document.id, BEFORE, AFTER)
    assert saved.revision == 2
    assert await error_of(app, project) == DISK_FULL
    assert (await text_of(app, document.id)).split("\n\n") == [BEFORE, AFTER]
    refused = disk.refused

    async def tried_again() -> bool:
        return disk.refused > refused

    await flows.until(app, tried_again)
    for strategy in Strategy:
        for query in queries(strategy):
            assert await found(app, project, query, strategy) == [BEFORE]
    disk.is_full = False
    await settle(app)
    assert await is_ready(app, project)
    for query in ("flown", "飞走"):
        assert await found(app, project, query) == [AFTER]
    assert app.engine.status(documents_namespace(project)).vectors == 2


@pytest.mark.scenario("004.matrix.index-write-fails")
async def test_an_index_that_cannot_be_opened_is_reported_by_searches_and_by_the_status(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_app(settings) as app:
        project = await make_project(app)
        await make_document(app, project, BEFORE)
        await settle(app)
    disk = Disk(monkeypatch, (Index, "open"))
    disk.is_full = True
    async with open_app(settings) as app:
        for strategy in Strategy:
            with pytest.raises(FindspotError, match="No space left on device") as caught:
                await found(app, project, "heron", strategy)
            assert (caught.value.code, "/" in caught.value.message) == ("ENGINE_UNAVAILABLE", False)
        assert await error_of(app, project) == DISK_FULL
        disk.is_full = False
        await settle(app)
        assert await is_ready(app, project)
        assert await found(app, project, "heron") == [BEFORE]


# ── rebuilds ──


@pytest.mark.scenario("004.matrix.rebuild-fails")
@pytest.mark.parametrize("step", ["build", "write", "switch"])
async def test_a_failed_rebuild_leaves_the_old_index_reports_why_and_is_retried(
    app: App, project: int, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    document = await make_document(app, project, BEFORE, AFTER)
    await settle(app)
    key = NamespaceKey(project, None)
    engine, fails, tries = flows.watched(app), True, 0

    def failing(call: Callable[..., Any]) -> Callable[..., Any]:
        def instead(*arguments: Any) -> Any:
            nonlocal tries
            tries += 1
            if fails:
                raise FindspotError(*DISK_FULL.split(": ", 1))
            return call(*arguments)

        return instead

    def build(*arguments: Any) -> Any:
        building = engine.engine.build(*arguments)
        if step != "build":
            monkeypatch.setattr(building, step, failing(getattr(building, step)))
        return building

    engine.instead["build"] = failing(build) if step == "build" else build
    assert await app.index_status.request_rebuild(key) == 0
    assert await error_of(app, project) == DISK_FULL
    for strategy in Strategy:
        assert set(await found(app, project, "heron 苍鹭", strategy)) == {BEFORE, AFTER}
    failed = tries

    async def tried_again() -> bool:
        return tries > failed

    await flows.until(app, tried_again)
    fails = False
    await settle(app)
    assert await is_ready(app, project)
    held = app.engine.ids(key.namespace).tolist()
    assert held == [row.id for row in await rows(app, document_id=document.id)]
    assert set(await found(app, project, "heron 苍鹭", Strategy.HYBRID)) == {BEFORE, AFTER}


# ── broken texts ──


async def damage(app: App, document: Document, form: str, content: bytes) -> None:
    """Damage a document as a failing disk, or another program that writes to the database, could."""
    async with app.store.write() as connection:
        values = {"format": form, "content": content, "revision": document.revision + 1}
        await connection.execute(sa.update(documents).where(documents.c.id == document.id).values(values))


@pytest.mark.scenario("004.matrix.broken-encoding")
@pytest.mark.parametrize(
    ("form", "content"),
    [
        ("text", b"A heron \xff\xfe"),
        ("markdown", "苍鹭 heron".encode("gb18030")),
        ("tiptap", b'{"type": "doc", "content": [{"type": "text", "text": "heron \xff"}]}'),
    ],
)
async def test_a_damaged_document_is_reported_and_all_others_are_found(
    app: App, project: int, form: str, content: bytes
) -> None:
    broken = await make_document(app, project, f"{BEFORE}, once more")
    sound = await make_document(app, project, BEFORE)
    await settle(app)
    await damage(app, broken, form, content)
    assert (await error_of(app, project)).startswith(f"INTERNAL: Document {broken.id} cannot be read.")
    later = await make_document(app, project, AFTER)
    await settle(app, errors=True)
    assert {(await flows.state(app, each)).status for each in (sound, later)} == {"ready"}
    for strategy in Strategy:
        for query in queries(strategy):
            assert set(await found(app, project, query, strategy)) == {BEFORE, AFTER}
    with pytest.raises(FindspotError, match="damaged in the database"):
        await app.documents.read(broken.id)
    body = json.dumps({"content": "mended 修好了", "format": "text"}).encode()
    saved = await app.documents.save(broken.id, body, OWNER)
    await settle(app)
    assert await is_ready(app, project)
    assert await found(app, project, "修好") == ["mended 修好了"]
    assert saved.version_id is not None
    await app.documents.restore(broken.id, saved.version_id, OWNER)  # the damaged one, which was kept
    assert (await error_of(app, project)).startswith(f"INTERNAL: Document {broken.id} cannot be read.")
    whole = (await app.documents.versions(broken.id))[0].id
    await app.documents.restore(broken.id, whole, OWNER)
    await settle(app)
    assert await is_ready(app, project)
    assert await found(app, project, "修好") == ["mended 修好了"]


# ── a full project ──


@pytest.mark.scenario("004.matrix.index-over-limit", "004.capacity.chunks")
async def test_a_full_project_saves_documents_without_indexing_them_and_reports_it(settings: Settings) -> None:
    assert settings.max_chunks == 5_000_000
    async with open_app(settings.model_copy(update={"max_chunks": 6})) as app:
        project = await make_project(app)
        first = await make_document(app, project, *(f"heron {number} 苍鹭" for number in range(4)))
        await settle(app)
        over = await make_document(app, project, *(f"crane {number} 鹤" for number in range(3)))
        fits = await make_document(app, project, "egret 白鹭", "stork 鹳")
        reason = await error_of(app, project)
        assert reason == (
            "SEARCH_CAPACITY_EXCEEDED: 3 chunks have no room: the project may have 6. "
            "Their text is saved, but not searched."
        )
        await settle(app, errors=True)
        assert (await text_of(app, over.id)).split("\n\n") == [f"crane {number} 鹤" for number in range(3)]
        assert len(app.engine.ids(documents_namespace(project))) == 6
        assert [await found(app, project, query) for query in ("crane", "鹤")] == [[], []]
        assert await found(app, project, "stork") == ["stork 鹳"]
        assert (await flows.state(app, fits)).status == "ready"
        with pytest.raises(FindspotError) as caught:
            await app.index_status.request_rebuild(NamespaceKey(project, None))
        assert caught.value.code == "SEARCH_CAPACITY_EXCEEDED"
        await save(app, first.id, "heron 苍鹭")
        await settle(app)
        assert await is_ready(app, project)
        assert len(await found(app, project, "crane")) == 3
        assert len(app.engine.ids(documents_namespace(project))) == 6
