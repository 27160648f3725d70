"""What holds for every transport to an embedding service."""

import math
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from findspot.embedding.openai import OpenAiTransport
from findspot.embedding.service import Problem, Service, ServiceEmbedder, Transport
from findspot.errors import FindspotError
from findspot.runtime.embedders import LitellmTransport
from findspot.runtime.processes import SharedProcess
from tests.embedding import service
from tests.embedding.service import DIMENSION, Behaviour, StandIn, answer, correct, hangs_up, rows, status_error

Make = Callable[..., Transport]


@pytest.fixture(scope="module")
def server() -> Iterator[StandIn]:
    with service.running() as started:
        yield started


@pytest.fixture(params=["openai", "litellm"])
def make(request: pytest.FixtureRequest, server: StandIn, litellm_process: SharedProcess) -> Iterator[Make]:
    made: list[OpenAiTransport] = []
    server.asked.clear()
    server.keys.clear()
    server.behave = correct

    def transport(model: str = "m", url: str = server.url, dimensions: int | None = None) -> Transport:
        if request.param == "litellm":
            return LitellmTransport(Service(f"openai/{model}", url, "secret", dimensions), litellm_process)
        made.append(OpenAiTransport(Service(model, url, "secret", dimensions)))
        return made[-1]

    yield transport
    for each in made:
        each.close()


def problem(transport: Transport, timeout_s: float = 120) -> Problem:
    with pytest.raises(Problem) as caught:
        transport.embed(["secret text"], timeout_s)
    return caught.value


def test_it_sends_model_texts_and_key_and_returns_a_vector_for_each_text(make: Make, server: StandIn) -> None:
    found = make().embed(["one", "二"], 120)
    assert [index for index, _ in found] == [0, 1]
    for text, (_, vector) in zip(["one", "二"], found, strict=True):
        np.testing.assert_allclose(np.frombuffer(vector, np.float32), service.vector(text), atol=1e-6)
    assert (server.asked[0]["model"], server.asked[0]["input"]) == ("m", ["one", "二"])
    assert server.keys == ["Bearer secret"]


def test_it_asks_for_fewer_dimensions_only_where_the_model_can_be_shortened(make: Make, server: StandIn) -> None:
    make("text-embedding-3-small", dimensions=DIMENSION).embed(["a"], 120)
    make("other", dimensions=DIMENSION).embed(["a"], 120)
    assert [body.get("dimensions") for body in server.asked] == [DIMENSION, None]


@pytest.mark.parametrize(
    ("behaviour", "status", "retry_after", "message"),
    [
        (status_error(401, "the key secret is wrong"), 401, None, "The embedding service answered 401 Unauthorized."),
        (status_error(400, "secret text"), 400, None, "The embedding service answered 400 Bad Request."),
        (status_error(429, Retry_After="7"), 429, 7, "The embedding service answered 429 Too Many Requests."),
        (status_error(503, Retry_After="Wed, 21 Oct 2026 07:28:00 GMT"), 503, None, "503 Service Unavailable."),
        (status_error(503, Retry_After="nan"), 503, None, "503 Service Unavailable."),
    ],
    ids=["401", "400", "429", "a date", "not a number"],
)
def test_a_problem_has_a_status_and_our_own_words(
    make: Make, server: StandIn, behaviour: Behaviour, status: int | None, retry_after: float | None, message: str
) -> None:
    server.behave = behaviour
    found = problem(make())
    assert (found.status, found.retry_after) == (status, retry_after)
    assert message in str(found)
    assert "secret" not in str(found)


@pytest.mark.parametrize(
    "behaviour",
    [
        lambda body: answer([]),
        lambda body: answer([{**row, "index": row["index"] + 1} for row in rows(body)]),
        lambda body: answer([{**row, "embedding": [math.nan] * DIMENSION} for row in rows(body)]),
        lambda body: answer([{**row, "embedding": [1e300] * DIMENSION} for row in rows(body)]),
        lambda body: answer([{**row, "embedding": [None] * DIMENSION} for row in rows(body)]),
        lambda body: answer([{**row, "embedding": []} for row in rows(body)]),
        lambda body: (200, {}, {"object": "list", "data": [{"index": 0}]}),
        lambda body: (200, {}, {"object": "list"}),
        lambda body: (200, {}, b"<html>It works!</html>"),
        lambda body: (200, {}, b'{"data": ['),
        hangs_up,
    ],
    ids=["none", "index off", "NaN", "too large", "null", "empty", "no embedding", "no data", "HTML", "cut off",
         "hangs up"],
)  # fmt: skip
def test_an_unusable_answer_is_an_unavailable_service(make: Make, server: StandIn, behaviour: Behaviour) -> None:
    server.behave = behaviour
    embedder = ServiceEmbedder("kind", Service("m"), make(), pause=lambda seconds: None)
    with pytest.raises(FindspotError) as caught:
        embedder.query("secret text")
    assert caught.value.code == "EMBEDDING_UNAVAILABLE"
    assert "secret" not in caught.value.message
    assert len(server.asked) == 2


def test_a_service_that_is_not_there_cannot_be_reached(make: Make) -> None:
    assert "cannot be reached" in str(problem(make(url="http://127.0.0.1:9/v1")))


def test_a_slow_service_is_a_problem_after_the_timeout(make: Make, server: StandIn) -> None:
    released = threading.Event()
    server.behave = lambda body: (released.wait(120), correct(body))[1]
    assert "does not answer in time" in str(problem(make(), 0.3))
    released.set()


def test_a_quick_request_overtakes_a_slow_one(make: Make, server: StandIn) -> None:
    released, transport = threading.Event(), make()
    server.behave = lambda body: (body["input"] == ["slow"] and released.wait(120), correct(body))[1]
    with ThreadPoolExecutor(1) as threads:
        slow = threads.submit(transport.embed, ["slow"], 120)
        assert len(transport.embed(["quick"], 120)) == 1
        assert not slow.done()
        released.set()
        assert len(slow.result()) == 1
