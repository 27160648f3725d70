"""Damaged index files are always detected, never used, and repaired by a rebuild."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from findspot.engines.embedded import namespace as namespaces
from findspot.engines.embedded import namespaces as open_namespaces
from findspot.engines.embedded.engine import EmbeddedEngine
from findspot.engines.protocol import Damaged, Words
from tests.engines.embedded.chunks import DIMENSION, MODEL, NAMESPACE, chunks
from tests.engines.embedded.damage import (
    DAMAGES,
    FILES,
    Damage,
    a_folder,
    cut_in_half,
    missing,
    one_bit_flipped,
    replaced,
    zeroed,
    zeroed_in_place,
)

VECTOR = np.ones(DIMENSION, np.float32)
MARK = Words(("mark",))
ALL_BUT_MANIFEST = [kind for kind in FILES if kind != "manifest"]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index with several segments, deletions and replaced rows."""
    folder = tmp_path_factory.mktemp("written")
    engine = EmbeddedEngine(folder)
    engine.write(NAMESPACE, MODEL, chunks(range(200)))
    engine.write(NAMESPACE, MODEL, chunks(range(150, 300)))
    engine.delete(NAMESPACE, range(10))
    engine.close()
    return folder


class Copy:
    """A copy of the index that can be damaged, opened and restored."""

    def __init__(self, written: Path, folder: Path) -> None:
        self._written = written
        self.folder = folder
        self.engine: EmbeddedEngine | None = None
        self.restore()

    @property
    def namespace(self) -> Path:
        return self.folder / "project_1" / NAMESPACE

    def file(self, kind: str) -> Path:
        return sorted(self.namespace.glob(FILES[kind]))[0]

    def open(self) -> EmbeddedEngine:
        self.close()
        self.engine = EmbeddedEngine(self.folder)
        return self.engine

    def close(self) -> None:
        if self.engine is not None:
            self.engine.close()
            self.engine = None

    def restore(self) -> None:
        self.close()
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.copytree(self._written, self.folder)


@pytest.fixture
def copy(written: Path, tmp_path: Path) -> Iterator[Copy]:
    copy = Copy(written, tmp_path / "index")
    yield copy
    copy.close()


def every_call(engine: EmbeddedEngine) -> list[Callable[[], object]]:
    return [
        lambda: engine.recall(NAMESPACE, MARK, VECTOR, limit=5),
        lambda: engine.recall(NAMESPACE, MARK, None, limit=5),
        lambda: engine.recall(NAMESPACE, MARK, None, limit=0, also=[20]),
        lambda: engine.count(NAMESPACE, MARK),
        lambda: engine.ids(NAMESPACE),
        lambda: engine.status(NAMESPACE),
        lambda: engine.write(NAMESPACE, MODEL, chunks([1000])),
        lambda: engine.delete(NAMESPACE, [11]),
        lambda: engine.files.vector_ids(NAMESPACE),
        lambda: engine.files.evict(NAMESPACE, [11]),
        lambda: engine.files.verify(NAMESPACE),
    ]


def all_raise_damaged(engine: EmbeddedEngine) -> None:
    for call in every_call(engine):
        with pytest.raises(Damaged):
            call()


def rebuild_repairs(engine: EmbeddedEngine) -> None:
    """A build replaces the damaged index, including the writes and deletes in the meantime."""
    build = engine.build(NAMESPACE, MODEL, DIMENSION)
    build.write(chunks(range(50)))
    engine.write(NAMESPACE, MODEL, chunks([500]))
    engine.delete(NAMESPACE, [7])
    with pytest.raises(Damaged):
        engine.ids(NAMESPACE)
    build.switch()
    expected = [*range(7), *range(8, 50), 500]
    assert engine.ids(NAMESPACE).tolist() == expected
    assert sorted(engine.recall(NAMESPACE, MARK, None, limit=900).keyword) == expected
    engine.files.verify(NAMESPACE)


# ── a closed index ──


