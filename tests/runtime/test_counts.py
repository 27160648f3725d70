"""Counts of what is in progress, in one process or in several."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing

import pytest

from findspot.runtime.counts import Counts, LocalCounts, SharedCounts


@pytest.fixture(params=["local", "shared"])
def counts(request: pytest.FixtureRequest) -> Iterator[Counts]:
    if request.param == "local":
        yield LocalCounts()
        return
    with closing(SharedCounts(2)) as shared:
        yield shared


def test_a_key_is_counted_up_to_its_limit(counts: Counts) -> None:
    assert [counts.take(7, 2) for _ in range(3)] == [True, True, False]
    assert counts.take(("/api/v1/projects/7", b"key"), 2)  # another key
    counts.give_back(7)
    assert [counts.take(7, 2) for _ in range(2)] == [True, False]
    assert counts.take(7, 3)


def test_many_keys_come_and_go(counts: Counts) -> None:
    for start in range(0, 100_000, 1000):
        keys = [f"caller {number}" for number in range(start, start + 500)]
        assert all(counts.take(key, 1) for key in keys)
        assert not any(counts.take(key, 1) for key in keys)
        for key in keys:
            counts.give_back(key)


def test_all_processes_count_together_and_a_dead_one_not_at_all() -> None:
    with closing(SharedCounts(3)) as counts:
        counts.become(1)
        assert [counts.take(7, 5) for _ in range(3)] == [True] * 3
        counts.become(2)
        assert [counts.take(7, 5) for _ in range(3)] == [True, True, False]
        counts.forget(1)
        assert [counts.take(7, 5) for _ in range(4)] == [True, True, True, False]
        counts.become(1)  # restarted: it has nothing in progress, and the others keep theirs
        assert not counts.take(7, 5)
        counts.become(2)  # the same for this one
        assert counts.take(7, 5)


_FORKED = """
import os, signal
from findspot.runtime.counts import SharedCounts

LIMIT, ROUNDS = 64, 20_000
counts = SharedCounts(3)
children = []
for number in (1, 2):
    child = os.fork()
    if not child:
        counts.become(number)
        held = sum(counts.take("key", LIMIT) for _ in range(ROUNDS))
        for _ in range(held // 2):
            counts.give_back("key")
        for _ in range(ROUNDS):
            if counts.take("key", LIMIT):
                counts.give_back("key")
        while counts.take("key", LIMIT):
            pass
        os.kill(os.getpid(), signal.SIGKILL)  # with everything that it holds
    children.append(child)
for child in children:
    os.waitpid(child, 0)
assert not counts.take("key", LIMIT)  # both together hold exactly as many as there may be
counts.forget(1)
counts.forget(2)
assert sum(counts.take("key", LIMIT) for _ in range(100)) == LIMIT
counts.close()
"""


def test_processes_that_count_at_the_same_time_never_exceed_the_limit() -> None:
    ended = subprocess.run([sys.executable, "-c", _FORKED], capture_output=True, text=True, timeout=120, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
