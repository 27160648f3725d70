"""Chunks for tests of the embedded engine."""

from __future__ import annotations

import random
from collections.abc import Iterable

import numpy as np

from findspot.engines.protocol import Batch, Engine, Source, Words

NAMESPACE = "project_1_table_1"
MODEL = "model"
DIMENSION = 32
WORDS = ["cat", "dog", "bird", "search", "索引", "检索", "数据", "👍", *(f"word{n}" for n in range(40))]


def chunks(ids: Iterable[int], mark: str = "mark") -> Batch:
    """Chunks with words and vectors derived from their ids, and one word that all of them share."""
    ids = list(ids)
    terms = [" ".join([mark, *random.Random(id).choices(WORDS, k=random.Random(id).randint(1, 30))]) for id in ids]
    vectors = np.array([np.random.default_rng(id).normal(size=DIMENSION) for id in ids], np.float32)
    sources = [Source(None, f"/rows/{id % 7}/{id}", 300, 50, 10 + id % 90) for id in ids]
    return Batch(ids, [str(id) for id in ids], sources, terms, vectors.reshape(len(ids), DIMENSION))


def with_word(engine: Engine, word: str = "mark") -> set[int]:
    """The ids of all chunks with this word. Vectors must find them too."""
    recall = engine.recall(NAMESPACE, Words((word,)), np.ones(DIMENSION, np.float32), limit=10_000)
    assert set(recall.keyword) <= set(recall.vector)
    return set(recall.keyword)
