"""Vectors of texts are cached in the store, vectors of queries in memory, and a failing service is left alone."""

import asyncio
import hashlib
import random
import threading
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from findspot.embedding.calibration import Calibration
from findspot.embedding.protocol import Vector, Vectors, refused
from findspot.errors import FindspotError
from findspot.runtime import embeddings as embeddings_module
from findspot.runtime.embeddings import Embeddings
from findspot.runtime.threads import EMBED_QUERIES, Threads
from findspot.settings import Settings
from findspot.store import embeddings as stored
from findspot.store.database import Store
from tests.flows import PATIENCE_S


class Counting:
    """An embedder that records its calls. Blank texts are zeros, 'bad…' is refused, 'unavailable' fails."""

    id = "counting"
    dimension = 8
    batch = 4
    calibration = Calibration(10, -3)
    vector_weight = 0.25
    is_quick = True
    word_table = None

    def __init__(self, fingerprint: str = "one") -> None:
        self.fingerprint = fingerprint
        self.calls: list[list[str]] = []
        self.queries: list[str] = []

    def documents(self, texts: Sequence[str], *, soon: bool = False) -> Vectors:
        self.calls.append(list(texts))
        for index, text in enumerate(texts):
            if text.startswith("bad"):
                raise refused(index, "it is bad.")
            if text == "unavailable":
                raise FindspotError("EMBEDDING_UNAVAILABLE", "unavailable")
        return np.stack([vector(text) for text in texts])

    def query(self, text: str) -> Vector:
        self.queries.append(text)
        return vector(text)

    def knows(self, text: str) -> bool:
        return True

    def close(self) -> None:
        """Nothing is open."""

    @property
    def asked(self) -> list[str]:
        return [text for call in self.calls for text in call]


def vector(text: str) -> Vector:
    """Return a vector that depends on the text alone."""
    if not text.strip():
        return np.zeros(8, np.float32)
    values = np.frombuffer(hashlib.sha256(text.encode()).digest(), np.uint8)[:8].astype(np.float32) - 127.5
    unit: Vector = values / np.linalg.norm(values)
    return unit


@pytest.fixture
def embedder() -> Counting:
    return Counting()


async def test_vectors_come_in_the_order_of_the_texts(store: Store, threads: Threads, embedder: Counting) -> None:
    texts = [f"text {number}" for number in range(11)]
    vectors = await Embeddings(store, embedder, threads, 60).documents(texts)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(vectors, [vector(text) for text in texts], atol=1e-3)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    assert [len(call) for call in embedder.calls] == [4, 4, 3]


@pytest.mark.scenario("003.cache.same-text")
async def test_a_text_is_embedded_once_in_a_batch_across_batches_and_after_a_restart(
    database_url: str | None, tmp_path: Path, threads: Threads, embedder: Counting
) -> None:
    texts = ["a", "b", "a", "c", "b", "d", "a", "e", "e"]
    found = []
    for _ in range(2):
        store = await Store.open(database_url, tmp_path / "findspot.db")
        found.append(await Embeddings(store, embedder, threads, 60).documents(texts))
        found.append((await Embeddings(store, embedder, threads, 60).documents(texts[::-1]))[::-1])
        await store.close()
    assert embedder.asked == ["a", "b", "c", "d", "e"]
    assert all(np.array_equal(found[0], each) for each in found)


async def test_two_concurrent_calls_embed_the_same_texts_once(
    store: Store, threads: Threads, embedder: Counting
) -> None:
    embeddings = Embeddings(store, embedder, threads, 60)
    texts = [f"text {number}" for number in range(10)]
    first, second = await asyncio.gather(embeddings.documents(texts), embeddings.documents(texts))
    assert np.array_equal(first, second)
    assert sorted(embedder.asked) == sorted(texts)


async def test_each_fingerprint_has_its_own_vectors(store: Store, threads: Threads) -> None:
    one, two = Counting("one"), Counting("two")
    for each in (one, two, one, two):
        await Embeddings(store, each, threads, 60).documents(["a"])
    assert one.asked == two.asked == ["a"]


