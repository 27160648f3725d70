"""Requests to an OpenAI-compatible API. The rest is in tests/contracts/test_embedding_transport.py."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import httpx2
import pytest

from findspot.embedding import openai
from findspot.embedding.openai import OpenAiTransport
from findspot.embedding.service import Problem, Service, ServiceEmbedder
from findspot.errors import FindspotError
from tests.embedding.service import Reply, StandIn, correct


def test_without_a_base_url_the_service_is_openai(server: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openai, "BASE_URL", server.url)
    transport = OpenAiTransport(Service("m"))
    assert len(transport.embed(["a"], 120)) == 1
    transport.close()
    assert server.asked == [{"model": "m", "input": ["a"], "encoding_format": "float"}]
    assert server.keys == [None]  # Ollama and others need no key


def test_a_base_url_may_end_with_a_slash(server: StandIn) -> None:
    transport = OpenAiTransport(Service("m", f"{server.url}/"))
    assert len(transport.embed(["a"], 120)) == 1
    transport.close()
    assert server.paths == ["/v1/embeddings"]


def test_an_answer_that_comes_byte_by_byte_fails_after_the_timeout(server: StandIn) -> None:
    released = threading.Event()

    def drip() -> object:
        yield b"{"
        while not released.wait(0.05):
            yield b" "

    server.behave = lambda body: (200, {}, drip())
    transport = OpenAiTransport(Service("m", server.url))
    with pytest.raises(Problem, match="does not answer in time"):
        transport.embed(["a"], 0.5)
    released.set()
    transport.close()


def test_a_request_that_cannot_be_cancelled_fails_after_the_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    released = threading.Event()

    async def never_ends(*arguments: object, **options: object) -> None:
        while not released.is_set():
            try:
                await asyncio.sleep(0.02)
            except asyncio.CancelledError:
                continue

    monkeypatch.setattr(httpx2.AsyncClient, "post", never_ends)
    monkeypatch.setattr(openai, "GRACE_S", 0.1)
    transport = OpenAiTransport(Service("m"))
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(transport.embed, ["a"], 0.1)
        try:
            with pytest.raises(Problem, match="does not answer in time"):
                waiting.result(120)
        finally:
            released.set()
    transport.close()


@pytest.mark.parametrize(
    ("variable", "value", "key"),
    [("ALL_PROXY", "socks9://here:1", "k"), ("SSL_CERT_FILE", "/nowhere", "k"), ("NO_PROXY", "*", "ключ")],
    ids=["proxy", "certificates", "key"],
)
def test_a_client_that_cannot_be_set_up_is_an_unavailable_service(
    server: StandIn, monkeypatch: pytest.MonkeyPatch, variable: str, value: str, key: str
) -> None:
    service = Service("m", server.url, key)
    embedder = ServiceEmbedder("openai", service, OpenAiTransport(service), pause=lambda seconds: None)
    with monkeypatch.context() as environment, ThreadPoolExecutor(1) as threads:
        environment.setenv(variable, value)
        with pytest.raises(FindspotError, match="cannot be set up") as caught:
            threads.submit(embedder.query, "a").result(120)
    assert caught.value.code == "EMBEDDING_UNAVAILABLE"
    assert key not in caught.value.message.split()
    if key == "k":  # the cause is gone: the next request sets the client up
        assert len(embedder.query("a"))
    embedder.close()


def test_closing_ends_a_request_in_progress_and_refuses_later_ones(server: StandIn) -> None:
    asked, released = threading.Event(), threading.Event()

    def reply(body: dict[str, object]) -> Reply:
        asked.set()
        released.wait(120)
        return correct(body)

    server.behave = reply
    transport = OpenAiTransport(Service("m", server.url))
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(transport.embed, ["a"], 60)
        assert asked.wait(120)
        transport.close()
        with pytest.raises(Problem, match="was closed"):
            waiting.result()
    released.set()
    with pytest.raises(Problem, match="was closed"):
        transport.embed(["a"], 120)
    assert len(server.asked) == 1
