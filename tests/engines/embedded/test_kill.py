"""kill -9 in the middle of writes, deletions and builds: what returned is there, what did not is whole or absent."""

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

ROUNDS = int(os.environ.get("FINDSPOT_TORTURE", "4"))


@pytest.mark.torture
def test_what_was_written_survives_kill_9_in_both_legs_alike(tmp_path: Path) -> None:
    chance = random.Random(20261116)
    step = 0
    for _ in range(ROUNDS):
        told = _write_and_be_killed(tmp_path, step + 1, chance)
        engine = EmbeddedEngine(tmp_path)
        step = _step_reached(engine, [told, told + 1])
        engine.files.verify(NAMESPACE)
        engine.close()
        _nothing_is_left_over(tmp_path)
    assert step > 0


def _write_and_be_killed(folder: Path, start: int, chance: random.Random) -> int:
    """The last step it told of before it was killed, at a moment of no meaning."""
    command = [sys.executable, "-m", "tests.engines.embedded.writer", str(folder), str(start)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        told = [process.stdout.readline() for _ in range(chance.randint(1, 15))]
        assert all(told), "the writer stopped by itself"
        try:
            process.wait(chance.random() / 20)
        except subprocess.TimeoutExpired:
            process.kill()
        told += process.stdout.read().splitlines()
        assert process.wait() == -9
    return int(told[-1])


def _step_reached(engine: EmbeddedEngine, possible: list[int]) -> int:
    vector = np.ones(DIMENSION, np.float32)
    for step in possible:
        there = writer.expected(step)
        if engine.ids(NAMESPACE).tolist() == sorted(there):
            words = Words(tuple({f"step{each}" for each in there.values()}))
            found = engine.recall(NAMESPACE, words, vector, limit=1000)
            if set(found.keyword) != set(there):
                continue
            assert set(found.vector) == set(there)
            for id, written in there.items():
                assert id in engine.recall(NAMESPACE, Words((f"step{written}",)), None, limit=1000).keyword
            return step
    raise AssertionError(f"what is there is the state after none of the steps {possible}")


def _nothing_is_left_over(folder: Path) -> None:
    place = folder / "project_1" / NAMESPACE
    assert {each.name.split("-")[0] for each in place.iterdir()} == {"manifest.json", "gen"}
    assert len(list(place.iterdir())) == 2
    kinds = sorted(each.name.split("-")[0] for each in next(place.glob("gen-*")).iterdir())
    assert kinds == ["kept", "vectors", "work"]
    assert list((folder / ".staging").iterdir()) == []
