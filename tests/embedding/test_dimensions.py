"""The dimension of vectors: the embedder decides it, and the index takes no other."""

from typing import Any

import pytest

from findspot.app import App, open_app
from findspot.embedding.protocol import Embedder
from findspot.errors import FindspotError
from findspot.models import Backoff, documents_namespace
from findspot.search import SearchRequest, Strategy
from findspot.settings import Settings
from findspot.store import index_states as states
from tests import flows
from tests.embedding import service
from tests.embedding.conftest import MakeEmbedder
from tests.embedding.service import StandIn
from tests.flows import make_document, make_project, settle


@pytest.fixture
def database_url() -> None:
    """What embedders give does not depend on the database: SQLite is enough here."""
    return


def use(monkeypatch: pytest.MonkeyPatch, embedder: Embedder) -> None:
    """Have every app that is opened from here on use this embedder."""
    monkeypatch.setattr("findspot.runtime.embeddings.open_embedder", lambda settings: embedder)


async def found(app: App, project: int, query: str, strategy: Strategy) -> tuple[list[str], str | None]:
    page = await app.workspace_search.search(SearchRequest(project, query, strategy, low_scores=True))
    return [each.snippet for each in page.results], page.degraded.code if page.degraded else None


@pytest.mark.scenario("004.embedding.dimension")
async def test_the_index_has_the_dimension_of_the_offline_model(settings: Settings) -> None:
    async with open_app(settings) as app:
        project = await make_project(app)
        await make_document(app, project, "A heron", "苍鹭")
        await settle(app)
        status = app.engine.status(documents_namespace(project))
        assert (status.dimension, status.vectors) == (app.embeddings.embedder.dimension, 2)
        assert (await app.embeddings.embed_unstored(["a heron 苍鹭"])).shape == (1, status.dimension)


@pytest.mark.scenario("004.embedding.dimension")
@pytest.mark.parametrize(("dimension", "declared"), [(16, True), (48, False)])
async def test_the_index_has_the_dimension_of_a_service_declared_or_not(
    settings: Settings,
    server: StandIn,
    make_embedder: MakeEmbedder,
    monkeypatch: pytest.MonkeyPatch,
    dimension: int,
    declared: bool,
) -> None:
    server.behave = lambda body: service.answer(service.rows(body, dimension))
    use(monkeypatch, make_embedder(dimensions=dimension if declared else None))
    async with open_app(settings) as app:
        project = await make_project(app)
        await make_document(app, project, "A heron", "苍鹭")
        await settle(app)
        status = app.engine.status(documents_namespace(project))
        assert (status.dimension, status.vectors) == (dimension, 2)
        assert (await found(app, project, "苍鹭", Strategy.VECTOR))[1] is None


@pytest.mark.scenario("004.matrix.dimensions-differ", "004.matrix.wrong-dimension")
async def test_vectors_of_a_wrong_dimension_are_not_indexed_and_searches_go_on(
    settings: Settings, server: StandIn, make_embedder: MakeEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(states, "SOURCE_BACKOFF", Backoff(0.05, 60))
    monkeypatch.setattr("findspot.indexing.worker.NAMESPACE_BACKOFF", Backoff(0.05, 30))
    use(monkeypatch, make_embedder())

    def wrong_for_cranes(body: dict[str, Any]) -> service.Reply:
        is_wrong = any("crane" in text for text in body["input"])
        return service.answer(service.rows(body, 8 if is_wrong else service.DIMENSION))

    async with open_app(settings) as app:
        project = await make_project(app)
        await make_document(app, project, "A heron 苍鹭")
        await settle(app)
        namespace = documents_namespace(project)
        before = app.engine.status(namespace)
        server.behave = wrong_for_cranes
        document = await make_document(app, project, "A crane 鹤", "Another crane 另一只鹤")

        async def set_aside() -> bool:
            return bool((await flows.state(app, document)).status == "error")

        await flows.until(app, set_aside)
        (report,) = await app.index_status.of_project(project)
        assert report.errors == (
            "EMBEDDING_DIMENSION_MISMATCH: openai/m gives vectors of 8 dimensions; 16 are declared.",
        )
        after = app.engine.status(namespace)
        assert (after.vectors, after.dimension, after.fingerprint) == (1, before.dimension, before.fingerprint)
        assert await found(app, project, "heron", Strategy.VECTOR) == (["A heron 苍鹭"], None)
        assert (await found(app, project, "苍鹭", Strategy.HYBRID))[0][0] == "A heron 苍鹭"
        assert set((await found(app, project, "鹤", Strategy.KEYWORD))[0]) == {"A crane 鹤", "Another crane 另一只鹤"}
        with pytest.raises(FindspotError) as caught:
            await app.embeddings.embed_unstored(["a crane"])
        assert caught.value.code == "EMBEDDING_DIMENSION_MISMATCH"
        server.behave = service.correct
        await settle(app)
        assert app.engine.status(namespace).vectors == 3
        assert (await found(app, project, "Another crane 另一只鹤", Strategy.VECTOR))[0][0] == "Another crane 另一只鹤"
