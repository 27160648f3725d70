"""Store and engine are compared, and differences repaired, on both databases."""

import numpy as np
import pytest

from findspot.app import App
from findspot.indexing import reconcile
from findspot.indexing.reconcile import differences
from findspot.indexing.status import Problem
from findspot.models import documents_namespace
from findspot.settings import Settings
from findspot.store import chunks as chunk_rows
from tests import flows
from tests.flows import FakeEmbedder, make_document, make_project, rows, settle, texts


@pytest.fixture
def settings(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Give every app an engine that can be watched."""
    flows.use(monkeypatch, FakeEmbedder())
    return settings


def test_missing_extra_and_waiting_chunks_are_told_apart() -> None:
    found = differences([1, 2, 3, 4, 5], [4, 5], np.array([1, 3, 5, 9], np.int64))
    assert (found.missing, found.extra, found.waiting_not_held) == ([2], [9], {4})
    nothing = differences([], [], np.empty(0, np.int64))
    assert (nothing.missing, nothing.extra, nothing.waiting_not_held) == ([], [], set())


async def test_chunks_that_the_engine_lost_are_marked_in_parts_and_indexed_again(
    app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reconcile, "MARKED_AT_ONCE", 3)
    project = await make_project(app)
    document = await make_document(app, project, *(f"苍鹭 heron {number}" for number in range(8)))
    await settle(app)
    namespace, marked, mark = documents_namespace(project), list[int](), chunk_rows.mark

    async def counted(connection: object, ids: list[int], *, indexed: bool) -> None:
        if not indexed:
            marked.append(len(ids))
        await mark(connection, ids, indexed=indexed)  # type: ignore[arg-type]

    monkeypatch.setattr(chunk_rows, "mark", counted)
    lost = [row.id for row in await rows(app)][:7]
    await flows.lose(app, namespace, lost)
    app.index_status.report(namespace, Problem.MISSING)
    await settle(app)
    assert marked == [3, 3, 1]
    assert app.engine.ids(namespace).tolist() == sorted(row.id for row in await rows(app))
    assert len(await texts(app, document, "苍鹭")) == 8
