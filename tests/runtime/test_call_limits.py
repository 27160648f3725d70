"""The limits of one call in a helper process."""

import os

import pytest

from findspot.runtime import call_limits
from findspot.runtime.call_limits import memory_of, return_free_memory


def test_the_memory_of_a_process_is_known_while_it_runs() -> None:
    assert memory_of("self") == pytest.approx(memory_of(os.getpid()), rel=0.5)
    assert memory_of("self") > 1 << 20
    assert memory_of(2**31) == 0


def test_a_process_that_keeps_much_memory_is_told_to_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(call_limits, "KEPT_MEMORY", 1 << 40)
    assert return_free_memory()
    monkeypatch.setattr(call_limits, "KEPT_MEMORY", 1 << 20)
    assert not return_free_memory()
