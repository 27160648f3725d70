"""kill -9 during writes: acknowledged writes survive, others are complete or absent."""

import os
import random
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.servers import Server

ROUNDS = int(os.environ.get("FINDSPOT_TORTURE", "1"))
WRITERS = 4


@dataclass
class Ledger:
    """The last value that the server acknowledged to a writer, and the last one it attempted."""

    table_id: int
    size: int
    acknowledged: int = 0
    attempted: int = 0
    stop: threading.Event = field(default_factory=threading.Event)

    def value(self, number: int) -> dict[str, Any]:
        return {"n": number, "text": f"{number}:" + "字x" * self.size}

    def write(self, client: httpx2.Client) -> None:
        path = f"/api/v1/tables/{self.table_id}/data"
        try:
            while not self.stop.is_set():
                self.attempted += 1
                patch = [{"op": "add", "path": "/log/-", "value": self.attempted}]
                whole = self.value(self.attempted)
                steps = [{"op": "replace", "path": f"/{name}", "value": value} for name, value in whole.items()]
                answer = client.patch(path, json=[*patch, *steps])
                assert answer.status_code == 200, answer.text
                self.acknowledged = self.attempted
        except httpx2.TransportError:
            return  # the server was killed; this write may or may not be stored

    def check(self, data: dict[str, Any]) -> None:
        assert data["n"] in (self.acknowledged, self.attempted), (self.acknowledged, self.attempted, data["n"])
        assert {"n": data["n"], "text": data["text"]} == self.value(data["n"])
        assert data["log"] == list(range(1, data["n"] + 1))
        self.acknowledged = self.attempted = data["n"]


@pytest.mark.torture
@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_every_acknowledged_write_survives_kill_9(
    kind: str, start_server: Callable[..., Server], request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    environment = {}
    if kind == "postgres":
        environment["FINDSPOT_DATABASE_URL"] = request.getfixturevalue("new_postgres_database")()
    chance = random.Random(20261115)
    server = start_server(**environment)
    with server.client() as client:
        project = client.post("/api/v1/projects", json={"name": "p"}).json()["id"]
        ledgers = list(_tables(client, project))
    for number in range(ROUNDS):
        threads = [threading.Thread(target=_run, args=(server, ledger)) for ledger in ledgers]
        for thread in threads:
            thread.start()
        watched = ledgers[-1 - number % WRITERS]
        for ledger in ledgers:
            _wait_until(ledger, 1, threads)
        _wait_until(watched, watched.acknowledged + chance.randint(1, 5), threads)
        server.kill()
        for thread in threads:
            thread.join()
        server = start_server(**environment)
        with server.client() as client:
            for ledger in ledgers:
                ledger.check(client.get(f"/api/v1/tables/{ledger.table_id}").json()["data"])
    assert all(ledger.acknowledged > 0 for ledger in ledgers)
    server.kill()
    if kind == "sqlite":
        _check_integrity(tmp_path / "served" / "findspot.db")


def _tables(client: httpx2.Client, project: int) -> Iterator[Ledger]:
    """Create one table per writer. The largest needs several transactions per write."""
    for size in (1, 1000, 50_000, 700_000)[:WRITERS]:
        data = {"n": 0, "text": "0:" + "字x" * size, "log": []}
        table = client.post(f"/api/v1/projects/{project}/tables", json={"name": "t", "data": data}).json()
        yield Ledger(table["id"], size)


def _run(server: Server, ledger: Ledger) -> None:
    with server.client() as client:
        ledger.write(client)


def _wait_until(ledger: Ledger, goal: int, threads: list[threading.Thread]) -> None:
    while ledger.acknowledged < goal:
        assert any(thread.is_alive() for thread in threads), "every writer stopped before the server was killed"
        threads[0].join(0.005)


def _check_integrity(file: Path) -> None:
    import sqlite3

    with sqlite3.connect(file) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
