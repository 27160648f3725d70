"""The limits of one call in a helper process."""

import pytest

from findspot.runtime import call_limits
from findspot.runtime.call_limits import CallLimits, Enforcer


@pytest.fixture
def enforcer(monkeypatch: pytest.MonkeyPatch) -> Enforcer:
    monkeypatch.setattr(call_limits, "_MALLOC_OPTIONS", {})  # the allocator of the tests stays as it is
    return Enforcer(CallLimits(seconds=600, memory=32 << 20))


def test_a_call_cannot_allocate_more_than_its_memory_and_the_limit_ends_with_it(enforcer: Enforcer) -> None:
    enforcer.begin()
    try:
        with pytest.raises(MemoryError):
            bytes(64 << 20)
        assert len(bytes(1 << 20)) == 1 << 20
    finally:
        enforcer.end()
    assert len(bytes(64 << 20)) == 64 << 20


def test_a_process_that_keeps_much_memory_is_told_to_end(enforcer: Enforcer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(call_limits, "KEPT_MEMORY", 1 << 40)
    assert enforcer.memory_is_free()
    monkeypatch.setattr(call_limits, "KEPT_MEMORY", 1 << 20)
    assert not enforcer.memory_is_free()
