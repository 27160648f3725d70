"""Contract of Engine: building an index beside the one in service."""

from __future__ import annotations

import numpy as np
import pytest

from findspot.engines.protocol import Abandoned, Engine
from tests.contracts.engines import (
    DIMENSION,
    MODEL,
    NEXT_MODEL,
    TABLE,
    Reopen,
    batch,
    direction,
    found,
    words,
)


def test_a_build_replaces_the_index_in_service(reopen: Reopen) -> None:
    engine = reopen()
    engine.write(TABLE, MODEL, batch({1: "old cat", 2: "old dog"}))
    build = engine.build(TABLE, NEXT_MODEL, DIMENSION)
    build.write(batch({2: "new dog", 3: "新的 猫"}))
    build.write(batch({4: "new bird"}))
    assert found(engine, "new") == []
    assert engine.status(TABLE).fingerprint == MODEL
    build.switch()
    assert set(found(engine, "new")) == {2, 4}
    assert found(engine, "old") == []
    assert engine.status(TABLE).fingerprint == NEXT_MODEL
    assert reopen().ids(TABLE).tolist() == [2, 3, 4]


def test_a_build_may_be_empty_and_may_be_the_first_index_of_a_namespace(reopen: Reopen) -> None:
    engine = reopen()
    engine.build(TABLE, MODEL, DIMENSION).switch()
    assert engine.ids(TABLE).tolist() == []
    assert engine.status(TABLE).fingerprint == MODEL
    engine = reopen()
    assert engine.recall(TABLE, words("cat"), direction(1), limit=3).keyword == {}
    engine.write(TABLE, MODEL, batch({1: "cat"}))
    assert found(engine, "cat") == [1]


def test_writes_and_deletes_during_a_build_reach_both_indexes(reopen: Reopen) -> None:
    engine = reopen()
    engine.write(TABLE, MODEL, batch({1: "old one", 2: "old two", 3: "old three"}))
    build = engine.build(TABLE, MODEL, DIMENSION)
    build.write(batch({1: "built one"}))
    engine.write(TABLE, MODEL, batch({1: "live one", 2: "live two", 9: "live nine"}))
    engine.delete(TABLE, [3])
    assert set(found(engine, "live")) == {1, 2, 9}
    assert found(engine, "old") == []
    build.write(batch({2: "built two", 3: "built three", 4: "built four"}))
    assert set(found(engine, "live")) == {1, 2, 9}
    build.switch()
    assert set(found(engine, "live")) == {1, 2, 9}
    assert found(engine, "built") == [4]
    assert reopen().ids(TABLE).tolist() == [1, 2, 4, 9]


def test_during_a_build_for_another_embedder_new_chunks_are_found_by_keywords(engine: Engine) -> None:
    engine.write(TABLE, MODEL, batch({1: "cat"}))
    build = engine.build(TABLE, NEXT_MODEL, 8)
    later = batch({2: "cat later"}, np.ones((1, 8), np.float32))
    engine.write(TABLE, NEXT_MODEL, later)
    with pytest.raises(ValueError, match="model"):
        engine.write(TABLE, MODEL, batch({3: "cat"}))
    recall = engine.recall(TABLE, words("cat"), direction(1), limit=10)
    assert set(recall.keyword) == {1, 2}
    assert set(recall.vector) == {1}
    build.switch()
    recall = engine.recall(TABLE, words("cat"), np.ones(8, np.float32), limit=10)
    assert set(recall.keyword) == set(recall.vector) == {2}


def test_an_abandoned_build_changes_nothing(reopen: Reopen) -> None:
    engine = reopen()
    engine.write(TABLE, MODEL, batch({1: "cat"}))
    build = engine.build(TABLE, NEXT_MODEL, DIMENSION)
    build.write(batch({2: "cat"}))
    build.abandon()
    build.abandon()
    with pytest.raises(Abandoned):
        build.write(batch({3: "cat"}))
    with pytest.raises(Abandoned):
        build.switch()
    engine.write(TABLE, MODEL, batch({4: "cat"}))
    assert reopen().ids(TABLE).tolist() == [1, 4]


@pytest.mark.parametrize("end", ["another build", "drop", "switch"])
def test_a_build_is_abandoned_when_it_is_no_longer_wanted(engine: Engine, end: str) -> None:
    engine.write(TABLE, MODEL, batch({1: "cat"}))
    build = engine.build(TABLE, MODEL, DIMENSION)
    build.write(batch({2: "cat"}))
    if end == "another build":
        engine.build(TABLE, MODEL, DIMENSION).switch()
    elif end == "drop":
        engine.drop(TABLE)
    else:
        build.switch()
    with pytest.raises(Abandoned):
        build.switch()
    with pytest.raises(Abandoned):
        build.write(batch({3: "cat"}))
    assert engine.ids(TABLE).tolist() == ([2] if end == "switch" else [])
