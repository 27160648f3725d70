"""Which namespaces and writers are open, and what a name may be."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from findspot.engines.embedded import namespaces as limits
from findspot.engines.embedded.engine import EmbeddedEngine
from findspot.engines.embedded.namespace import Namespace
from findspot.engines.embedded.namespaces import Namespaces
from findspot.engines.embedded.staging import Staging
from findspot.engines.protocol import EVERYTHING, Damaged, Words
from tests.engines.embedded.chunks import DIMENSION, MODEL, NAMESPACE, chunks, with_word

MERGED = 8  # segments of similar size that tantivy merges into one


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[EmbeddedEngine]:
    engine = EmbeddedEngine(tmp_path)
    yield engine
    engine.close()


@pytest.fixture
def namespaces(tmp_path: Path) -> Iterator[Namespaces[Namespace]]:
    staging = Staging(tmp_path / ".staging")
    namespaces = Namespaces(tmp_path, lambda each: Namespace(each, staging))
    yield namespaces
    namespaces.close()


def test_the_number_of_open_namespaces_and_writers_is_limited(
    namespaces: Namespaces[Namespace], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MAX_OPEN", 3)
    monkeypatch.setattr(limits, "MAX_WRITERS", 2)
    opened = [namespaces.get(f"project_1_table_{number}") for number in range(6)]
    for number, namespace in enumerate(opened):
        namespace.write(MODEL, chunks([number]))
        namespaces.close_idle()
    assert [each.is_open for each in opened] == [False] * 3 + [True] * 3
    assert [each.is_writing for each in opened] == [False] * 4 + [True] * 2


def test_a_closed_namespace_is_reopened_when_it_is_used(
    engine: EmbeddedEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MAX_OPEN", 1)
    names = ["project_1_table_1", "project_1_table_2", "project_1_table_3"]
    for number, name in enumerate(names):
        engine.write(name, MODEL, chunks([number]))
    for number, name in enumerate(names):
        assert engine.ids(name).tolist() == [number]
        engine.write(name, MODEL, chunks([number + 100]))
        assert set(engine.recall(name, Words(("mark",)), None, limit=5).keyword) == {number, number + 100}


def segments(namespace: Namespace) -> int:
    snapshot = namespace.snapshot()
    assert snapshot is not None
    return sum(name.endswith(".idx") for name in snapshot.manifest.keywords)


def written_in_segments(namespaces: Namespaces[Namespace]) -> Namespace:
    """Return a namespace with so many segments that tantivy merges them."""
    namespace = namespaces.get(NAMESPACE)
    for number in range(MERGED):
        namespace.write(MODEL, chunks([number]))
    return namespace


def test_merged_segments_are_served_without_a_further_write(namespaces: Namespaces[Namespace]) -> None:
    namespace = written_in_segments(namespaces)
    deadline = time.monotonic() + 30
    while segments(namespace) >= MERGED and time.monotonic() < deadline:
        time.sleep(0.02)  # tantivy merges in a thread of its own
        namespaces.serve_merges()
    merged = segments(namespace)
    assert merged < MERGED
    namespace.close()
    assert segments(namespace) == merged
    snapshot = namespace.snapshot()
    assert snapshot is not None
    found = snapshot.keywords.best(Words(("mark",)), 2 * MERGED, EVERYTHING)
    assert set(found.scores) == set(range(MERGED))


def test_a_damaged_file_is_not_replaced_by_merged_ones(namespaces: Namespaces[Namespace], tmp_path: Path) -> None:
    namespace = written_in_segments(namespaces)
    snapshot = namespace.snapshot()
    assert snapshot is not None
    (file, *_) = (each for each in tmp_path.rglob("kept/*.idx") if each.name in snapshot.manifest.keywords)
    file.chmod(0o600)
    file.write_bytes(bytes(file.stat().st_size))
    namespaces.serve_merges()
    with pytest.raises(Damaged):
        namespace.snapshot()


def test_a_namespace_may_be_closed_and_reopened_during_a_build(
    engine: EmbeddedEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MAX_OPEN", 1)
    engine.write(NAMESPACE, MODEL, chunks(range(5)))
    build = engine.build(NAMESPACE, MODEL, DIMENSION)
    build.write(chunks(range(10)))
    engine.write("project_1_table_2", MODEL, chunks([1]))
    assert with_word(engine) == set(range(5))
    build.write(chunks(range(10, 20)))
    build.switch()
    assert with_word(engine) == set(range(20))


def test_idle_writers_and_small_idle_indexes_are_closed(
    namespaces: Namespaces[Namespace], monkeypatch: pytest.MonkeyPatch
) -> None:
    small, large = namespaces.get("project_1_table_1"), namespaces.get("project_1_table_2")
    small.write(MODEL, chunks(range(3)))
    large.write(MODEL, chunks(range(200)))
    assert small.is_open
    assert large.is_writing
    monkeypatch.setattr(limits, "SMALL", large.size)
    monkeypatch.setattr(limits, "IDLE_S", 0)
    namespaces.close_idle()
    assert not small.is_open
    assert not large.is_writing
    assert large.is_open


@pytest.mark.parametrize("name", ["", "table_1", "project_1", "project_x_documents", "project_1_table_1/..", "../x"])
def test_an_invalid_name_is_refused(namespaces: Namespaces[Namespace], name: str) -> None:
    with pytest.raises(ValueError, match="not the name of a namespace"):
        namespaces.get(name)


def test_a_stray_file_is_no_namespace_and_is_removed_with_the_last_one(engine: EmbeddedEngine, tmp_path: Path) -> None:
    engine.write(NAMESPACE, MODEL, chunks([1]))
    (tmp_path / "project_1" / ".DS_Store").write_bytes(b"left by a file manager")
    assert engine.namespaces(1) == [NAMESPACE]
    engine.drop(NAMESPACE)
    assert not (tmp_path / "project_1").exists()
    engine.write(NAMESPACE, MODEL, chunks([1]))
    assert engine.namespaces(1) == [NAMESPACE]