async def test_a_vector_of_zeros_is_cached_too(store: Store, threads: Threads, embedder: Counting) -> None:
    for _ in range(2):
        vectors = await Embeddings(store, embedder, threads, 60).documents(["a", " ", "b"])
        assert vectors.any(axis=1).tolist() == [True, False, True]
    assert len(embedder.calls) == 1


async def test_no_texts(store: Store, threads: Threads, embedder: Counting) -> None:
    assert (await Embeddings(store, embedder, threads, 60).documents([])).shape == (0, 8)


async def test_a_refused_text_is_zeros_and_the_others_are_embedded(
    store: Store, threads: Threads, embedder: Counting
) -> None:
    embeddings = Embeddings(store, embedder, threads, 60)
    await embeddings.documents(["a", "b"])
    texts = ["a", "a", "b", "c", "d", "d", "bad", "e", "bad"]
    for _ in range(2):
        vectors = await embeddings.documents(texts)
        assert vectors.any(axis=1).tolist() == [text != "bad" for text in texts]
        np.testing.assert_allclose(vectors[7], vector("e"), atol=1e-3)
    assert [call for call in embedder.calls if "e" in call] == [
        ["d", "bad", "e"],
        ["e"],
    ]  # it was kept, the other was not


@pytest.mark.parametrize("bad", [1, 30, 64])
async def test_many_refused_texts_are_found_with_few_calls(
    store: Store, threads: Threads, embedder: Counting, bad: int
) -> None:
    embedder.batch = 64
    chance = random.Random(bad)
    texts = [f"bad {number}" if number < bad else f"good {number}" for number in range(64)]
    chance.shuffle(texts)
    vectors = await Embeddings(store, embedder, threads, 60).documents(texts)
    assert vectors.any(axis=1).tolist() == [text.startswith("good") for text in texts]
    assert len(embedder.calls) <= 3 * bad + 1
    assert sum(map(len, embedder.calls)) <= 64 * 7


async def test_a_failure_loses_only_its_own_batch(store: Store, threads: Threads, embedder: Counting) -> None:
    embeddings = Embeddings(store, embedder, threads, 60)
    with pytest.raises(FindspotError, match="unavailable"):
        await embeddings.documents(["a", "b", "c", "d", "unavailable"])
    await embeddings.documents(["a", "b", "c", "d"])
    assert embedder.calls == [["a", "b", "c", "d"], ["unavailable"]]


async def test_vectors_of_a_cancelled_call_are_stored_nevertheless(
    store: Store, threads: Threads, embedder: Counting, monkeypatch: pytest.MonkeyPatch
) -> None:
    storing, going_on, put = asyncio.Event(), asyncio.Event(), stored.put

    async def late(*arguments: Any) -> None:
        storing.set()
        await going_on.wait()
        await put(*arguments)

    monkeypatch.setattr(stored, "put", late)
    own_threads = Threads.open()
    embeddings = Embeddings(store, embedder, own_threads, 60)
    work = asyncio.create_task(embeddings.documents(["a", "文"]))
    await asyncio.wait_for(storing.wait(), PATIENCE_S)
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    going_on.set()
    await embeddings.close()
    await own_threads.close()
    await Embeddings(store, embedder, threads, 60).documents(["a", "文"])
    assert embedder.calls == [["a", "文"]]


async def test_thousands_of_vectors_are_found_again(store: Store) -> None:
    vectors = {hashlib.sha256(str(number).encode()).digest(): bytes([number % 256]) * 8 for number in range(2300)}
    async with store.write() as connection:
        await stored.put(connection, "f", vectors)
        await stored.put(connection, "f", {next(iter(vectors)): b"other"})
    async with store.read() as connection:
        assert await stored.get(connection, "f", list(vectors)) == vectors
        assert await stored.get(connection, "g", list(vectors)) == {}


# ── queries ──


