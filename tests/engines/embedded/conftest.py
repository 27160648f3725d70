"""Fixtures for tests of the vector files."""

from pathlib import Path

import pytest

from findspot.engines.embedded.rows import Rows
from findspot.engines.protocol import Source
from tests.engines.embedded.vectors import DIMENSION, use_small_parts, vectors


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    use_small_parts(monkeypatch)


@pytest.fixture
def rows(tmp_path: Path) -> Rows:
    """Fifty chunks, of which five were replaced and five deleted."""
    rows = Rows.create(tmp_path, DIMENSION)
    rows.append(range(50), [Source(pointer=f"/数据/{each % 7}") for each in range(50)], vectors(50))
    rows.append(range(5), [Source(pointer="/neu")] * 5, vectors(5, seed=2))
    rows.delete([*range(10, 15), 1000])
    return rows
