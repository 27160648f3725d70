"""Comparing chunks with a query segment by segment and word by word, and the cache of their rows."""

import threading

import numpy as np
import pytest

from findspot.embedding.offline import OfflineEmbedder
from findspot.search.segments import Segments
from tests.flows import FakeEmbedder

LONG = f"{'A quiet harbour. ' * 12}The heron stands in the reeds. {'Rain on the quay. ' * 12}"
汉 = f"{'安静的港口。' * 40}苍鹭站在芦苇里。{'雨落在码头。' * 40}"
繁 = f"{'安靜的港口。' * 40}蒼鷺站在蘆葦裡。{'雨落在碼頭。' * 40}"
MIXED = f"{'Quiet 港口. ' * 20}A heron 苍鹭 🐦 e\u0301tang. {'Rain 雨. ' * 20}"


@pytest.fixture(scope="module")
def embedder() -> OfflineEmbedder:
    return OfflineEmbedder()


@pytest.mark.parametrize(
    ("text", "asked"),
    [(LONG, "herons in the reeds"), (汉, "芦苇里的苍鹭"), (繁, "芦苇里的苍鹭"), (MIXED, "heron 苍鹭")],
)
def test_a_chunk_with_a_segment_about_the_query_is_more_like_it_than_others(
    embedder: OfflineEmbedder, text: str, asked: str
) -> None:
    vector = embedder.query(asked)
    found = Segments(embedder).compare(asked, vector, {7: text, 8: "zebra 斑马"})
    assert found[7].segment > float(embedder.query(text) @ vector)
    assert 1 >= found[7].words > 0.7 > found[8].words >= 0


def test_cached_rows_give_the_same_result_without_the_text(embedder: OfflineEmbedder) -> None:
    segments, vector = Segments(embedder), embedder.query("heron 苍鹭")
    texts = {1: LONG, 2: 汉, 3: MIXED, 4: "?!", 5: ""}
    assert segments.cached(texts) == {}
    first = segments.compare("heron 苍鹭", vector, texts)
    known = segments.cached(texts)
    assert known.keys() == texts.keys()
    again = segments.compare("heron 苍鹭", vector, {}, known)
    assert again.keys() == first.keys()
    assert np.allclose(list(again.values()), [first[id] for id in again], atol=1e-6)


@pytest.mark.parametrize("long", [LONG, 汉])
def test_the_cache_is_bounded_by_the_number_of_rows(embedder: OfflineEmbedder, long: str) -> None:
    vector = embedder.query("heron")
    one = Segments(embedder)
    one.compare("heron", vector, {0: long})
    size = one.cached_rows
    assert size > 10
    segments = Segments(embedder, max_rows=2 * size)
    for id in (1, 2, 3):
        segments.compare("heron", vector, {id: long})
    assert segments.cached_rows == 2 * size
    assert segments.cached((1, 2, 3)).keys() == {2, 3}
    too_small = Segments(embedder, max_rows=1)
    assert too_small.compare("heron", vector, {1: long}) == one.compare("heron", vector, {1: long})
    assert too_small.cached_rows == 0


def test_an_embedder_without_a_word_table_compares_nothing() -> None:
    embedder = FakeEmbedder()
    segments = Segments(embedder)
    assert not segments.can_compare
    assert segments.compare("heron", embedder.query("heron"), {1: LONG}) == {}


def test_several_threads_can_use_the_cache(embedder: OfflineEmbedder) -> None:
    segments, vector = Segments(embedder, max_rows=40), embedder.query("heron 苍鹭")
    texts = {number: f"heron {number} 苍鹭 lake {number}" for number in range(12)}
    expected = Segments(embedder).compare("heron 苍鹭", vector, texts)
    wrong: list[int] = []

    def compare(seed: int) -> None:
        chance = np.random.default_rng(seed)
        for _ in range(50):
            some = {int(each): texts[int(each)] for each in chance.choice(12, 4, replace=False)}
            found = segments.compare("heron 苍鹭", vector, some)
            wrong.extend(id for id, each in found.items() if not np.allclose(each, expected[id], atol=1e-6))

    threads = [threading.Thread(target=compare, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert segments.cached_rows <= 40
