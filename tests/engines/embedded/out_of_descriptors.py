"""A process that uses the engine with a few free file descriptors or none, and prints the result of each call."""

from __future__ import annotations

import os
import resource
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np

from findspot.engines.embedded.engine import EmbeddedEngine
from findspot.engines.protocol import Words
from findspot.errors import FindspotError
from tests.engines.embedded.chunks import DIMENSION, MODEL, NAMESPACE, chunks

LIMIT = 128
FREE = (0, 1, 2, 3, 5, 8)
VECTOR = np.ones(DIMENSION, np.float32)


def recall(engine: EmbeddedEngine) -> None:
    engine.recall(NAMESPACE, Words(("mark",)), VECTOR, limit=5)


def build(engine: EmbeddedEngine) -> None:
    made = engine.build(NAMESPACE, MODEL, DIMENSION)
    made.write(chunks(range(50)))
    made.switch()


CALLS: dict[str, Callable[[EmbeddedEngine], object]] = {
    "recall": recall,
    "status": lambda engine: engine.status(NAMESPACE),
    "write": lambda engine: engine.write(NAMESPACE, MODEL, chunks([1])),
    "delete": lambda engine: engine.delete(NAMESPACE, [99]),
    "verify": lambda engine: engine.files.verify(NAMESPACE),
    "evict": lambda engine: engine.files.evict(NAMESPACE, [2]),
    "namespaces": lambda engine: engine.namespaces(1),
    "build": build,
    "new namespace": lambda engine: engine.write("project_1_table_2", MODEL, chunks([1])),
    "drop": lambda engine: engine.drop("project_1_table_2"),
}


def outcome(engine: EmbeddedEngine, call: Callable[[EmbeddedEngine], object], free: int) -> str:
    """Call the engine while all but some descriptors are taken. Return the code of the error, or ok."""
    taken: list[int] = []
    with suppress(OSError):
        for _ in range(LIMIT):
            taken.append(os.open("/dev/null", os.O_RDONLY))
    for descriptor in taken[:free]:
        os.close(descriptor)
    try:
        call(engine)
    except FindspotError as error:
        return f"{error.code} {error.message}"
    finally:
        for descriptor in taken[free:]:
            os.close(descriptor)
    return "ok"


def run(folder: Path) -> None:
    engine = EmbeddedEngine(folder)
    engine.write(NAMESPACE, MODEL, chunks(range(50)))
    recall(engine)  # imports what a recall needs
    resource.setrlimit(resource.RLIMIT_NOFILE, (LIMIT, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    for free in FREE:
        engine.close()
        engine = EmbeddedEngine(folder)
        for name, call in CALLS.items():  # until a call succeeds, each has to open the index
            print(f"{name}: {outcome(engine, call, free)}", flush=True)
        recall(engine)
        engine.files.verify(NAMESPACE)
        assert len(engine.ids(NAMESPACE)) == 50
    engine.close()


if __name__ == "__main__":
    run(Path(sys.argv[1]))
