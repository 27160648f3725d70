"""Comparing chunks with a query segment by segment."""

import threading

import numpy as np
import pytest

from findspot.ranking.fusion import SEGMENT_LENGTH
from findspot.search.segments import Segments
from tests.flows import FakeEmbedder

LONG = f"{'A quiet harbour. ' * 12}The heron stands in the reeds. {'Rain on the quay. ' * 12}"
汉 = f"{'安静的港口。' * 40}苍鹭 站在 芦苇里。{'雨落在码头。' * 40}"


@pytest.mark.parametrize(
    ("text", "asked"), [(LONG, "The heron stands in the reeds."), (汉, "苍鹭 站在"), ("e\u0301 🐦", "🐦")]
)
def test_a_chunk_gets_the_cosine_of_its_best_segment(text: str, asked: str) -> None:
    embedder = FakeEmbedder()
    query = embedder.query(asked)
    best = Segments(embedder).best(query, {7: text, 8: "zebra"})
    whole = float(embedder.query(text) @ query)
    assert best[7] >= max(whole, best[8])
    assert all(len(segment) <= SEGMENT_LENGTH for segment in embedder.asked)


def test_cached_segments_are_not_embedded_again() -> None:
    embedder = FakeEmbedder()
    segments = Segments(embedder, max_vectors=2)
    query = embedder.query("heron")
    first = segments.best(query, {1: "heron one", 2: "heron two"})
    assert segments.best(query, {2: "heron two", 1: "heron one"}) == first
    assert embedder.asked == ["heron one", "heron two"]
    segments.best(query, {1: "heron one", 3: "heron three"})  # evicts the second
    segments.best(query, {1: "heron one", 2: "heron two"})
    assert embedder.asked == ["heron one", "heron two", "heron three", "heron two"]


@pytest.mark.parametrize("long", [LONG, 汉])
def test_the_cache_is_bounded_by_the_number_of_vectors(long: str) -> None:
    embedder = FakeEmbedder()
    query = embedder.query("heron")
    Segments(embedder).best(query, {0: long})
    vectors = len(embedder.asked)
    assert vectors > 1
    segments = Segments(embedder, max_vectors=2 * vectors)
    for id in (1, 2, 3):
        segments.best(query, {id: long})
    assert segments.cached_vectors == 2 * vectors
    segments.best(query, {4: "heron"})
    assert segments.cached_vectors == vectors + 1
    too_small = Segments(embedder, max_vectors=1)
    assert too_small.best(query, {1: long}) == Segments(embedder).best(query, {1: long})
    assert too_small.cached_vectors == 0


def test_several_threads_can_use_the_cache() -> None:
    embedder = FakeEmbedder()
    segments = Segments(embedder, max_vectors=5)
    query = embedder.query("heron 苍鹭")
    texts = {number: f"heron {number} 苍鹭" for number in range(12)}
    expected = Segments(embedder).best(query, texts)
    wrong: list[int] = []

    def compare(seed: int) -> None:
        chance = np.random.default_rng(seed)
        for _ in range(50):
            some = {int(each): texts[int(each)] for each in chance.choice(12, 4, replace=False)}
            wrong.extend(id for id, best in segments.best(query, some).items() if best != expected[id])

    threads = [threading.Thread(target=compare, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert segments.cached_vectors <= 5
