"""Requests to an OpenAI-compatible API. The rest is in tests/contracts/test_embedding_transport.py."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from findspot.embedding import openai
from findspot.embedding.openai import OpenAiTransport
from findspot.embedding.service import Problem, Service
from tests.embedding.service import Reply, StandIn, correct


def test_without_a_base_url_the_service_is_openai(server: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openai, "BASE_URL", server.url)
    transport = OpenAiTransport(Service("m"))
    assert len(transport.embed(["a"], 20)) == 1
    transport.close()
    assert server.asked == [{"model": "m", "input": ["a"], "encoding_format": "float"}]
    assert server.keys == [None]  # Ollama and others need no key


def test_a_base_url_may_end_with_a_slash(server: StandIn) -> None:
    transport = OpenAiTransport(Service("m", f"{server.url}/"))
    assert len(transport.embed(["a"], 20)) == 1
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


def test_closing_ends_a_request_in_progress_and_the_next_one_opens_it_again(server: StandIn) -> None:
    asked, released = threading.Event(), threading.Event()

    def reply(body: dict[str, object]) -> Reply:
        asked.set()
        released.wait(30)
        return correct(body)

    server.behave = reply
    transport = OpenAiTransport(Service("m", server.url))
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(transport.embed, ["a"], 60)
        assert asked.wait(30)
        transport.close()
        with pytest.raises(Problem, match="was closed"):
            waiting.result()
    released.set()
    assert len(transport.embed(["a"], 20)) == 1
    transport.close()
