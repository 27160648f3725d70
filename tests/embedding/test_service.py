"""Embedders behind an API: batches, retries and checks, against a service that is slow, wrong or down."""

import threading
from typing import Any

import numpy as np
import pytest

from findspot.embedding.openai import OpenAiTransport
from findspot.embedding.service import Service, ServiceEmbedder
from findspot.errors import FindspotError
from tests.embedding.conftest import MakeEmbedder
from tests.embedding.service import DIMENSION, Reply, StandIn, answer, correct, hangs_up, rows, status_error, vector

TEXTS = [f"text number {number}" for number in range(23)]


def unit(text: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    values = np.array(vector(text))
    return np.asarray(values / np.linalg.norm(values))


# ── answers that are right ──


@pytest.mark.scenario("003.embedding.batches")
def test_many_texts_go_in_batches_of_the_set_size_and_come_back_in_order(
    server: StandIn, make_embedder: MakeEmbedder
) -> None:
    vectors = make_embedder(batch=10).documents(TEXTS)
    assert [len(body["input"]) for body in server.asked] == [10, 10, 3]
    np.testing.assert_allclose(vectors, [unit(text) for text in TEXTS], atol=1e-6)
    assert vectors.dtype == np.float32


def test_the_dimension_is_asked_once_if_it_is_not_declared(server: StandIn, make_embedder: MakeEmbedder) -> None:
    embedder = make_embedder(dimensions=None)
    assert embedder.dimension == embedder.dimension == DIMENSION
    assert len(server.asked) == 1


def test_vectors_of_integers_or_of_any_length_are_scaled_to_length_one(
    server: StandIn, make_embedder: MakeEmbedder
) -> None:
    server.behave = lambda body: answer([{"index": 0, "embedding": [3, 4] + [0] * (DIMENSION - 2)}])
    np.testing.assert_allclose(make_embedder().query("why")[:3], [0.6, 0.8, 0], atol=1e-7)


# ── answers that are wrong ──


def test_vectors_are_ordered_by_their_index(server: StandIn, make_embedder: MakeEmbedder) -> None:
    server.behave = lambda body: answer(rows(body)[::-1])
    np.testing.assert_allclose(make_embedder().documents(TEXTS[:5]), [unit(text) for text in TEXTS[:5]], atol=1e-6)


def test_a_wrong_dimension_is_an_error_and_is_not_retried(server: StandIn, make_embedder: MakeEmbedder) -> None:
    server.behave = lambda body: answer(rows(body, DIMENSION + 1))
    with pytest.raises(FindspotError) as caught:
        make_embedder().documents(TEXTS)
    assert caught.value.code == "EMBEDDING_DIMENSION_MISMATCH"
    assert caught.value.fields == {"expected": DIMENSION, "found": DIMENSION + 1}
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    "wrong",
    [
        lambda body: answer(rows(body)[:-1]),
        lambda body: answer([{**row, "index": 0} for row in rows(body)]),
        lambda body: answer([{**row, "embedding": [1e300] * DIMENSION} for row in rows(body)]),
        lambda body: answer([rows(body)[0], *rows(body, DIMENSION + 1)[1:]]),
        hangs_up,
        status_error(500),
        status_error(429),
    ],
    ids=["fewer", "same index", "too large", "ragged", "hangs up", "500", "429"],
)
def test_an_unusable_answer_is_retried_and_fails_in_the_end(
    server: StandIn, make_embedder: MakeEmbedder, pauses: list[float], wrong: object
) -> None:
    server.behave = wrong  # type: ignore[assignment]
    with pytest.raises(FindspotError) as caught:
        make_embedder(batch=5).documents(TEXTS[:7])
    assert caught.value.code == "EMBEDDING_UNAVAILABLE"
    assert len(pauses) == 5
    server.first, server.behave = [wrong, wrong], correct  # type: ignore[list-item]
    np.testing.assert_allclose(make_embedder(batch=5).documents(TEXTS[:2]), [unit(t) for t in TEXTS[:2]], atol=1e-6)


# ── errors ──


@pytest.mark.scenario("003.embedding.rate-limits")
def test_rate_limits_are_met_with_pauses_and_retry_after_is_obeyed(
    server: StandIn, make_embedder: MakeEmbedder, pauses: list[float]
) -> None:
    server.first = [status_error(429), status_error(429, Retry_After="7"), status_error(503), status_error(429)]
    assert make_embedder().documents(TEXTS).shape == (len(TEXTS), DIMENSION)
    first, asked_for, third, fourth = pauses
    assert 0.25 <= first <= 0.5
    assert asked_for == 7
    assert 1 <= third <= 2
    assert 2 <= fourth <= 4


@pytest.mark.parametrize(
    ("status", "named"), [(401, "401 Unauthorized"), (403, "403 Forbidden"), (404, "404 Not Found")]
)
def test_permanent_errors_are_not_retried_and_the_words_of_the_service_are_not_repeated(
    server: StandIn, make_embedder: MakeEmbedder, pauses: list[float], status: int, named: str
) -> None:
    server.behave = status_error(status, "the key secret is wrong for 'text number 0'")
    with pytest.raises(FindspotError) as caught:
        make_embedder().documents(TEXTS)
    assert caught.value.code == "EMBEDDING_UNAVAILABLE"
    assert caught.value.message == f"openai/m gives no vectors. The embedding service answered {named}."
    assert (pauses, len(server.asked)) == ([], 1)


