"""kill -9 during writes, deletes and builds: finished calls are kept, and an unfinished one is complete or absent."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from findspot.engines.embedded.engine import EmbeddedEngine
from findspot.engines.protocol import Words
from tests.engines.embedded import writer
from tests.engines.embedded.chunks import DIMENSION, NAMESPACE

ROUNDS = int(os.environ.get("FINDSPOT_TORTURE", "3"))


@pytest.mark.torture
def test_finished_calls_survive_kill_9_in_both_legs(tmp_path: Path) -> None:
    chance = random.Random(20261116)
    step = 0
    for _ in range(ROUNDS):
        finished = _write_until_killed(tmp_path, step + 1, chance)
        engine = EmbeddedEngine(tmp_path)
        step = _step_of(engine, [finished, finished + 1])
        engine.files.verify(NAMESPACE)
        engine.close()
        _check_that_no_files_are_left_over(tmp_path)
    assert step > 0


def _write_until_killed(folder: Path, start: int, chance: random.Random) -> int:
    """Kill the writer at a random time. Return the last step that it reported as finished."""
    command = [sys.executable, "-m", "tests.engines.embedded.writer", str(folder), str(start)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        reported = [process.stdout.readline() for _ in range(chance.randint(1, 15))]
        assert all(reported), "the writer stopped by itself"
        try:
            process.wait(chance.random() / 20)
        except subprocess.TimeoutExpired:
            process.kill()
        reported += process.stdout.read().splitlines()
        assert process.wait() == -9
    return int(reported[-1])


def _step_of(engine: EmbeddedEngine, possible: list[int]) -> int:
    """Return the step whose state the engine has."""
    vector = np.ones(DIMENSION, np.float32)
    for step in possible:
        expected = writer.expected(step)
        if engine.ids(NAMESPACE).tolist() == sorted(expected):
            words = Words(tuple({f"step{each}" for each in expected.values()}))
            found = engine.recall(NAMESPACE, words, vector, limit=1000)
            if set(found.keyword) != set(expected):
                continue
            assert set(found.vector) == set(expected)
            for id, written in expected.items():
                assert id in engine.recall(NAMESPACE, Words((f"step{written}",)), None, limit=1000).keyword
            return step
    raise AssertionError(f"the engine has the state of none of the steps {possible}")


def _check_that_no_files_are_left_over(folder: Path) -> None:
    namespace = folder / "project_1" / NAMESPACE
    assert {each.name.split("-")[0] for each in namespace.iterdir()} == {"manifest.json", "gen"}
    assert len(list(namespace.iterdir())) == 2
    kinds = sorted(each.name.split("-")[0] for each in next(namespace.glob("gen-*")).iterdir())
    assert kinds == ["kept", "vectors", "work"]
    assert list((folder / ".staging").iterdir()) == []
