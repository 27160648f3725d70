"""What only the embedded engine promises: one state for both legs, all or nothing, and little room and few threads."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import tantivy

from findspot.engines.embedded import index, manifest
from findspot.engines.embedded import namespaces as engines
from findspot.engines.embedded.engine import EmbeddedEngine
from findspot.engines.embedded.index import Index
from findspot.engines.embedded.keyword_index import KeywordIndex
from findspot.engines.embedded.rows import Rows
from findspot.engines.protocol import Abandoned, Batch, Build, Damaged, Source, Words
from findspot.errors import FindspotError
from tests.engines.embedded.chunks import DIMENSION, MODEL, NAMESPACE, chunks


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[EmbeddedEngine]:
    engine = EmbeddedEngine(tmp_path)
    yield engine
    engine.close()


def everything(engine: EmbeddedEngine, word: str = "mark") -> set[int]:
    """All chunks with this word, in both legs alike."""
    recall = engine.recall(NAMESPACE, Words((word,)), np.ones(DIMENSION, np.float32), limit=10_000)
    assert set(recall.keyword) <= set(recall.vector)
    return set(recall.keyword)


def test_readers_see_both_legs_at_the_same_moment_while_others_write(engine: EmbeddedEngine) -> None:
    """A chunk changes from one state to the other, and with it its word and its vector."""
    axes, source = np.eye(DIMENSION, dtype=np.float32), Source(None, "/a", 300, 50, 5)
    done, torn = threading.Event(), list[object]()

    def write(state: int) -> None:
        engine.write(NAMESPACE, MODEL, Batch([1], [""], [source], [f"all state{state}"], axes[[state]]))

    def read() -> None:
        while not done.is_set():
            recall = engine.recall(NAMESPACE, Words(("state0",)), axes[0], limit=5)
            if (1 in recall.keyword) != (recall.vector[1] > 0.5):
                torn.append(recall)

    write(0)
    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for number in range(30):
        write(number % 2)
    done.set()
    for reader in readers:
        reader.join()
    assert not torn


def test_any_number_of_threads_may_write(engine: EmbeddedEngine) -> None:
    def write(start: int) -> None:
        for first in range(start, start + 50, 10):
            engine.write(NAMESPACE, MODEL, chunks(range(first, first + 10)))
        engine.delete(NAMESPACE, [start])

    threads = [threading.Thread(target=write, args=(start,)) for start in range(0, 200, 50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expected = set(range(200)) - {0, 50, 100, 150}
    assert set(engine.ids(NAMESPACE).tolist()) == everything(engine) == expected


def _finish(building: Build) -> None:
    building.write(chunks(range(5)))
    building.switch()


FAILURES = [
    (KeywordIndex, "add"),
    (KeywordIndex, "commit"),
    (KeywordIndex, "retain"),
    (Rows, "append"),
    (manifest, "write"),
]


def full(*_: object, **__: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize(("place", "name"), FAILURES)
def test_a_write_that_fails_leaves_everything_as_it_was(
    engine: EmbeddedEngine, monkeypatch: pytest.MonkeyPatch, place: object, name: str
) -> None:
    engine.write(NAMESPACE, MODEL, chunks(range(20)))
    for change in (chunks(range(10, 30), "other"), chunks([99])):
        with monkeypatch.context() as patch:
            patch.setattr(place, name, full)
            with pytest.raises(FindspotError, match="No space left"):
                engine.write(NAMESPACE, MODEL, change)
        assert set(engine.ids(NAMESPACE).tolist()) == everything(engine) == set(range(20))
        assert everything(engine, "other") == set()
    engine.write(NAMESPACE, MODEL, chunks([20]))
    assert everything(engine) == set(range(21))
    engine.files.verify(NAMESPACE)


@pytest.mark.parametrize(("place", "name"), FAILURES)
def test_what_is_open_is_read_on_while_the_disk_has_no_room_to_open_it_again(
    engine: EmbeddedEngine, monkeypatch: pytest.MonkeyPatch, place: object, name: str
) -> None:
    engine.write(NAMESPACE, MODEL, chunks(range(20)))
    with monkeypatch.context() as patch:
        patch.setattr(place, name, full)
        patch.setattr(KeywordIndex, "restore", full)
        for _ in range(3):
            with pytest.raises(FindspotError, match="No space"):
                engine.write(NAMESPACE, MODEL, chunks(range(10, 30), "other"))
            assert everything(engine) == set(range(20))
            assert engine.status(NAMESPACE).chunks == 20
            engine.files.verify(NAMESPACE)
    engine.write(NAMESPACE, MODEL, chunks(range(10, 30), "other"))
    assert (everything(engine), everything(engine, "other")) == (set(range(10)), set(range(10, 30)))
    engine.files.verify(NAMESPACE)


def test_damage_is_noticed_though_the_last_write_has_failed(
    engine: EmbeddedEngine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    engine.write(NAMESPACE, MODEL, chunks(range(20)))
    with monkeypatch.context() as patch:
        patch.setattr(manifest, "write", full)
        with pytest.raises(FindspotError, match="No space"):
            engine.write(NAMESPACE, MODEL, chunks([20]))
    (codes,) = (tmp_path / "project_1" / NAMESPACE).glob("gen-*/vectors-*/codes")
    content = codes.read_bytes()
    codes.write_bytes(bytes([content[0] ^ 1]) + content[1:])
    with pytest.raises(Damaged):
        everything(engine)


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("An IO error occurred: 'No space left on device (os error 28) at path \"/a\"'", "No space left on device"),
        ("An error occurred in a thread: 'An index writer was killed.'", "the disk may be full"),
    ],
)
def test_what_the_system_refuses_is_told_in_its_own_words_and_without_a_path(
    engine: EmbeddedEngine, monkeypatch: pytest.MonkeyPatch, said: str, reason: str
) -> None:
    class Refusing:
        def add_document(self, _: object) -> None:
            raise ValueError(said)

    monkeypatch.setattr(tantivy.Index, "writer", lambda *_: Refusing(), raising=False)
    with pytest.raises(FindspotError, match=f"The index cannot be used: {reason}. Saved content is safe") as caught:
        engine.write(NAMESPACE, MODEL, chunks([1]))
    assert (caught.value.code, "/" in str(caught.value)) == ("ENGINE_UNAVAILABLE", False)


@pytest.mark.parametrize(("place", "name"), FAILURES)
def test_a_build_that_fails_is_given_up(
    engine: EmbeddedEngine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, place: object, name: str
) -> None:
    engine.write(NAMESPACE, MODEL, chunks(range(20)))
    building = engine.files.build(NAMESPACE, MODEL, DIMENSION)
    with monkeypatch.context() as patch:
        patch.setattr(place, name, full)
        with pytest.raises(FindspotError, match="No space left"):
            _finish(building)
    with pytest.raises(Abandoned):
        building.switch()
    engine.write(NAMESPACE, MODEL, chunks([20]))
    assert everything(engine) == set(range(21))
    assert [each.name for each in (tmp_path / "project_1" / NAMESPACE).glob("gen-*")] == ["gen-1"]


def test_a_build_that_was_never_finished_leaves_nothing_behind(engine: EmbeddedEngine, tmp_path: Path) -> None:
    engine.write(NAMESPACE, MODEL, chunks(range(5)))
    engine.files.build(NAMESPACE, MODEL, DIMENSION).write(chunks(range(50)))
    engine.close()
    again = EmbeddedEngine(tmp_path)
    assert everything(again) == set(range(5))
    assert [each.name for each in (tmp_path / "project_1" / NAMESPACE).glob("gen-*")] == ["gen-1"]
    again.close()


def test_a_namespace_may_be_closed_and_opened_while_another_index_is_built(
    engine: EmbeddedEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines, "MAX_OPEN", 1)
    engine.write(NAMESPACE, MODEL, chunks(range(5)))
    building = engine.files.build(NAMESPACE, MODEL, DIMENSION)
    building.write(chunks(range(10)))
    engine.write("project_1_table_2", MODEL, chunks([1]))
    assert everything(engine) == set(range(5))
    building.write(chunks(range(10, 20)))
    building.switch()
    assert everything(engine) == set(range(20))


def test_rows_that_no_longer_count_give_back_their_room(
    engine: EmbeddedEngine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(index, "MIN_DEAD", 50)
    engine.write(NAMESPACE, MODEL, chunks(range(300)))
    for start in range(0, 280, 20):
        engine.delete(NAMESPACE, range(start, start + 20))
        assert everything(engine) == set(range(start + 20, 300))
    [codes] = (tmp_path / "project_1" / NAMESPACE).glob("gen-1/vectors-*/codes")
    assert codes.parent.name != "vectors-1"
    assert codes.stat().st_size < 100 * DIMENSION
    engine.files.verify(NAMESPACE)


def test_writing_the_same_again_and_again_takes_no_more_room(engine: EmbeddedEngine, tmp_path: Path) -> None:
    engine.write(NAMESPACE, MODEL, chunks(range(200)))
    once = engine.status(NAMESPACE).bytes
    for _ in range(20):
        engine.write(NAMESPACE, MODEL, chunks(range(200)))
    assert engine.status(NAMESPACE).bytes < 8 * once
    kept = {each.name for each in (tmp_path / "project_1" / NAMESPACE).glob("gen-1/kept/*")}
    assert kept == manifest.read(tmp_path / "project_1" / NAMESPACE).keywords.keys()


def test_an_index_that_is_closed_after_every_write_does_not_fall_into_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index, "MANY_SEGMENTS", 10)
    for number in range(25):
        engine = EmbeddedEngine(tmp_path)
        engine.write(NAMESPACE, MODEL, chunks([number]))
        assert everything(engine) == set(range(number + 1))
        engine.close()
    kept = (tmp_path / "project_1" / NAMESPACE).glob("gen-1/kept/*.store")
    assert len(list(kept)) <= 12


def test_any_limit_may_be_asked_for(engine: EmbeddedEngine) -> None:
    engine.write(NAMESPACE, MODEL, chunks(range(3)))
    recall = engine.recall(NAMESPACE, Words(("mark",)), np.ones(DIMENSION, np.float32), limit=10**12)
    assert set(recall.keyword) == set(recall.vector) == {0, 1, 2}
    assert engine.recall(NAMESPACE, Words(("mark",)), np.ones(DIMENSION, np.float32), limit=0).keyword == {}


def test_many_namespaces_do_not_hold_many_threads(
    engine: EmbeddedEngine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(engines, "MAX_OPEN", 5)
    monkeypatch.setattr(engines, "MAX_WRITERS", 2)
    names = [f"project_1_table_{number}" for number in range(12)]
    for number, name in enumerate(names):
        engine.write(name, MODEL, chunks([number]))
    assert sum(each.is_open for each in engine._namespaces._namespaces.values()) == 5
    assert sum(each.is_writing for each in engine._namespaces._namespaces.values()) == 2
    for number, name in enumerate(names):
        assert engine.ids(name).tolist() == [number]
        engine.write(name, MODEL, chunks([number + 100]))
        assert set(engine.recall(name, Words(("mark",)), None, limit=5).keyword) == {number, number + 100}


def test_what_nobody_uses_is_closed_unless_it_takes_long_to_open(
    engine: EmbeddedEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine.write("project_1_table_1", MODEL, chunks(range(3)))
    engine.write("project_1_table_2", MODEL, chunks(range(200)))
    small, large = (engine._namespaces._namespaces[f"project_1_table_{number}"] for number in (1, 2))
    assert small.is_open
    assert large.is_writing
    monkeypatch.setattr(engines, "SMALL", large.size)
    monkeypatch.setattr(engines, "IDLE_S", 0)
    engine._namespaces.close_idle()
    assert not small.is_open
    assert not large.is_writing
    assert large.is_open
    assert engine.ids("project_1_table_1").tolist() == [0, 1, 2]


@pytest.mark.parametrize("name", ["", "table_1", "project_1", "project_x_documents", "project_1_table_1/..", "../x"])
def test_a_name_that_is_none_is_refused(engine: EmbeddedEngine, name: str) -> None:
    with pytest.raises(ValueError, match="not the name of a namespace"):
        engine.write(name, MODEL, chunks([1]))


def test_a_stray_file_is_no_namespace_and_goes_with_its_project(engine: EmbeddedEngine, tmp_path: Path) -> None:
    engine.write(NAMESPACE, MODEL, chunks([1]))
    (tmp_path / "project_1" / ".DS_Store").write_bytes(b"left by a file browser")
    assert engine.namespaces(1) == [NAMESPACE]
    engine.drop(NAMESPACE)
    assert not (tmp_path / "project_1").exists()
    engine.write(NAMESPACE, MODEL, chunks([1]))
    assert engine.namespaces(1) == [NAMESPACE]


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.EMFILE, "Too many open files"),
        ValueError("Failed to open file: IoError { io_error: Os { code: 24, kind: Uncategorized } }"),
    ],
)
def test_too_many_open_files_are_told_as_an_engine_that_is_away(
    engine: EmbeddedEngine, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise error

    engine.write(NAMESPACE, MODEL, chunks(range(5)))
    engine._namespaces.get(NAMESPACE).close()
    calls: list[Callable[[], object]] = [
        lambda: engine.recall(NAMESPACE, Words(("mark",)), None, limit=5),
        lambda: engine.count(NAMESPACE, Words(("mark",))),
        lambda: engine.status(NAMESPACE),
        lambda: engine.ids(NAMESPACE),
        lambda: engine.files.vector_ids(NAMESPACE),
    ]
    for call in calls:
        with monkeypatch.context() as patch:
            patch.setattr(Index, "open", fails)
            with pytest.raises(FindspotError, match="Too many open files") as caught:
                call()
        assert (caught.value.code, caught.value.kind.status) == ("ENGINE_UNAVAILABLE", 503)
    assert everything(engine) == set(range(5))
