"""Fixtures that run a contract on every engine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from findspot.engines.protocol import Engine
from tests.contracts.engines import ENGINES, Reopen, reopening


@pytest.fixture(params=ENGINES)
def reopen(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Reopen]:
    """A function that opens the engine; later calls close it first."""
    with reopening(request.param, tmp_path / "index") as reopen:
        yield reopen


@pytest.fixture
def engine(reopen: Reopen) -> Engine:
    return reopen()
