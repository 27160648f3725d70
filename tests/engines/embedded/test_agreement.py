"""The embedded engine finds the same chunks with the same scores as the exact one."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from findspot.engines.embedded.engine import EmbeddedEngine
from findspot.engines.protocol import Batch, Source, Within, Words
from tests.engines.embedded.chunks import MODEL, NAMESPACE
from tests.engines.exact import ExactEngine

TERMS = ["cat", "catalog", "dog", "do", "猫", "猫咪", "咪", "索引", "👍", "v2.3", "c++"]
POINTERS = ["", "/a", "/a/b", "/a/b/c", "/ab", "/文", "/文/0"]

some_terms = st.lists(st.sampled_from(TERMS), max_size=30)
few_terms = st.lists(st.sampled_from([*TERMS, "nowhere"]), max_size=3).map(tuple)
one_term = few_terms.map(lambda terms: terms[:1])
queries = st.builds(Words, few_terms, one_term, one_term, st.sampled_from([None, None, "ca", "cat", "猫", "zz"]))
sources = st.builds(
    Source,
    st.sampled_from([None, 1, 2]),
    st.sampled_from(POINTERS),
    st.sampled_from([300, 500]),
    st.sampled_from([0, 50]),
    st.integers(0, 20),
)
limits = st.builds(
    Within,
    st.sampled_from(POINTERS),
    st.sampled_from([None, (300, 50), (500, 0)]),
    st.integers(0, 20),
    st.sampled_from([None, frozenset({1}), frozenset({1, 2, 3})]),
)


@settings(max_examples=12)
@given(
    texts=st.lists(st.tuples(sources, some_terms), min_size=1, max_size=30),
    parts=st.integers(1, 3),
    asked=st.lists(st.tuples(queries, limits, st.integers(1, 40)), min_size=1, max_size=8),
)
def test_keyword_scores_agree_with_textbook_bm25(
    texts: list[tuple[Source, list[str]]], parts: int, asked: list[tuple[Words, Within, int]]
) -> None:
    """Texts have up to 40 terms. tantivy stores such lengths exactly, and rounds longer ones."""
    exact = ExactEngine()
    with tempfile.TemporaryDirectory() as folder:
        embedded = EmbeddedEngine(Path(folder))
        for part in range(parts):
            ids = list(range(part, len(texts), parts))
            cut, terms = [texts[id][0] for id in ids], [" ".join(texts[id][1]) for id in ids]
            batch = Batch(ids, [""] * len(ids), cut, terms, np.ones((len(ids), 4), np.float32))
            exact.write(NAMESPACE, MODEL, batch)
            embedded.write(NAMESPACE, MODEL, batch)
        for words, within, limit in asked:
            expected = exact.recall(NAMESPACE, words, None, limit=100, within=within).keyword
            found = embedded.recall(NAMESPACE, words, None, limit=limit, within=within).keyword
            assert len(found) == min(limit, len(expected))
            assert found == pytest.approx({id: expected[id] for id in found}, rel=1e-4)
            best = sorted(expected.values(), reverse=True)[:limit]
            assert list(found.values()) == pytest.approx(best, rel=1e-4)
        embedded.close()