@pytest.mark.scenario("003.cache.embedding")
async def test_a_query_is_cached_until_its_time_to_live_has_passed(
    store: Store, threads: Threads, embedder: Counting
) -> None:
    now = [0.0]
    embeddings = Embeddings(store, embedder, threads, 3600, lambda: now[0])
    for second, calls in ((0.0, 1), (3599.0, 1), (3600.0, 2), (3601.0, 2)):
        now[0] = second
        assert np.array_equal(await embeddings.query("why"), vector("why"))
        assert len(embedder.queries) == calls


async def test_a_query_embedded_in_the_thread_of_a_caller_is_cached_too(
    store: Store, threads: Threads, embedder: Counting
) -> None:
    embeddings = Embeddings(store, embedder, threads, 3600)
    assert not embeddings.is_at_hand
    await embeddings.prepare()
    assert embeddings.is_at_hand
    for _ in range(2):
        assert np.array_equal(embeddings.query_here("why 为何"), vector("why 为何"))
    await embeddings.query("why 为何")
    assert embedder.queries == ["why 为何"]


@pytest.mark.scenario("003.cache.embedding")
async def test_the_number_of_cached_queries_is_limited(
    store: Store, threads: Threads, embedder: Counting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embeddings_module, "QUERIES_KEPT", 3)
    embeddings = Embeddings(store, embedder, threads, 60)
    for text in ("a", "b", "c", "d", "b", "c", "d", "a"):
        await embeddings.query(text)
    assert embedder.queries == ["a", "b", "c", "d", "a"]


@pytest.mark.scenario("003.setting.enable-embedding-cache")
@pytest.mark.parametrize(
    ("changes", "asked"), [({}, 1), ({"enable_embedding_cache": False}, 2), ({"embedding_cache_ttl": 0}, 2)]
)
async def test_queries_are_cached_unless_the_settings_switch_it_off(
    store: Store,
    threads: Threads,
    embedder: Counting,
    monkeypatch: pytest.MonkeyPatch,
    changes: dict[str, Any],
    asked: int,
) -> None:
    monkeypatch.setattr(embeddings_module, "open_embedder", lambda settings: embedder)
    embeddings = Embeddings.open(store, Settings(**changes), threads)
    await embeddings.query("why")
    await embeddings.query("why")
    assert len(embedder.queries) == asked


# ── the circuit breaker ──


class Remote(Counting):
    """An embedder like a service: it fails with `error` if that is set, and answers only while it is `open`."""

    def __init__(self) -> None:
        super().__init__()
        self.error: FindspotError | None = None
        self.open = threading.Event()
        self.open.set()
        self.is_busy = threading.Semaphore(0)  # released for every query that has come in

    def query(self, text: str) -> Vector:
        self.queries.append(text)
        self.is_busy.release()
        if not self.open.wait(PATIENCE_S):
            raise TimeoutError("the test did not open the embedder")
        if self.error is not None:
            raise self.error
        return vector(text)


@pytest.fixture
def remote() -> Remote:
    return Remote()


@pytest.fixture
def now() -> list[float]:
    return [0.0]


@pytest.fixture
async def unavailable(tmp_path: Path, threads: Threads, remote: Remote, now: list[float]) -> AsyncIterator[Embeddings]:
    """Embeddings of a service that became unavailable after it was asked for 'before'."""
    store = await Store.open(None, tmp_path / "findspot.db")
    embeddings = Embeddings(store, remote, threads, 3600, lambda: now[0])
    await embeddings.query("before")
    remote.error = FindspotError("EMBEDDING_UNAVAILABLE", "unavailable")
    await fails(embeddings, "then")
    remote.queries.clear()
    yield embeddings
    remote.open.set()
    await embeddings.close()
    await store.close()


async def fails(embeddings: Embeddings, text: str) -> str:
    with pytest.raises(FindspotError) as caught:
        await embeddings.query(text)
    return caught.value.code


