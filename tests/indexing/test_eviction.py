"""A project with too many vectors loses those that were hits least recently."""

from typing import Any

import numpy as np
import pytest

from findspot.app import App, open_app
from findspot.engines.protocol import Damaged
from findspot.indexing.eviction import least_recent
from findspot.models import NamespaceKey, table_namespace
from findspot.search import SearchRequest, Strategy
from findspot.settings import Settings
from tests import flows
from tests.flows import FakeEmbedder


def test_chunks_that_were_never_a_hit_are_evicted_first_then_the_least_recent() -> None:
    held = {"one": np.array([1, 5, 9], np.int64), "other": np.array([3, 7], np.int64)}
    assert least_recent(held, [5, 7, 9], 3) == {"one": [1, 5], "other": [3]}
    assert least_recent(held, [9, 4, 3, 1], 4) == {"one": [5, 9], "other": [3, 7]}
    assert least_recent(held, [], 1) == {"one": [1]}


async def shown(app: App, project: int, query: str, mode: Strategy, limit: int = 3) -> list[str]:
    found = await app.table_search.search(SearchRequest(project, query, mode, limit=limit))
    return [hit.found.chunk.text for hit in found.hits]


@pytest.mark.local_files
@pytest.mark.scenario("004.capacity.vectors", "D16")
async def test_past_the_limit_the_least_recent_vectors_are_evicted_and_keywords_still_find_them(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedder = FakeEmbedder()
    flows.use(monkeypatch, embedder)
    limited = settings.model_copy(update={"max_vectors": 10 * embedder.dimension})
    async with open_app(limited) as app:
        project = await flows.make_project(app)
        old = [f"旧的段落 old{number}" for number in range(8)]
        await flows.make_document(app, project, *old)
        await flows.settle(app)
        assert await shown(app, project, old[2], Strategy.VECTOR) != []  # a recent hit from now on
        recent = (await shown(app, project, old[2], Strategy.KEYWORD))[0]
        assert recent == old[2]
        await flows.make_document(app, project, *(f"新的段落 fresh{number}" for number in range(4)))
        await flows.settle(app)
        (report,) = await app.index_status.of_project(project)
        assert (report.chunks, report.vectors, report.evicted) == (12, 9, 3)
        assert old[2] in await shown(app, project, old[2], Strategy.VECTOR)
        lost = [text for text in old if (await shown(app, project, text, Strategy.VECTOR))[:1] != [text]]
        assert len(lost) == 3
        assert old[2] not in lost
        for text in lost:
            assert (await shown(app, project, text, Strategy.KEYWORD))[0] == text
            assert text in await shown(app, project, text, Strategy.HYBRID, 12)
        await flows.rebuild(app, NamespaceKey(project, None))  # calculates every vector again
        (report,) = await app.index_status.of_project(project)
        assert (report.vectors, report.evicted) == (9, 3)
    async with open_app(limited) as app:  # a restart changes nothing
        await flows.settle(app)
        (report,) = await app.index_status.of_project(project)
        assert (report.chunks, report.vectors, report.evicted) == (12, 9, 3)


@pytest.mark.local_files
@pytest.mark.parametrize("call", ["vector_ids", "evict"])
async def test_damage_met_by_an_eviction_is_rebuilt_and_others_are_evicted(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    embedder = FakeEmbedder()
    flows.use(monkeypatch, embedder)
    async with open_app(settings.model_copy(update={"max_vectors": 10 * embedder.dimension})) as app:
        project, engine = await flows.make_project(app), flows.watched(app)
        table = await flows.make_table(app, project, {f"n{number}": f"行 row{number}" for number in range(6)})
        await flows.add_tool(app, table)
        await flows.settle(app)
        damaged, built = table_namespace(project, table.id), list[str]()

        def fails(namespace: str, *more: Any) -> Any:
            if namespace == damaged and damaged not in built:
                raise Damaged("a file is gone")
            return getattr(engine.engine.files, call)(namespace, *more)

        def build(namespace: str, *more: Any) -> Any:
            built.append(namespace)
            return engine.engine.build(namespace, *more)

        engine.instead |= {call: fails, "build": build}
        await flows.make_document(app, project, *(f"新的段落 fresh{number}" for number in range(6)))
        await flows.settle(app)
        assert built == [damaged]
        assert sum(report.vectors for report in await app.index_status.of_project(project)) == 9


@pytest.mark.local_files
async def test_an_index_is_rebuilt_although_eviction_fails(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    embedder, tries = FakeEmbedder(), list[int]()
    flows.use(monkeypatch, embedder)
    async with open_app(settings.model_copy(update={"max_vectors": embedder.dimension})) as app:
        project = await flows.make_project(app)

        def fails(project_id: int) -> list[str]:
            tries.append(project_id)
            raise OSError("too many open files")

        flows.watched(app).instead["namespaces"] = fails
        document = await flows.make_document(app, project, "words", "more words")
        await flows.rebuild(app, NamespaceKey(project, None))
        await flows.settle(app)
        assert tries
        assert sorted(await flows.texts(app, document, "words")) == ["more words", "words"]
        assert [report.errors for report in await app.index_status.of_project(project)] == [()]
