"""The C functions of a vector search, compared with numpy."""

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from findspot.engines.embedded import kernels
from findspot.engines.embedded.codes import Codes, Numbers
from tests.native.registers import widths

DIMENSIONS = st.integers(1, 90) | st.sampled_from([384, 1023, 1024, 1500])


def some_codes(seed: int, count: int, dimension: int) -> tuple[Codes, Numbers]:
    """Return codes and a query. Half of the seeds give few different numbers, so that many scores are equal."""
    numbers = np.random.default_rng(seed)
    span = 127 if seed % 2 else 1
    codes = numbers.integers(128 - span, 129 + span, (count, dimension)).astype(np.uint8)
    return codes, numbers.integers(-span, span + 1, dimension).astype(np.int16)


def sums_of_tables(tables: kernels.Tables, codes: Codes) -> Iterator[int]:
    for code in codes[:, :1024]:
        bits = np.append(code >= 128, np.zeros(-len(code) % 8, np.bool_)).reshape(-1, 4)
        yield int(tables[np.arange(len(tables)), bits @ (1, 2, 4, 8)].sum(dtype=np.int64))


@given(st.integers(0, 99), st.integers(0, 100), DIMENSIONS)
@settings(max_examples=60)
def test_the_score_of_signs_is_the_sum_of_table_entries(seed: int, count: int, dimension: int) -> None:
    codes, numbers = some_codes(seed, count, dimension)
    tables, signs = kernels.tables(numbers), kernels.Signs(codes)
    for _ in widths(kernels):
        scores = np.zeros(count, np.uint16)
        signs.score(tables, scores)
        assert scores.tolist() == list(sums_of_tables(tables, codes))


@given(st.integers(0, 99), DIMENSIONS)
@settings(max_examples=30)
def test_tables_follow_the_product_of_signs_and_query(seed: int, dimension: int) -> None:
    codes, numbers = some_codes(seed, 50, dimension)
    tables, scores = kernels.tables(numbers), np.empty(50, np.uint16)
    kernels.Signs(codes).score(tables, scores)
    used = numbers[:1024].astype(np.int64)
    agreeing = np.where((codes[:, :1024] >= 128) == (used > 0), np.abs(used), 0).sum(axis=1)
    fours = np.abs(np.append(used, np.zeros(-len(used) % 4, np.int64))).reshape(-1, 4).sum(axis=1)
    scale = 255 / max(1, int(fours.max()))
    assert scores == pytest.approx(agreeing * scale, abs=len(tables) / 2)


@given(st.integers(0, 99), st.integers(0, 200), st.integers(0, 250), st.sampled_from([3, 1000, 65_535]))
def test_the_highest_scores_of_the_mask_are_picked(seed: int, count: int, wanted: int, most: int) -> None:
    numbers = np.random.default_rng(seed)
    scores = (65_535 - numbers.integers(0, most + 1, count)).astype(np.uint16)
    mask = numbers.random(count) < numbers.random()
    rows = np.flatnonzero(mask)
    expected = rows[np.lexsort((rows, -scores[rows].astype(np.int64)))][:wanted]
    assert kernels.highest(scores, mask, wanted).tolist() == sorted(expected.tolist())


@given(st.integers(0, 99), st.integers(0, 80), st.integers(0, 100), DIMENSIONS)
@settings(max_examples=60)
def test_the_best_products_are_found_in_order(seed: int, count: int, limit: int, dimension: int) -> None:
    codes, numbers = some_codes(seed, 100, dimension)
    rows = np.sort(np.random.default_rng(seed).choice(100, count, replace=False)) + 1000
    exact = (codes[rows - 1000].astype(np.int64) - 128) @ numbers.astype(np.int64)
    order = np.lexsort((rows, -exact))[:limit]
    for _ in widths(kernels):
        found, products = kernels.products(codes, 1000, rows, numbers, limit)
        assert found.tolist() == rows[order].tolist()
        assert products.tolist() == exact[order].astype(np.float32).tolist()