async def busy(remote: Remote, queries: int = 1) -> None:
    for _ in range(queries):
        assert await asyncio.to_thread(remote.is_busy.acquire, timeout=PATIENCE_S)


async def test_while_the_breaker_is_open_no_query_reaches_the_service(unavailable: Embeddings, remote: Remote) -> None:
    for number in range(20):
        assert await fails(unavailable, f"text {number} 文字") == "EMBEDDING_UNAVAILABLE"
    with pytest.raises(FindspotError, match="unavailable"):
        await unavailable.embed_unstored(["now"])
    assert (remote.queries, remote.calls) == ([], [])


@pytest.mark.parametrize("code", ["EMBEDDING_UNAVAILABLE", "EMBEDDING_DIMENSION_MISMATCH"])
async def test_the_breaker_repeats_the_error_of_the_service(
    unavailable: Embeddings, remote: Remote, now: list[float], code: str
) -> None:
    now[0] += 1
    remote.error = FindspotError(code, "wrong")
    for number in range(3):
        assert await fails(unavailable, f"text {number}") == code
    assert remote.queries == ["text 0"]


async def test_a_refused_query_does_not_open_the_breaker(
    unavailable: Embeddings, remote: Remote, now: list[float]
) -> None:
    now[0] += 1
    remote.error = None
    await unavailable.query("back")
    remote.error = refused(0, "too long")
    assert await fails(unavailable, "a query 查询") == "EMBEDDING_UNAVAILABLE"
    remote.error = None
    await unavailable.query("now")
    assert remote.queries == ["back", "a query 查询", "now"]


async def test_a_cached_query_has_its_vector_while_the_breaker_is_open(unavailable: Embeddings, remote: Remote) -> None:
    assert np.array_equal(await unavailable.query("before"), vector("before"))
    assert remote.queries == []


async def test_one_query_probes_the_service_while_the_others_fail_at_once(
    unavailable: Embeddings, remote: Remote, now: list[float]
) -> None:
    now[0] += 1
    remote.error = None
    remote.open.clear()
    await busy(remote, 2)  # those from before
    first = asyncio.create_task(unavailable.query("first"))
    await busy(remote)
    for number in range(20):
        assert await fails(unavailable, f"text {number}") == "EMBEDDING_UNAVAILABLE"
    assert not first.done()
    remote.open.set()
    await first
    await unavailable.query("second")
    assert remote.queries == ["first", "second"]


async def test_queries_that_wait_for_a_thread_do_not_call_a_service_that_failed_meanwhile(
    unavailable: Embeddings, remote: Remote, now: list[float]
) -> None:
    remote.error = None
    now[0] += 1
    await unavailable.query("back")
    remote.open.clear()
    asking = [asyncio.create_task(fails(unavailable, f"text {number}")) for number in range(50)]
    await busy(remote, 3 + EMBED_QUERIES)
    remote.error = FindspotError("EMBEDDING_UNAVAILABLE", "unavailable again")
    remote.open.set()
    assert set(await asyncio.gather(*asking)) == {"EMBEDDING_UNAVAILABLE"}
    assert len(remote.queries) == 1 + EMBED_QUERIES


async def test_indexing_a_text_closes_the_breaker(unavailable: Embeddings, remote: Remote) -> None:
    remote.error = None
    await unavailable.documents(["a", "b"])
    remote.queries.clear()
    await unavailable.query("now")
    assert remote.queries == ["now"]


async def test_a_cancelled_query_that_waits_for_a_thread_is_never_sent(unavailable: Embeddings, remote: Remote) -> None:
    remote.error = None
    await unavailable.documents(["a"])
    remote.open.clear()
    before = len(remote.queries)
    asking = [asyncio.create_task(unavailable.query(f"text {number}")) for number in range(50)]
    await busy(remote, 2 + EMBED_QUERIES)
    for each in asking:
        each.cancel()
    await asyncio.gather(*asking, return_exceptions=True)
    remote.open.set()
    await unavailable.query("now")
    assert len(remote.queries) - before == EMBED_QUERIES + 1
