"""Embedders behind an API, against a real service on loopback that is slow, wrong and rude."""

import json
import math
import os
import subprocess
import sys
import threading
from typing import Any

import numpy as np
import pytest

from findspot.embedding.litellm_process import _ENVIRONMENT, LitellmProcess, Problem
from findspot.errors import FindspotError
from tests.embedding.conftest import MakeLitellm
from tests.embedding.service import DIMENSION, Reply, Service, answer, hangs_up, rows, says, vector, well

TEXTS = [f"text number {number}" for number in range(23)]


def unit(text: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    values = np.array(vector(text))
    return np.asarray(values / np.linalg.norm(values))


# ── as it should be ──


@pytest.mark.scenario("003.embedding.batches")
def test_many_texts_go_in_batches_of_the_set_size_and_come_back_in_their_order(
    server: Service, make_litellm: MakeLitellm
) -> None:
    vectors = make_litellm(batch=10).documents(TEXTS)
    assert [len(body["input"]) for body in server.asked] == [10, 10, 3]
    np.testing.assert_allclose(vectors, [unit(text) for text in TEXTS], atol=1e-6)
    assert vectors.dtype == np.float32


def test_the_service_is_asked_with_the_model_and_the_key_that_are_set(
    server: Service, make_litellm: MakeLitellm
) -> None:
    make_litellm().query("why")
    assert server.asked[0]["model"] == "m"
    assert server.keys == ["Bearer secret"]


def test_dimensions_are_asked_for_where_the_model_can_be_shortened(server: Service, make_litellm: MakeLitellm) -> None:
    make_litellm(model="openai/text-embedding-3-small").query("why")
    assert server.asked[0]["dimensions"] == DIMENSION


def test_dimensions_that_are_not_declared_are_found_out_once(server: Service, make_litellm: MakeLitellm) -> None:
    embedder = make_litellm(dimensions=None)
    assert embedder.dimension == embedder.dimension == DIMENSION
    assert len(server.asked) == 1


def test_a_service_that_gives_whole_numbers_or_long_vectors_still_gives_vectors_of_length_one(
    server: Service, make_litellm: MakeLitellm
) -> None:
    server.behave = lambda body: answer([{"index": 0, "embedding": [3, 4] + [0] * (DIMENSION - 2)}])
    np.testing.assert_allclose(make_litellm().query("why")[:3], [0.6, 0.8, 0], atol=1e-7)


# ── wrong ──


def test_vectors_are_put_in_order_by_their_index(server: Service, make_litellm: MakeLitellm) -> None:
    server.behave = lambda body: answer(rows(body)[::-1])
    np.testing.assert_allclose(make_litellm().documents(TEXTS[:5]), [unit(text) for text in TEXTS[:5]], atol=1e-6)


def test_another_dimension_than_the_declared_one_is_an_error_of_its_own_and_gives_nothing(
    server: Service, make_litellm: MakeLitellm
) -> None:
    server.behave = lambda body: answer(rows(body, DIMENSION + 1))
    with pytest.raises(FindspotError) as caught:
        make_litellm().documents(TEXTS)
    assert caught.value.code == "EMBEDDING_DIMENSION_MISMATCH"
    assert caught.value.fields == {"expected": DIMENSION, "found": DIMENSION + 1}
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    "wrong",
    [
        lambda body: answer(rows(body)[:-1]),
        lambda body: answer([]),
        lambda body: answer([{**row, "index": 0} for row in rows(body)]),
        lambda body: answer([{**row, "index": row["index"] + 1} for row in rows(body)]),
        lambda body: answer([{**row, "embedding": [math.nan] * DIMENSION} for row in rows(body)]),
        lambda body: answer([{**row, "embedding": [math.inf] * DIMENSION} for row in rows(body)]),
        lambda body: answer([{**row, "embedding": [None] * DIMENSION} for row in rows(body)]),
        lambda body: answer([{**row, "embedding": []} for row in rows(body)]),
        lambda body: answer([rows(body)[0], *rows(body, DIMENSION + 1)[1:]]),
        lambda body: (200, {}, b"<html>It works!</html>"),
        lambda body: (200, {}, b'{"data": ['),
        lambda body: (200, {}, {"object": "list"}),
        hangs_up,
        says(500),
        says(503),
        says(429),
    ],
    ids=["fewer", "none", "same index", "index off", "NaN", "infinite", "null", "empty", "ragged", "HTML", "cut off",
         "no data", "hangs up", "500", "503", "429"],
)  # fmt: skip
def test_an_answer_that_is_none_is_asked_for_again_and_in_the_end_gives_nothing_at_all(
    server: Service, make_litellm: MakeLitellm, pauses: list[float], wrong: object
) -> None:
    server.behave = wrong  # type: ignore[assignment]
    with pytest.raises(FindspotError) as caught:
        make_litellm(batch=5).documents(TEXTS[:7])
    assert caught.value.code == "EMBEDDING_UNAVAILABLE"
    assert len(pauses) == 5
    server.first, server.behave = [wrong, wrong], well  # type: ignore[list-item]
    np.testing.assert_allclose(make_litellm(batch=5).documents(TEXTS[:2]), [unit(t) for t in TEXTS[:2]], atol=1e-6)


