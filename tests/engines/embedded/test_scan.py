"""Searches among enough rows that signs are compared first."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from findspot.engines.embedded.rows import Rows
from findspot.engines.protocol import Source, Vectors, Within
from tests.engines.embedded.vectors import TOLERANCE, nearest, vectors


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> tuple[Rows, Vectors]:
    """A part of 20,000 rows, one of 10,000, and one that is too small for signs."""
    rows, base = Rows.create(tmp_path_factory.mktemp("many"), 128), vectors(31_000, 128)
    base[::1000] = 0
    for start, end in ((0, 20_000), (20_000, 30_000), (30_000, 31_000)):
        ids = range(start, end)
        rows.append(
            ids, [Source(document_id=each % 1000, pointer=f"/{each // 15_500}") for each in ids], base[start:end]
        )
        rows.view()
    return rows, base


def recall(rows: Rows, base: Vectors, within: Within, passes: Callable[[int], bool]) -> float:
    """Return the share of the ten nearest rows that a search finds, averaged over some queries."""
    view, allowed = rows.view(), np.array([each for each in range(len(base)) if each % 1000 and passes(each)])
    mask, shares = view.mask(within), []
    for query in vectors(15, 128, seed=9) + base[1:16]:
        exact = allowed[np.argsort(-(base[allowed] @ query), kind="stable")[:10]]
        ids, _ = nearest(view, query, 10, mask)
        assert set(ids.tolist()) <= set(allowed.tolist())
        shares.append(len(set(exact.tolist()) & set(ids.tolist())) / 10)
    return float(np.mean(shares))


def test_most_of_the_nearest_rows_are_found(many: tuple[Rows, Vectors]) -> None:
    rows, base = many
    assert [part.signs is not None for part in rows.view().parts] == [True, True, False]
    assert recall(rows, base, Within(), lambda row: True) >= 0.95


@pytest.mark.parametrize("per_mille", [900, 500, 100, 1])
def test_a_filter_costs_no_hits(many: tuple[Rows, Vectors], per_mille: int) -> None:
    rows, base = many
    within = Within(document_ids=frozenset(range(1, per_mille + 1)))
    assert recall(rows, base, within, lambda row: 1 <= row % 1000 <= per_mille) >= 0.95


def test_a_filter_that_excludes_the_nearest_rows_costs_no_hits(many: tuple[Rows, Vectors]) -> None:
    rows, base = many
    assert recall(rows, base, Within(pointer="/1"), lambda row: row >= 15_500) >= 0.95


def test_a_vector_of_many_numbers_is_nearest_to_itself(tmp_path: Path) -> None:
    """All signs agree, which gives the highest possible sum. It must not overflow."""
    rows, base = Rows.create(tmp_path, 3072), vectors(4500, 3072)
    rows.append(range(len(base)), [Source()] * len(base), base)
    view = rows.view()
    assert view.parts[0].signs is not None
    assert [nearest(view, each, 10)[0][0] for each in base[:10]] == list(range(10))


def test_dead_rows_do_not_displace_hits(many: tuple[Rows, Vectors], tmp_path: Path) -> None:
    """A few chunks are written again and again: all their old rows are as near as the new ones."""
    rows = Rows.create(tmp_path, 128)
    base = many[1][1:12_000]
    base = base[base.any(axis=1)]
    rows.append(range(len(base)), [Source()] * len(base), base)
    for _ in range(50):
        rows.append(range(100), [Source()] * 100, np.tile(base[7], (100, 1)))
    view = rows.view()
    assert view.parts[0].signs is not None
    ids, cosines = nearest(view, base[7], 200)
    assert len(ids) == 200
    assert set(range(100)) <= set(ids.tolist())
    exact = np.sort(base[100:] @ base[7])[::-1][:100]
    assert cosines[100:] == pytest.approx(exact, abs=TOLERANCE)
