"""A process that writes until it is killed, and prints the number of each finished step.

Every step is derived from its number, so the test knows the expected state after it.
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
    """Return the chunks after this many steps, and the step in which each was written."""
    chunks_at: dict[int, int] = {}
    for step in range(1, steps + 1):
        kind, ids = plan(step)
        if kind == "delete":
            for id in ids:
                chunks_at.pop(id, None)
        elif kind == "write":
            chunks_at |= dict.fromkeys(ids, step)
        else:
            chunks_at = dict.fromkeys(ids, step)
    return chunks_at


def plan(step: int) -> tuple[str, list[int]]:
    chance = random.Random(step)
    kind = chance.choices(["write", "delete", "build"], [8, 3, 1])[0]
    return kind, chance.sample(range(200), 40 if kind == "build" else chance.randint(1, 20))


def run(folder: Path, start: int) -> None:
    index.MIN_DEAD = 20  # compact vectors often
    engine = EmbeddedEngine(folder)
    for step in range(start, start + STEPS):
        kind, ids = plan(step)
        if kind == "delete":
            engine.delete(NAMESPACE, ids)
        elif kind == "write":
            engine.write(NAMESPACE, MODEL, chunks(ids, mark=f"step{step}"))
        else:
            build = engine.build(NAMESPACE, MODEL, DIMENSION)
            build.write(chunks(ids[:20], mark=f"step{step}"))
            build.write(chunks(ids[20:], mark=f"step{step}"))
            build.switch()
        print(step, flush=True)


if __name__ == "__main__":
    run(Path(sys.argv[1]), int(sys.argv[2]))
