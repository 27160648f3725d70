"""Embedders for tests. The process with LiteLLM takes seconds to start, so one serves them all."""

from collections.abc import Callable, Iterator

import pytest

from findspot.embedding import litellm
from findspot.embedding.litellm import LitellmEmbedder
from findspot.embedding.litellm_process import LitellmProcess
from findspot.embedding.offline import OfflineEmbedder
from tests.embedding import service
from tests.embedding.service import Service

MakeLitellm = Callable[..., LitellmEmbedder]


@pytest.fixture(scope="session")
def offline() -> Iterator[OfflineEmbedder]:
    embedder = OfflineEmbedder()
    yield embedder
    embedder.close()


@pytest.fixture(scope="session")
def process() -> Iterator[LitellmProcess]:
    shared = LitellmProcess()
    yield shared
    shared.close()


@pytest.fixture
def server() -> Iterator[Service]:
    with service.running() as started:
        yield started


@pytest.fixture
def pauses() -> list[float]:
    """How long an embedder would have waited."""
    return []


@pytest.fixture
def make_litellm(
    server: Service, process: LitellmProcess, pauses: list[float], monkeypatch: pytest.MonkeyPatch
) -> MakeLitellm:
    monkeypatch.setattr(litellm, "LitellmProcess", lambda: process)

    def make(**changes: object) -> LitellmEmbedder:
        given = {"model": "openai/m", "base_url": server.url, "api_key": "secret", "dimensions": service.DIMENSION}
        return LitellmEmbedder(litellm.Service(**{**given, **changes}), pause=pauses.append)  # type: ignore[arg-type]

    return make