# ── rude ──


@pytest.mark.scenario("003.embedding.rate-limits")
def test_a_service_that_limits_the_rate_is_met_with_pauses(
    server: Service, make_litellm: MakeLitellm, pauses: list[float]
) -> None:
    server.first = [says(429), says(429, Retry_After="7"), says(503), says(429)]
    assert make_litellm().documents(TEXTS).shape == (len(TEXTS), DIMENSION)
    first, asked_for, third, fourth = pauses
    assert 0.25 <= first <= 0.5
    assert asked_for == 7
    assert 1 <= third <= 2
    assert 2 <= fourth <= 4


@pytest.mark.parametrize(
    ("status", "named"), [(401, "401 Unauthorized"), (403, "403 Forbidden"), (404, "404 Not Found")]
)
def test_what_waiting_does_not_help_against_is_not_waited_for(
    server: Service, make_litellm: MakeLitellm, pauses: list[float], status: int, named: str
) -> None:
    server.behave = says(status, "the key secret is wrong for 'text number 0'")
    with pytest.raises(FindspotError) as caught:
        make_litellm().documents(TEXTS)
    assert caught.value.code == "EMBEDDING_UNAVAILABLE"
    said = f"litellm/openai/m gives no vectors. The embedding service answered {named}."
    assert caught.value.message == said  # and not what the service said of texts and keys
    assert (pauses, len(server.asked)) == ([], 1)


def test_no_service_at_all(make_litellm: MakeLitellm) -> None:
    with pytest.raises(FindspotError) as caught:
        make_litellm(base_url="http://127.0.0.1:9/v1").query("why")
    assert caught.value.code == "EMBEDDING_UNAVAILABLE"
    assert "cannot be reached" in caught.value.message


@pytest.mark.parametrize("dimensions", [DIMENSION, None])
def test_for_someone_who_waits_trouble_is_met_with_one_more_try(
    server: Service, make_litellm: MakeLitellm, pauses: list[float], dimensions: int | None
) -> None:
    server.behave = says(503)
    embedder = make_litellm(dimensions=dimensions)
    with pytest.raises(FindspotError) as caught:
        embedder.query("why")
    assert caught.value.code == "EMBEDDING_UNAVAILABLE"
    assert (len(server.asked), len(pauses)) == (2, 1)
    with pytest.raises(FindspotError) as caught:
        embedder.documents(TEXTS, soon=True)
    assert caught.value.code == "EMBEDDING_UNAVAILABLE"
    assert (len(server.asked), len(pauses)) == (4, 2)


def test_an_embedder_that_is_closed_does_not_try_again(
    server: Service, make_litellm: MakeLitellm, process: LitellmProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "close", lambda: None)  # other tests need it
    embedder = make_litellm()
    monkeypatch.setattr(embedder, "_pause", lambda seconds: embedder.close())
    server.behave = says(503)
    with pytest.raises(FindspotError) as caught:
        embedder.documents(TEXTS)
    assert caught.value.code == "EMBEDDING_UNAVAILABLE"
    assert len(server.asked) == 1


# ── texts that cannot be ──


@pytest.mark.parametrize("empty", ["", " \n\t", "　"])
def test_an_empty_text_is_refused_by_its_index_before_anyone_is_asked(
    server: Service, make_litellm: MakeLitellm, empty: str
) -> None:
    with pytest.raises(FindspotError) as caught:
        make_litellm(batch=2).documents(["a", "b", "c", empty])
    assert (caught.value.code, caught.value.fields["index"]) == ("INVALID_ARGUMENT", 3)
    assert server.asked == []


@pytest.mark.parametrize("status", [400, 413, 422])
@pytest.mark.parametrize("culprit", [0, 7, 8, 14, 22])
def test_a_text_that_is_too_long_is_found_in_its_batch(
    server: Service, make_litellm: MakeLitellm, culprit: int, status: int
) -> None:
    texts = [*TEXTS]
    texts[culprit] = "long " * 100
    too_long = says(status, "maximum context length is 99 tokens")
    server.behave = lambda body: too_long(body) if any(len(text) > 99 for text in body["input"]) else well(body)
    with pytest.raises(FindspotError) as caught:
        make_litellm(batch=8).documents(texts)
    assert (caught.value.code, caught.value.fields["index"]) == ("INVALID_ARGUMENT", culprit)
    assert caught.value.message == f"texts[{culprit}]: the embedding service refuses it, with {status}."


