"""Contract of LocalFiles: verifying files and evicting vectors."""

from __future__ import annotations

import numpy as np
import pytest

from findspot.engines.protocol import Engine
from tests.contracts.engines import (
    DIMENSION,
    MODEL,
    TABLE,
    WITH_FILES,
    Reopen,
    batch,
    direction,
    files,
    found,
    near,
    words,
)

pytestmark = pytest.mark.parametrize("reopen", WITH_FILES, indirect=True)


def test_a_namespace_that_does_not_exist_is_sound_and_empty(engine: Engine) -> None:
    files(engine).verify(TABLE)
    files(engine).evict(TABLE, [1])
    assert files(engine).vector_ids(TABLE).tolist() == []


def test_a_chunk_whose_vector_is_evicted_is_found_by_keywords_only(reopen: Reopen) -> None:
    engine = reopen()
    texts = {1: "a cat", 2: "一只猫 cat", 3: "a cat and a dog", 4: "no vector"}
    vectors = np.array([direction(1), direction(2), direction(3), np.zeros(DIMENSION, np.float32)])
    engine.write(TABLE, MODEL, batch(texts, vectors))
    files(engine).evict(TABLE, [2, 4, 99])  # 4 has no vector, and 99 does not exist
    files(engine).evict(TABLE, [2])

    def check(engine: Engine) -> None:
        files(engine).verify(TABLE)
        assert files(engine).vector_ids(TABLE).tolist() == [1, 3]
        assert engine.ids(TABLE).tolist() == [1, 2, 3, 4]
        assert engine.count(TABLE, None) == 2
        assert (engine.status(TABLE).vectors, engine.status(TABLE).evicted) == (2, 1)
        assert [near(engine, direction(axis)) for axis in (1, 2, 3)] == [[1], [], [3]]
        assert sorted(found(engine, "cat")) == [1, 2, 3]
        recall = engine.recall(TABLE, words("猫"), direction(1), limit=10, also=[2, 4])
        assert (list(recall.keyword), recall.vector_also) == ([2], {})

    check(engine)
    engine = reopen()
    check(engine)
    engine.write(TABLE, MODEL, batch({2: "一只猫 cat"}, np.array([direction(2)])))
    assert (near(engine, direction(2)), engine.status(TABLE).evicted) == ([2], 0)
    engine.delete(TABLE, [1, 2, 3, 4])
    assert files(engine).vector_ids(TABLE).tolist() == []
