"""Rebuilding the index and embedding texts over HTTP."""

import contextlib
import threading
from typing import Any

import httpx2
import pytest
import sqlalchemy as sa

from findspot.models import NamespaceKey, documents_namespace
from findspot.runtime.limits import SEARCHES
from findspot.store.schema import embedding_cache
from tests import flows
from tests.flows import FakeEmbedder, settle
from tests.http.workspace.channels import app_of, ask, hybrid

pytestmark = pytest.mark.fake_embedder


# ── reindexing ──


@pytest.mark.scenario("004.fts.channel-reindex", "004.embedding.channel-reindex", "004.matrix.rebuild-and-search")
@pytest.mark.parametrize("channel", ["search:fts:reindex", "embedding:reindex"])
async def test_a_reindex_is_queued_while_the_old_index_answers(
    owner: httpx2.AsyncClient, project: int, embedder: FakeEmbedder, channel: str
) -> None:
    app, held = app_of(owner), documents_namespace(project)
    engine, going_on = flows.watched(app), threading.Event()

    def late(*arguments: Any) -> Any:
        assert going_on.wait(flows.PATIENCE_S)
        return engine.engine.build(*arguments)

    engine.instead["build"] = late
    answer = await ask(owner, project, channel)
    assert (answer.status_code, answer.json()) == (202, {"jobId": f"rebuild_{held}", "position": 0})
    again = await ask(owner, project, channel)
    assert again.json() == answer.json()  # there is one to be built, however often it is asked for
    assert len((await hybrid(owner, project, "林远"))["results"]) == 2
    going_on.set()
    await settle(app)
    found = await hybrid(owner, project, "林远")
    assert (len(found["results"]), found["indexState"]) == (2, "ready")


@pytest.mark.scenario("004.concurrency.two-reindexes")
async def test_a_third_rebuild_of_a_project_waits_and_gets_its_queue_position(
    owner: httpx2.AsyncClient, project: int
) -> None:
    app, others = app_of(owner), [NamespaceKey(project, 901), NamespaceKey(project, 902)]
    await app.index_worker.close()  # so that all of them wait
    assert [await app.index_status.request_rebuild(key) for key in others] == [0, 0]
    assert (await ask(owner, project, "search:fts:reindex")).json()["position"] == 1
    fourth = NamespaceKey(project, 903)
    assert await app.index_status.request_rebuild(fourth) == 2
    again = [await app.index_status.request_rebuild(key) for key in (*others, NamespaceKey(project, None), fourth)]
    assert again == [0, 0, 1, 2]  # whoever asks again stays where they are
    await app.index_worker.start()
    await settle(app)


@pytest.mark.parametrize("changed_settings", [{"max_chunks": 6}])
async def test_a_project_that_is_full_is_not_reindexed(owner: httpx2.AsyncClient, project: int) -> None:
    answer = await ask(owner, project, "embedding:reindex")
    assert (answer.status_code, answer.json()["code"]) == (507, "SEARCH_CAPACITY_EXCEEDED")


# ── embedding ──


@pytest.mark.scenario("004.embedding.channel-generate")
async def test_texts_get_their_vectors_and_leave_nothing_behind(
    owner: httpx2.AsyncClient, project: int, embedder: FakeEmbedder
) -> None:
    texts = ["林远 and the lighthouse", "電腦 👩‍👩‍👧 e\u0301"]
    answer = (await ask(owner, project, "embedding:generate", texts=texts)).json()
    assert (answer["model"], answer["dimensions"], len(answer["vectors"])) == ("fake", 64, 2)
    assert answer["vectors"] == embedder.documents(texts).tolist()
    async with app_of(owner).store.read() as connection:
        kept = (await connection.execute(sa.select(sa.func.count()).select_from(embedding_cache))).scalar_one()
    assert kept == 6  # those of the chapters


async def test_embedding_texts_counts_as_a_search_in_flight(owner: httpx2.AsyncClient, project: int) -> None:
    gate = app_of(owner).gate
    with contextlib.ExitStack() as taken:
        for _ in range(SEARCHES):
            taken.enter_context(gate.admit_search(project))
        answer = await ask(owner, project, "embedding:generate", texts=["林远"])
        assert (answer.status_code, answer.json()["code"]) == (429, "SEARCH_BACKPRESSURE")
        assert answer.json()["retryAfterMs"] > 0
    assert (await ask(owner, project, "embedding:generate", texts=["林远"])).status_code == 200


@pytest.mark.parametrize("texts", [[], [""], ["x"] * 65, ["字" * 8001], "no list", [1], None])
async def test_texts_that_cannot_be_embedded_are_refused(
    owner: httpx2.AsyncClient, empty_project: int, texts: Any
) -> None:
    answer = await ask(owner, empty_project, "embedding:generate", texts=texts)
    assert (answer.status_code, answer.json()["code"]) == (422, "INVALID_ARGUMENT")
    assert "texts" in answer.json()["message"]