def test_a_service_that_refuses_everything_does_not_blame_a_text(server: Service, make_litellm: MakeLitellm) -> None:
    server.behave = says(400, "no such model")
    with pytest.raises(FindspotError) as caught:
        make_litellm().documents(TEXTS)
    assert caught.value.code == "EMBEDDING_UNAVAILABLE"
    assert "answered 400 Bad Request" in caught.value.message


# ── slow ──


def test_a_query_takes_no_longer_than_it_may(server: Service, make_litellm: MakeLitellm) -> None:
    late = threading.Event()
    server.behave = lambda body: (late.wait(20), well(body))[1]
    with pytest.raises(FindspotError) as caught:
        make_litellm(query_timeout_s=0.3).query("why")
    assert caught.value.code == "EMBEDDING_UNAVAILABLE"
    assert "does not answer in time" in caught.value.message
    assert not late.is_set()
    late.set()


def test_a_query_does_not_wait_for_someone_who_finds_out_the_dimension(
    server: Service, make_litellm: MakeLitellm
) -> None:
    asked, query_is_done = threading.Event(), threading.Event()

    def reply(body: dict[str, Any]) -> Reply:
        if body["input"] == ["dimension"]:
            asked.set()
            assert query_is_done.wait(20)
        return well(body)

    server.behave = reply
    embedder = make_litellm(dimensions=None)
    finding_out = threading.Thread(target=lambda: embedder.dimension)
    finding_out.start()
    assert asked.wait(20)
    np.testing.assert_allclose(embedder.query("quick"), unit("quick"), atol=1e-6)
    assert embedder.fingerprint == make_litellm().fingerprint
    assert finding_out.is_alive()
    query_is_done.set()
    finding_out.join()


def test_questions_overtake_one_another(server: Service, make_litellm: MakeLitellm) -> None:
    quick_is_done = threading.Event()
    server.behave = lambda body: (body["input"] == ["slow"] and quick_is_done.wait(20), well(body))[1]
    embedder, found = make_litellm(), []
    slow = threading.Thread(target=lambda: found.append(embedder.documents(["slow"])))
    slow.start()
    np.testing.assert_allclose(embedder.query("quick"), unit("quick"), atol=1e-6)
    quick_is_done.set()
    slow.join()
    np.testing.assert_allclose(found[0][0], unit("slow"), atol=1e-6)


# ── the process ──


def test_a_process_that_dies_is_replaced(server: Service) -> None:
    process = LitellmProcess()
    question = {"model": "openai/m", "input": ["a"], "api_base": server.url, "api_key": "k"}
    try:
        assert len(process.ask(question, 20)) == 1
        assert process._running is not None
        dying = process._running

        def kill(body: dict[str, Any]) -> Reply:
            dying._process.kill()
            return well(body)

        server.behave = kill
        with pytest.raises(Problem, match="has ended"):
            process.ask(question, 20)
        server.behave = well
        assert len(process.ask(question, 20)) == 1
    finally:
        process.close()


def test_what_cannot_be_sent_keeps_no_one_waiting(server: Service) -> None:
    process = LitellmProcess()
    question = {"model": "openai/m", "input": ["\ud800"], "api_base": server.url, "api_key": "k"}
    try:
        with pytest.raises(UnicodeEncodeError):
            process.ask(question, 20)
        assert process._running is not None
        assert process._running._waiting == {}
    finally:
        process.close()


def test_litellm_calls_no_one_but_the_service(server: Service) -> None:
    """Every connection that the process opens, and every name it looks up, is noted."""
    script = f"""
import json, sys
seen = []
sys.addaudithook(lambda event, args: seen.append([event, str(args[-1] if event == "socket.connect" else args[0])])
                 if event in ("socket.connect", "socket.getaddrinfo") else None)
import litellm
litellm.telemetry = False
litellm.embedding(model="openai/m", input=["a"], api_base={server.url!r}, api_key="k")
try:
    litellm.embedding(model="openai/nowhere", input=["a"], api_base={server.url!r} + "/x", api_key="k", timeout=5)
except Exception:
    pass
print(json.dumps(seen))
"""
    environment = {**os.environ, **_ENVIRONMENT}
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, env=environment)
    seen = json.loads(ended.stdout.splitlines()[-1])
    assert seen
    assert [each for each in seen if "127.0.0.1" not in each[1]] == []
