"""Reads from the database which namespaces have work that waits, and how long each has seen no progress."""

import sqlite3
import threading
import time
from collections import defaultdict
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg

from findspot.models import NamespaceKey

PATIENCE_S = 180.0
_EVERY_S = 0.25
_SOURCES = """\
SELECT project_id, table_id, sum(CASE WHEN status = 'ready' THEN 0 ELSE 1 END), sum(indexed_revision), sum(attempts)
FROM index_states
WHERE table_id IS NULL OR EXISTS (SELECT 1 FROM tables WHERE tables.id = index_states.table_id AND tables.revision > 0)
GROUP BY project_id, table_id"""
_PHASES = "SELECT namespace, phase, done FROM namespace_states"
_COUNTS = (
    "SELECT namespace, count(*) FROM gone_chunks GROUP BY namespace",
    "SELECT namespace, count(*) FROM index_requests GROUP BY namespace",
    "SELECT turbopuffer_namespace, count(*) FROM chunks WHERE NOT indexed GROUP BY turbopuffer_namespace",
)
_HELD = "SELECT count(*) FROM leases WHERE holder IS NOT NULL"


def query(database: str | Path, *statements: str) -> list[list[Any]]:
    """Return the rows of some queries."""
    if isinstance(database, str):
        with psycopg.connect(database, autocommit=True) as connection:
            return [connection.execute(each).fetchall() for each in statements]
    until = time.monotonic() + PATIENCE_S
    while True:
        try:
            with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=PATIENCE_S)) as opened:
                return [opened.execute(each).fetchall() for each in statements]
        except sqlite3.OperationalError:  # all processes were killed, and the next one has to recover the file
            if time.monotonic() > until:
                raise
            time.sleep(_EVERY_S)


def work(database: str | Path) -> dict[str, tuple[Any, ...]]:
    """Return for each namespace with work what changes when a worker advances."""
    sources, phases, *counts = query(database, _SOURCES, _PHASES, *_COUNTS)
    state: dict[str, list[Any]] = defaultdict(list)
    waiting = set()
    for project, table, behind, *progress in sources:
        namespace = NamespaceKey(project, table).namespace
        state[namespace] += [behind, *progress]
        waiting |= {namespace} if behind else set()
    for namespace, phase, done in phases:
        state[namespace] += [phase, done]
        waiting |= {namespace} if phase != "in_service" else set()
    for found in counts:
        for namespace, count in found:
            state[namespace] += [count]
    waiting |= {namespace for found in counts[:2] for namespace, _ in found}
    return {namespace: tuple(state[namespace]) for namespace in waiting}


def leases(database: str | Path) -> int:
    """Return how many leases are held, also by workers that are dead."""
    return int(query(database, _HELD)[0][0][0]) if isinstance(database, str) else 0


class Watch(threading.Thread):
    """Measures the longest time for which a namespace had work and no progress was made."""

    def __init__(self, database: str | Path) -> None:
        super().__init__(name="watch", daemon=True)
        self.longest_s, self.where = 0.0, ""
        self._database = database
        self._is_ended = threading.Event()

    def run(self) -> None:
        since: dict[str, tuple[tuple[Any, ...], float]] = {}
        while not self._is_ended.wait(_EVERY_S):
            now, found = time.monotonic(), work(self._database)
            for namespace in since.keys() - found:
                del since[namespace]
            for namespace, state in found.items():
                if namespace not in since or since[namespace][0] != state:
                    since[namespace] = state, now
                elif now - since[namespace][1] > self.longest_s:
                    self.longest_s, self.where = now - since[namespace][1], f"{namespace} {state}"

    def end(self) -> None:
        self._is_ended.set()
        if self.is_alive():
            self.join()


def wait_until_at_rest(database: str | Path) -> None:
    """Wait until nothing is left to do, and no lease of a dead worker is left to be taken over."""
    until = time.monotonic() + PATIENCE_S
    while (waiting := work(database)) or leases(database):
        assert time.monotonic() < until, f"the index does not come to rest: {waiting}"
        time.sleep(_EVERY_S)