def test_an_undamaged_copy_passes_verification(copy: Copy) -> None:
    engine = copy.open()
    engine.files.verify(NAMESPACE)
    assert engine.ids(NAMESPACE).tolist() == list(range(10, 300))
    assert len(engine.recall(NAMESPACE, MARK, None, limit=900).keyword) == 290


@pytest.mark.parametrize("kind", FILES)
def test_damage_is_detected_at_opening(copy: Copy, kind: str) -> None:
    for damage in DAMAGES:
        if (kind, damage) == ("manifest", a_folder):
            continue
        damage(copy.file(kind))
        engine = copy.open()
        with pytest.raises(Damaged):
            engine.recall(NAMESPACE, MARK, VECTOR, limit=5)
        copy.restore()


@pytest.mark.parametrize(
    ("kind", "damage"), [("manifest", missing), ("postings", one_bit_flipped), ("codes", cut_in_half)]
)
def test_a_damaged_index_stays_damaged_until_a_rebuild(copy: Copy, kind: str, damage: Damage) -> None:
    damage(copy.file(kind))
    engine = copy.open()
    engine.warm(NAMESPACE)  # a hint, which raises nothing
    all_raise_damaged(engine)
    assert engine.namespaces(1) == [NAMESPACE]
    engine = copy.open()
    all_raise_damaged(engine)
    rebuild_repairs(engine)
    assert copy.open().ids(NAMESPACE).tolist() == [*range(7), *range(8, 50), 500]


