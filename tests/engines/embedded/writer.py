"""A process that writes until it is killed. After each call that returned, it says how many there were.

What it does at which step follows from the number of the step, so the one who kills it knows what has to be there.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

from findspot.engines.embedded import index
from findspot.engines.embedded.engine import EmbeddedEngine
from tests.engines.embedded.chunks import DIMENSION, MODEL, NAMESPACE, chunks

STEPS = 400


def expected(steps: int) -> dict[int, int]:
    """The chunks that are there after so many steps, and at which step each was written."""
    there: dict[int, int] = {}
    for step in range(1, steps + 1):
        kind, ids = plan(step)
        if kind == "delete":
            for id in ids:
                there.pop(id, None)
        elif kind == "write":
            there |= dict.fromkeys(ids, step)
        else:
            there = dict.fromkeys(ids, step)
    return there


def plan(step: int) -> tuple[str, list[int]]:
    chance = random.Random(step)
    kind = chance.choices(["write", "delete", "build"], [8, 3, 1])[0]
    return kind, chance.sample(range(200), 40 if kind == "build" else chance.randint(1, 20))


def run(folder: Path, start: int) -> None:
    index.MIN_DEAD = 20  # so that vectors are compacted now and then
    engine = EmbeddedEngine(folder)
    for step in range(start, start + STEPS):
        kind, ids = plan(step)
        if kind == "delete":
            engine.delete(NAMESPACE, ids)
        elif kind == "write":
            engine.write(NAMESPACE, MODEL, chunks(ids, mark=f"step{step}"))
        else:
            building = engine.files.build(NAMESPACE, MODEL, DIMENSION)
            building.write(chunks(ids[:20], mark=f"step{step}"))
            building.write(chunks(ids[20:], mark=f"step{step}"))
            building.switch()
        print(step, flush=True)


if __name__ == "__main__":
    run(Path(sys.argv[1]), int(sys.argv[2]))
