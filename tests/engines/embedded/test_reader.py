"""A reader follows an index that another process writes, and changes none of its files."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from findspot.engines.embedded import index as compaction
from findspot.engines.embedded import namespaces as limits
from findspot.engines.embedded import read_namespace
from findspot.engines.embedded.engine import EmbeddedEngine
from findspot.engines.embedded.reader import FOLDER, EmbeddedReader
from findspot.engines.protocol import Damaged, Words
from findspot.errors import FindspotError
from tests.engines.embedded.chunks import DIMENSION, MODEL, NAMESPACE, chunks, with_word
from tests.engines.embedded.damage import FILES, Damage, missing, zeroed_in_place

MARK, VECTOR = Words(("mark",)), np.ones(DIMENSION, np.float32)


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[EmbeddedEngine]:
    engine = EmbeddedEngine(tmp_path)
    yield engine
    engine.close()


@pytest.fixture
def reader(writer: EmbeddedEngine, tmp_path: Path) -> Iterator[EmbeddedReader]:
    engine = EmbeddedReader(tmp_path, 1)
    yield engine
    engine.close()


def rebuild(writer: EmbeddedEngine, ids: range) -> None:
    build = writer.build(NAMESPACE, MODEL, DIMENSION)
    build.write(chunks(ids))
    build.switch()


def test_a_reader_beside_appends_compactions_and_rebuilds_always_answers(
    writer: EmbeddedEngine, reader: EmbeddedReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Chunks below 100 are never removed. Both legs must see one state, so each chunk has a score from both."""
    monkeypatch.setattr(compaction, "MIN_DEAD", 5)
    monkeypatch.setattr(read_namespace, "CHECK_EVERY_S", -1.0)
    writer.write(NAMESPACE, MODEL, chunks(range(100)))
    over = threading.Event()

    def read() -> int:
        rounds = 0
        while not over.is_set():
            found = with_word(reader)
            assert found >= set(range(100))
            rounds += 1
        return rounds

    with ThreadPoolExecutor(2) as threads:
        reading = [threads.submit(read) for _ in range(2)]
        try:
            for start in range(100, 1000, 100):
                writer.write(NAMESPACE, MODEL, chunks(range(start, start + 100)))
                writer.delete(NAMESPACE, range(start, start + 100))
                if start % 300 == 0:
                    rebuild(writer, range(100))
        finally:
            over.set()
        assert all(each.result() for each in reading)
    assert with_word(reader) == set(range(100))


def test_a_namespace_that_was_dropped_and_created_again_is_read_anew(
    writer: EmbeddedEngine, reader: EmbeddedReader
) -> None:
    for ids in (range(20), range(30), range(20)):  # the new folders have the same names as the old ones
        writer.write(NAMESPACE, MODEL, chunks(ids))
        assert with_word(reader) == set(ids)
        writer.drop(NAMESPACE)
        assert not reader.recall(NAMESPACE, MARK, None, limit=5).exists
        writer.write(NAMESPACE, MODEL, chunks(ids))
        assert with_word(reader) == set(ids)
        writer.drop(NAMESPACE)


def test_a_reader_follows_a_writer_that_was_started_again(
    writer: EmbeddedEngine, reader: EmbeddedReader, tmp_path: Path
) -> None:
    writer.write(NAMESPACE, MODEL, chunks(range(10)))
    assert with_word(reader) == set(range(10))
    writer.close()
    again = EmbeddedEngine(tmp_path)
    again.write(NAMESPACE, MODEL, chunks(range(10, 20)))
    assert with_word(reader) == set(range(20))
    again.close()


@pytest.mark.parametrize("kind", ["postings", "codes", "rows", "manifest"])
@pytest.mark.parametrize("damage", [zeroed_in_place, missing], ids=lambda damage: damage.__name__)
def test_a_reader_reports_damage_until_a_rebuild(
    writer: EmbeddedEngine,
    reader: EmbeddedReader,
    tmp_path: Path,
    kind: str,
    damage: Damage,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(read_namespace, "CHECK_EVERY_S", -1.0)
    writer.write(NAMESPACE, MODEL, chunks(range(50)))
    assert with_word(reader) == set(range(50))
    damage(next((tmp_path / "project_1" / NAMESPACE).glob(FILES[kind])))
    for _ in range(2):
        with pytest.raises(Damaged):
            reader.recall(NAMESPACE, MARK, VECTOR, limit=5)
    rebuild(writer, range(40))
    assert with_word(reader) == set(range(40))


def test_damage_that_the_writer_found_stops_readers(
    writer: EmbeddedEngine, reader: EmbeddedReader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(read_namespace, "CHECK_EVERY_S", -1.0)
    writer.write(NAMESPACE, MODEL, chunks(range(50)))
    assert with_word(reader)
    file = next((tmp_path / "project_1" / NAMESPACE).glob(FILES["store"]))  # which no query reads
    content = file.read_bytes()
    zeroed_in_place(file)
    with pytest.raises(Damaged):
        writer.files.verify(NAMESPACE)
    file.write_bytes(content)
    with pytest.raises(Damaged):
        reader.recall(NAMESPACE, MARK, VECTOR, limit=5)


def test_a_reader_changes_nothing_outside_its_own_folder(
    writer: EmbeddedEngine, reader: EmbeddedReader, tmp_path: Path
) -> None:
    writer.write(NAMESPACE, MODEL, chunks(range(50)))
    (tmp_path / "project_1" / NAMESPACE / "left by a killed process").touch()

    def files() -> dict[Path, bytes]:
        found = (each for each in tmp_path.rglob("*") if each.is_file() and FOLDER not in each.parts)
        return {each: each.read_bytes() for each in found}

    before = files()
    assert with_word(reader)
    calls: list[Callable[[], None]] = [
        lambda: reader.write(NAMESPACE, MODEL, chunks([1])),
        lambda: reader.delete(NAMESPACE, [1]),
        lambda: reader.drop(NAMESPACE),
    ]
    for call in calls:
        with pytest.raises(FindspotError, match="only reads the index"):
            call()
    assert files() == before


def test_an_idle_reader_frees_the_files_of_an_index_that_was_replaced(
    writer: EmbeddedEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "SMALL", 1)
    monkeypatch.setattr(limits, "IDLE_S", -1.0)
    writer.write(NAMESPACE, MODEL, chunks(range(50)))
    reader = EmbeddedReader(tmp_path, 2)
    assert with_word(reader)
    reader.status("project_1_table_2")  # opening one closes idle ones
    assert any((tmp_path / FOLDER / "2").iterdir())  # it is large and up to date
    rebuild(writer, range(50))
    reader.status("project_1_table_2")
    assert not any((tmp_path / FOLDER / "2").iterdir())
    assert with_word(reader) == set(range(50))
    reader.close()
