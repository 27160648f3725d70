"""Embedders for tests, and the service that they ask."""

from collections.abc import Callable, Iterator

import pytest

from findspot.embedding.offline import OfflineEmbedder
from findspot.embedding.openai import OpenAiTransport
from findspot.embedding.service import Service, ServiceEmbedder
from tests.embedding import service
from tests.embedding.service import StandIn

MakeEmbedder = Callable[..., ServiceEmbedder]
PATIENCE_S = 120.0  # longer than the product waits: the machine may be busy


@pytest.fixture(scope="session")
def offline() -> Iterator[OfflineEmbedder]:
    embedder = OfflineEmbedder()
    yield embedder
    embedder.close()


@pytest.fixture
def server() -> Iterator[StandIn]:
    with service.running() as started:
        yield started


@pytest.fixture
def pauses() -> list[float]:
    """The seconds that an embedder would have waited before each retry."""
    return []


@pytest.fixture
def make_embedder(server: StandIn, pauses: list[float]) -> Iterator[MakeEmbedder]:
    made: list[ServiceEmbedder] = []

    def make(**changes: object) -> ServiceEmbedder:
        given = {"model": "m", "base_url": server.url, "api_key": "secret", "dimensions": service.DIMENSION}
        given |= {"query_timeout_s": PATIENCE_S, "batch_timeout_s": PATIENCE_S}
        settings = Service(**{**given, **changes})  # type: ignore[arg-type]
        made.append(ServiceEmbedder("openai", settings, OpenAiTransport(settings), pause=pauses.append))
        return made[-1]

    yield make
    for each in made:
        each.close()
