"""Fixtures of the index tests."""

import pytest

from findspot.models import Backoff
from findspot.store import index_states


@pytest.fixture
def short_delays(monkeypatch: pytest.MonkeyPatch) -> None:
    """Retry soon after an error."""
    monkeypatch.setattr(index_states, "SOURCE_BACKOFF", Backoff(0.05, 60))
    monkeypatch.setattr("findspot.indexing.worker.NAMESPACE_BACKOFF", Backoff(0.05, 30))
