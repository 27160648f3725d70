"""kill -9 while a replace is executed or undone: all documents change or none, and the index follows."""

import os
import random
import sqlite3
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.servers import Server

ROUNDS = int(os.environ.get("FINDSPOT_TORTURE", "1"))
DOCUMENTS = 40
WORDS = ("zyzzyva", "quagga")
PATIENCE_S = 120.0


@dataclass
class Novel:
    """A project in which one word is replaced by another, forth and back."""

    project: int
    ids: list[int]
    word: str = WORDS[0]
    versions: dict[int, int] = field(default_factory=dict)  # how many each document has

    def text(self, number: int) -> str:
        return f"{self.word} 第 {number} 章 {self.word.upper()} {self.word}。" + " 字x" * 500

    def channel(self, client: httpx2.Client, name: str, **body: Any) -> Any:
        answer = client.post(f"/api/v1/projects/{self.project}/search/{name}", json=body)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def check(self, client: httpx2.Client, after: str, reason: str) -> bool:
        """Check that all documents have one of two words, with the versions that belong to it. Return whether they
        changed."""
        found = [client.get(f"/api/v1/documents/{id}").json()["text"] for id in self.ids]
        words = {each.split()[0] for each in found}
        assert len(words) == 1, "only some documents changed"
        before, has_changed = self.word, words == {after}
        assert words <= {before, after}
        kept = {id: client.get(f"/api/v1/documents/{id}/versions").json()["versions"] for id in self.ids}
        assert {id: len(each) for id, each in kept.items()} == {
            id: self.versions.get(id, 0) + has_changed for id in self.ids
        }
        if has_changed:
            assert {each[0]["reason"] for each in kept.values()} == {reason}
            newest = f"/api/v1/documents/{self.ids[0]}/versions/{kept[self.ids[0]][0]['id']}"
            assert client.get(newest).json()["text"].split()[0] == before
            self.word, self.versions = after, {id: len(each) for id, each in kept.items()}
        self._check_index(client)
        return has_changed

    def _check_index(self, client: httpx2.Client) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while True:
            query = {"query": self.word, "exact": True, "perDocument": 1, "includeDuplicates": True}
            found = self.channel(client, "fts/query", **query)
            if found["indexState"] == "ready":
                break
            assert time.monotonic() < deadline, "the index does not follow"
            time.sleep(0.05)
        assert {each["documentId"] for each in found["results"]} == set(self.ids)
        (other,) = set(WORDS) - {self.word}
        assert self.channel(client, "fts/query", query=other, exact=True)["results"] == []


@pytest.mark.torture
@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_kill_9_leaves_all_documents_changed_or_none(
    kind: str, start_server: Callable[..., Server], request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    environment = {}
    if kind == "postgres":
        environment["FINDSPOT_DATABASE_URL"] = request.getfixturevalue("new_postgres_database")()
    chance = random.Random(20261117)
    server = start_server(**environment)
    with server.client() as client:
        novel = _make(client)
        durations = _durations(client, novel)
    for _ in range(ROUNDS):
        for action in ("execute", "undo"):
            delay_s = chance.random() * durations[action]
            server = _kill_during(server, novel, action, delay_s, lambda: start_server(**environment))
    server.kill()
    if kind == "sqlite":
        with sqlite3.connect(tmp_path / "served" / "findspot.db") as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def _make(client: httpx2.Client) -> Novel:
    novel = Novel(client.post("/api/v1/projects", json={"name": "p"}).json()["id"], [])
    for number in range(DOCUMENTS):
        body = {"title": "t", "format": ("text", "markdown")[number % 2], "content": novel.text(number)}
        novel.ids.append(client.post(f"/api/v1/projects/{novel.project}/documents", json=body).json()["id"])
    return novel


def _other(novel: Novel) -> str:
    return WORDS[1 - WORDS.index(novel.word)]


def _preview(client: httpx2.Client, novel: Novel) -> int:
    rule = {"search": novel.word, "replace": _other(novel), "scope": "project", "preserveCase": True}
    found = novel.channel(client, "replace/preview", **rule)
    assert found["totalMatches"] == 3 * DOCUMENTS
    return int(found["previewId"])


def _execute(client: httpx2.Client, novel: Novel) -> tuple[int, float]:
    """Replace the word without an interruption. Return the id of the preview, and the seconds that it took."""
    id, after = _preview(client, novel), _other(novel)
    began = time.monotonic()
    novel.channel(client, "replace/execute", previewId=id, confirmed=True)
    taken = time.monotonic() - began
    assert novel.check(client, after, "replace")
    return id, taken


def _durations(client: httpx2.Client, novel: Novel) -> dict[str, float]:
    """Return how many seconds each action takes, after which a kill would be too late."""
    before = novel.word
    id, execute_s = _execute(client, novel)
    began = time.monotonic()
    novel.channel(client, "replace/undo", previewId=id)
    undo_s = time.monotonic() - began
    assert novel.check(client, before, "restore")
    return {"execute": execute_s, "undo": undo_s}


def _kill_during(server: Server, novel: Novel, action: str, delay_s: float, restart: Callable[[], Server]) -> Server:
    """Kill the server while it works. Return a new one, on which everything was checked."""
    with server.client() as client:
        before = novel.word
        if action == "execute":
            body, after, reason = {"previewId": _preview(client, novel), "confirmed": True}, _other(novel), "replace"
        else:
            body, after, reason = {"previewId": _execute(client, novel)[0]}, before, "restore"
        worker = threading.Thread(target=_ask, args=(client, novel, action, body))
        worker.start()
        worker.join(delay_s)
        server.kill()
        worker.join()
    started = restart()
    with started.client() as client:
        novel.check(client, after, reason)
    return started


def _ask(client: httpx2.Client, novel: Novel, action: str, body: dict[str, Any]) -> None:
    try:
        client.post(f"/api/v1/projects/{novel.project}/search/replace/{action}", json=body)
    except httpx2.TransportError:
        return  # the server was killed; the replace may or may not be done
