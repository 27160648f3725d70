"""Guarantees of the embedded engine alone: consistent legs, concurrent writers, and disk space."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from findspot.engines.embedded import index, manifest
from findspot.engines.embedded.engine import EmbeddedEngine
from findspot.engines.protocol import Batch, Source, Within, Words
from tests.engines.embedded.chunks import DIMENSION, MODEL, NAMESPACE, chunks, with_word

DOCUMENTS = "project_1_documents"


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[EmbeddedEngine]:
    engine = EmbeddedEngine(tmp_path)
    yield engine
    engine.close()


def test_both_legs_of_a_recall_see_the_same_state_during_writes(engine: EmbeddedEngine) -> None:
    """A chunk alternates between two states, which differ in its word and in its vector."""
    axes, source = np.eye(DIMENSION, dtype=np.float32), Source(None, "/a", 300, 50, 5)
    done, inconsistent = threading.Event(), list[object]()

    def write(state: int) -> None:
        engine.write(NAMESPACE, MODEL, Batch([1], [""], [source], [f"all state{state}"], axes[[state]]))

    def read() -> None:
        while not done.is_set():
            recall = engine.recall(NAMESPACE, Words(("state0",)), axes[0], limit=5)
            if (1 in recall.keyword) != (recall.vector[1] > 0.5):
                inconsistent.append(recall)

    write(0)
    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for number in range(10):
        write(number % 2)
    done.set()
    for reader in readers:
        reader.join()
    assert not inconsistent


def test_queries_that_a_snapshot_remembers_keep_their_own_answers(engine: EmbeddedEngine) -> None:
    """Twice as many queries as are remembered, asked twice, then again after a write."""
    terms = [f"{word}{number}" for number in range(16) for word in ("word", "索引")]
    vectors, sources = np.eye(len(terms), DIMENSION, dtype=np.float32), [Source(7, "", 300, 50, 5)] * len(terms)
    engine.write(DOCUMENTS, MODEL, Batch(range(32), [""] * 32, sources, terms, vectors))
    for _ in range(2):
        for id, term in enumerate(terms):
            recall = engine.recall(DOCUMENTS, Words((term,)), vectors[id], limit=1)
            assert (list(recall.keyword), list(recall.vector), recall.documents) == ([id], [id], {id: 7})
    engine.delete(DOCUMENTS, [31])
    assert not engine.recall(DOCUMENTS, Words((terms[31],)), None, limit=1).keyword


@pytest.mark.parametrize("within", [Within(), Within(pointer="/rows/3")])
def test_a_recall_counts_every_match_on_the_way(engine: EmbeddedEngine, within: Within) -> None:
    engine.write(NAMESPACE, MODEL, chunks(range(200)))
    vector = np.ones(DIMENSION, np.float32)
    every_word = Words(("索引", "cat"), full_match=("索引", "cat"))
    for words, asked in (
        (Words(("mark",)), vector),
        (Words(("索引", "cat")), None),
        (every_word, None),
        (None, vector),
    ):
        for limit in (3, 1000):
            counted = engine.recall(NAMESPACE, words, asked, limit=limit, within=within, count_to=1000).matches
            assert counted == engine.count(NAMESPACE, words, within) > 3
        assert engine.recall(NAMESPACE, words, asked, limit=3, within=within).matches is None


def test_a_count_is_exact_up_to_its_limit_and_never_too_large(engine: EmbeddedEngine) -> None:
    engine.write(NAMESPACE, MODEL, chunks(range(200)))
    for words in (
        Words(("mark", "索引", "cat")),
        Words(("索引", "cat"), none_of=("cat",)),
        Words(("mark",), all_of=("cat",)),
        Words(("nowhere",), prefix="mar"),
    ):
        exact = engine.count(NAMESPACE, words)
        for count_to in (1, exact - 1, exact, 1000):
            counted = engine.recall(NAMESPACE, words, None, limit=2, count_to=count_to).matches
            assert counted is not None
            assert counted == exact or count_to < counted < exact
    engine.delete(NAMESPACE, list(range(10, 200)))
    words = Words(("索引", "cat"))
    assert engine.recall(NAMESPACE, words, None, limit=2, count_to=10).matches == engine.count(NAMESPACE, words) <= 10


def test_several_threads_may_write_at_the_same_time(engine: EmbeddedEngine) -> None:
    def write(start: int) -> None:
        for first in range(start, start + 50, 25):
            engine.write(NAMESPACE, MODEL, chunks(range(first, first + 25)))
        engine.delete(NAMESPACE, [start])

    threads = [threading.Thread(target=write, args=(start,)) for start in range(0, 200, 50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expected = set(range(200)) - {0, 50, 100, 150}
    assert set(engine.ids(NAMESPACE).tolist()) == with_word(engine) == expected


def test_an_unfinished_build_is_removed_when_the_engine_is_opened_again(engine: EmbeddedEngine, tmp_path: Path) -> None:
    engine.write(NAMESPACE, MODEL, chunks(range(5)))
    engine.build(NAMESPACE, MODEL, DIMENSION).write(chunks(range(50)))
    engine.close()
    again = EmbeddedEngine(tmp_path)
    assert with_word(again) == set(range(5))
    assert [each.name for each in (tmp_path / "project_1" / NAMESPACE).glob("gen-*")] == ["gen-1"]
    again.close()


def test_vector_files_are_compacted_after_many_deletes(
    engine: EmbeddedEngine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(index, "MIN_DEAD", 50)
    engine.write(NAMESPACE, MODEL, chunks(range(300)))
    for start in range(0, 280, 70):
        engine.delete(NAMESPACE, range(start, start + 70))
        assert with_word(engine) == set(range(start + 70, 300))
    [codes] = (tmp_path / "project_1" / NAMESPACE).glob("gen-1/vectors-*/codes")
    assert codes.parent.name != "vectors-1"
    assert codes.stat().st_size < 100 * DIMENSION
    engine.files.verify(NAMESPACE)


def test_rewriting_the_same_chunks_takes_little_more_disk_space(engine: EmbeddedEngine, tmp_path: Path) -> None:
    engine.write(NAMESPACE, MODEL, chunks(range(200)))
    once = engine.status(NAMESPACE).bytes
    for _ in range(12):
        engine.write(NAMESPACE, MODEL, chunks(range(200)))
    assert engine.status(NAMESPACE).bytes < 8 * once
    kept = {each.name for each in (tmp_path / "project_1" / NAMESPACE).glob("gen-1/kept/*")}
    assert kept == manifest.read(tmp_path / "project_1" / NAMESPACE).keywords.keys()


def test_segments_are_merged_even_if_the_engine_is_closed_after_every_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index, "MANY_SEGMENTS", 5)
    for number in range(12):
        engine = EmbeddedEngine(tmp_path)
        engine.write(NAMESPACE, MODEL, chunks([number]))
        assert with_word(engine) == set(range(number + 1))
        engine.close()
    kept = (tmp_path / "project_1" / NAMESPACE).glob("gen-1/kept/*.store")
    assert len(list(kept)) <= 7


def test_the_limit_may_be_larger_than_the_index(engine: EmbeddedEngine) -> None:
    engine.write(NAMESPACE, MODEL, chunks(range(3)))
    recall = engine.recall(NAMESPACE, Words(("mark",)), np.ones(DIMENSION, np.float32), limit=10**12)
    assert set(recall.keyword) == set(recall.vector) == {0, 1, 2}