@pytest.mark.parametrize("kind", ALL_BUT_MANIFEST)
def test_damage_to_an_index_too_large_to_read_at_opening_is_found_by_verify(
    copy: Copy, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(namespaces, "VERIFIED_AT_OPENING", 0)
    one_bit_flipped(copy.file(kind))
    with pytest.raises(Damaged):
        copy.open().files.verify(NAMESPACE)
    with pytest.raises(Damaged):  # the next process knows it without verifying
        copy.open().ids(NAMESPACE)


@pytest.mark.parametrize("kind", ALL_BUT_MANIFEST)
def test_undetected_damage_raises_nothing_but_damaged(copy: Copy, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A flipped bit may go unnoticed until files are verified. But if a call fails, it raises Damaged."""
    monkeypatch.setattr(namespaces, "VERIFIED_AT_OPENING", 0)
    for damage in (one_bit_flipped, zeroed, replaced):
        for file in copy.namespace.glob(FILES[kind]):
            damage(file)
        engine = copy.open()
        for call in every_call(engine)[:-1]:
            try:
                call()
            except Damaged:
                continue
        with pytest.raises(Damaged):
            engine.files.verify(NAMESPACE)
        copy.restore()


def test_a_missing_generation_is_damage(copy: Copy) -> None:
    shutil.rmtree(copy.namespace / "gen-1")
    engine = copy.open()
    with pytest.raises(Damaged):
        engine.ids(NAMESPACE)
    rebuild_repairs(engine)


def test_a_damaged_namespace_can_be_dropped(copy: Copy) -> None:
    missing(copy.file("manifest"))
    engine = copy.open()
    with pytest.raises(Damaged):
        engine.ids(NAMESPACE)
    engine.drop(NAMESPACE)
    assert engine.ids(NAMESPACE).tolist() == []
    assert engine.namespaces(1) == []
    engine.write(NAMESPACE, MODEL, chunks([1]))
    assert engine.ids(NAMESPACE).tolist() == [1]


def test_the_working_folder_of_tantivy_is_not_needed_to_open_an_index(copy: Copy) -> None:
    for work in copy.namespace.glob("gen-*/work-*"):
        shutil.rmtree(work)
        work.mkdir()
        (work / "meta.json").write_text("nonsense")
    engine = copy.open()
    assert engine.ids(NAMESPACE).tolist() == list(range(10, 300))
    engine.write(NAMESPACE, MODEL, chunks([1]))
    assert len(engine.recall(NAMESPACE, MARK, None, limit=900).keyword) == 291


# ── an open index ──


@pytest.fixture
def engine(copy: Copy, monkeypatch: pytest.MonkeyPatch) -> EmbeddedEngine:
    """An engine with an open index. It checks all files at every call."""
    monkeypatch.setattr(namespaces, "CHECK_EVERY_S", -1.0)
    engine = copy.open()
    assert engine.recall(NAMESPACE, MARK, None, limit=5).keyword
    return engine


@pytest.mark.parametrize("kind", ALL_BUT_MANIFEST)
@pytest.mark.parametrize("damage", [zeroed_in_place, missing], ids=lambda damage: damage.__name__)
def test_a_recall_detects_damage_to_an_open_index(
    engine: EmbeddedEngine, copy: Copy, kind: str, damage: Damage
) -> None:
    damage(copy.file(kind))
    with pytest.raises(Damaged):
        engine.recall(NAMESPACE, MARK, VECTOR, limit=5)


@pytest.mark.parametrize(("kind", "damage"), [("postings", missing), ("codes", zeroed_in_place)])
def test_a_write_detects_damage_to_an_open_index(engine: EmbeddedEngine, copy: Copy, kind: str, damage: Damage) -> None:
    damage(copy.file(kind))
    with pytest.raises(Damaged):
        engine.write(NAMESPACE, MODEL, chunks([1000]))
    rebuild_repairs(engine)


@pytest.mark.parametrize("kind", ["postings", "terms", "lengths", "numbers", "deletions", "codes"])
def test_results_read_from_damaged_files_are_not_returned(
    engine: EmbeddedEngine, copy: Copy, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The files that a query reads are checked after every query, however seldom all files are."""
    monkeypatch.setattr(namespaces, "CHECK_EVERY_S", 3600.0)
    zeroed_in_place(copy.file(kind))
    with pytest.raises(Damaged):
        engine.recall(NAMESPACE, MARK, None, limit=5)


def test_a_damaged_manifest_of_an_open_index_is_written_again(engine: EmbeddedEngine, copy: Copy) -> None:
    manifest = copy.namespace / "manifest.json"
    before = manifest.read_bytes()
    for damage in DAMAGES:
        if damage is not a_folder:
            damage(manifest)
            assert engine.recall(NAMESPACE, MARK, None, limit=5).keyword
            assert manifest.read_bytes() == before


def test_a_changed_modification_time_is_no_damage(engine: EmbeddedEngine, copy: Copy) -> None:
    for file in copy.namespace.rglob("*.*"):
        os.utime(file, (1, 1))
    assert len(engine.recall(NAMESPACE, MARK, None, limit=900).keyword) == 290
    engine.files.verify(NAMESPACE)


@pytest.mark.parametrize("is_open", [True, False])
def test_a_deleted_index_folder_is_damage_until_a_rebuild(
    engine: EmbeddedEngine, copy: Copy, is_open: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not is_open:
        monkeypatch.setattr(open_namespaces, "MAX_OPEN", 1)
        engine.write("project_1_table_2", MODEL, chunks([1]))  # closes the other one
    shutil.rmtree(copy.folder)
    with pytest.raises(Damaged):
        engine.recall(NAMESPACE, MARK, None, limit=5)
    rebuild_repairs(engine)


def test_readers_beside_a_writer_see_no_damage(engine: EmbeddedEngine) -> None:
    """Writes append to files, create and remove them while others read."""
    over = threading.Event()

    def read() -> int:
        rounds = 0
        while not over.is_set():
            assert engine.recall(NAMESPACE, MARK, VECTOR, limit=5).keyword
            rounds += 1
        return rounds

    with ThreadPoolExecutor(2) as threads:
        readers = [threads.submit(read) for _ in range(2)]
        try:
            for start in range(1000, 1006):
                engine.write(NAMESPACE, MODEL, chunks(range(start, start + 5)))
                engine.delete(NAMESPACE, [start])
        finally:
            over.set()
        assert all(reader.result() for reader in readers)