def test_a_service_that_does_not_exist_cannot_be_reached(make_embedder: MakeEmbedder) -> None:
    with pytest.raises(FindspotError) as caught:
        make_embedder(base_url="http://127.0.0.1:9/v1").query("why")
    assert caught.value.code == "EMBEDDING_UNAVAILABLE"
    assert "cannot be reached" in caught.value.message


@pytest.mark.parametrize("dimensions", [DIMENSION, None])
def test_calls_that_a_user_waits_for_are_retried_once(
    server: StandIn, make_embedder: MakeEmbedder, pauses: list[float], dimensions: int | None
) -> None:
    server.behave = status_error(503)
    embedder = make_embedder(dimensions=dimensions)
    with pytest.raises(FindspotError) as caught:
        embedder.query("why")
    assert caught.value.code == "EMBEDDING_UNAVAILABLE"
    assert (len(server.asked), len(pauses)) == (2, 1)
    with pytest.raises(FindspotError) as caught:
        embedder.documents(TEXTS, soon=True)
    assert caught.value.code == "EMBEDDING_UNAVAILABLE"
    assert (len(server.asked), len(pauses)) == (4, 2)


def test_a_closed_embedder_does_not_retry(server: StandIn) -> None:
    service = Service("m", server.url, dimensions=DIMENSION)
    embedder = ServiceEmbedder("openai", service, OpenAiTransport(service), pause=lambda seconds: embedder.close())
    server.behave = status_error(503)
    with pytest.raises(FindspotError) as caught:
        embedder.documents(TEXTS)
    assert caught.value.code == "EMBEDDING_UNAVAILABLE"
    assert len(server.asked) == 1


# ── texts that are refused ──


@pytest.mark.parametrize("empty", ["", " \n\t", "　"])
def test_an_empty_text_is_refused_by_its_index_without_a_request(
    server: StandIn, make_embedder: MakeEmbedder, empty: str
) -> None:
    with pytest.raises(FindspotError) as caught:
        make_embedder(batch=2).documents(["a", "b", "c", empty])
    assert (caught.value.code, caught.value.fields["index"]) == ("INVALID_ARGUMENT", 3)
    assert server.asked == []


@pytest.mark.parametrize(("culprit", "status"), [(0, 400), (7, 413), (8, 422), (22, 400)])
def test_the_text_that_the_service_refuses_is_found_in_its_batch(
    server: StandIn, make_embedder: MakeEmbedder, culprit: int, status: int
) -> None:
    texts = [*TEXTS]
    texts[culprit] = "long " * 100
    too_long = status_error(status, "maximum context length is 99 tokens")
    server.behave = lambda body: too_long(body) if any(len(text) > 99 for text in body["input"]) else correct(body)
    with pytest.raises(FindspotError) as caught:
        make_embedder(batch=8).documents(texts)
    assert (caught.value.code, caught.value.fields["index"]) == ("INVALID_ARGUMENT", culprit)
    assert caught.value.message == f"texts[{culprit}]: the embedding service refuses it, with {status}."


def test_a_service_that_refuses_everything_is_unavailable(server: StandIn, make_embedder: MakeEmbedder) -> None:
    server.behave = status_error(400, "no such model")
    with pytest.raises(FindspotError) as caught:
        make_embedder().documents(TEXTS)
    assert caught.value.code == "EMBEDDING_UNAVAILABLE"
    assert "answered 400 Bad Request" in caught.value.message


# ── slow ──


def test_a_query_fails_after_its_timeout(server: StandIn, make_embedder: MakeEmbedder) -> None:
    late = threading.Event()
    server.behave = lambda body: (late.wait(120), correct(body))[1]
    with pytest.raises(FindspotError) as caught:
        make_embedder(query_timeout_s=0.3).query("why")
    assert caught.value.code == "EMBEDDING_UNAVAILABLE"
    assert "does not answer in time" in caught.value.message
    assert not late.is_set()
    late.set()


def test_a_query_does_not_wait_while_the_dimension_is_asked(server: StandIn, make_embedder: MakeEmbedder) -> None:
    asked, query_is_done = threading.Event(), threading.Event()

    def reply(body: dict[str, Any]) -> Reply:
        if body["input"] == ["dimension"]:
            asked.set()
            assert query_is_done.wait(120)
        return correct(body)

    server.behave = reply
    embedder = make_embedder(dimensions=None)
    finding_out = threading.Thread(target=lambda: embedder.dimension)
    finding_out.start()
    assert asked.wait(120)
    np.testing.assert_allclose(embedder.query("quick"), unit("quick"), atol=1e-6)
    assert embedder.fingerprint == make_embedder().fingerprint
    assert finding_out.is_alive()
    query_is_done.set()
    finding_out.join()


def test_a_quick_request_overtakes_a_slow_one(server: StandIn, make_embedder: MakeEmbedder) -> None:
    quick_is_done = threading.Event()
    server.behave = lambda body: (body["input"] == ["slow"] and quick_is_done.wait(120), correct(body))[1]
    embedder, found = make_embedder(), []
    slow = threading.Thread(target=lambda: found.append(embedder.documents(["slow"])))
    slow.start()
    np.testing.assert_allclose(embedder.query("quick"), unit("quick"), atol=1e-6)
    quick_is_done.set()
    slow.join()
    np.testing.assert_allclose(found[0][0], unit("slow"), atol=1e-6)
