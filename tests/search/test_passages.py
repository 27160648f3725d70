"""A closer look at passages."""

import threading

import numpy as np
import pytest

from findspot.ranking.fusion import STRETCH
from findspot.search.passages import Stretches
from tests.flows import Telling

LONG = f"{'A quiet harbour. ' * 12}The heron stands in the reeds. {'Rain on the quay. ' * 12}"
汉 = f"{'安静的港口。' * 40}苍鹭 站在 芦苇里。{'雨落在码头。' * 40}"


@pytest.mark.parametrize(
    ("text", "asked"), [(LONG, "The heron stands in the reeds."), (汉, "苍鹭 站在"), ("e\u0301 🐦", "🐦")]
)
def test_a_passage_is_as_near_as_its_nearest_stretch(text: str, asked: str) -> None:
    embedder = Telling()
    query = embedder.query(asked)
    best = Stretches(embedder).best(query, {7: text, 8: "zebra"})
    whole = float(embedder.query(text) @ query)
    assert best[7] >= max(whole, best[8])
    assert all(len(piece) <= STRETCH for piece in embedder.asked)


def test_a_passage_is_read_once_while_it_is_remembered() -> None:
    embedder = Telling()
    stretches = Stretches(embedder, most=2)
    query = embedder.query("heron")
    first = stretches.best(query, {1: "heron one", 2: "heron two"})
    assert stretches.best(query, {2: "heron two", 1: "heron one"}) == first
    assert embedder.asked == ["heron one", "heron two"]
    stretches.best(query, {1: "heron one", 3: "heron three"})  # the second has to make room
    stretches.best(query, {1: "heron one", 2: "heron two"})
    assert embedder.asked == ["heron one", "heron two", "heron three", "heron two"]


@pytest.mark.parametrize("long", [LONG, 汉])
def test_long_passages_take_the_room_of_many_short_ones(long: str) -> None:
    embedder = Telling()
    query = embedder.query("heron")
    Stretches(embedder).best(query, {0: long})
    vectors = len(embedder.asked)
    assert vectors > 1
    stretches = Stretches(embedder, most=2 * vectors)
    for id in (1, 2, 3):
        stretches.best(query, {id: long})
    assert list(stretches._known) == [2, 3]
    assert sum(map(len, stretches._known.values())) == stretches._held == 2 * vectors
    stretches.best(query, {4: "heron"})
    assert list(stretches._known) == [3, 4]


def test_many_may_look_at_once() -> None:
    embedder = Telling()
    stretches = Stretches(embedder, most=5)
    query = embedder.query("heron 苍鹭")
    texts = {number: f"heron {number} 苍鹭" for number in range(12)}
    expected = Stretches(embedder).best(query, texts)
    wrong: list[int] = []

    def look(seed: int) -> None:
        chance = np.random.default_rng(seed)
        for _ in range(200):
            some = {int(each): texts[int(each)] for each in chance.choice(12, 4, replace=False)}
            wrong.extend(id for id, best in stretches.best(query, some).items() if best != expected[id])

    threads = [threading.Thread(target=look, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert sum(map(len, stretches._known.values())) == stretches._held <= 5
