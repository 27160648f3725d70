"""A server with a project that grows: import, search, save, and its memory, all from the outside."""

import io
import itertools
import threading
import time
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
from tests.servers import Server

from bench import processes
from bench.capacity.texts import OF_A_DOCUMENT

STRATEGIES = {"keyword": "fts", "semantic": "semantic", "hybrid": "hybrid"}
SAVES = 20
SAMPLE_S = 5.0
PAUSE_S = 0.2
PATIENCE_S = 60.0


class Project:
    """The project of a running server."""

    def __init__(self, client: httpx2.Client) -> None:
        self._client = client
        known = client.get("/api/v1/projects").json()["projects"]
        self.id = known[0]["id"] if known else client.post("/api/v1/projects", json={"name": "capacity"}).json()["id"]

    def import_block(self, number: int, texts: Sequence[str]) -> None:
        """Import one archive. What is there already stays as it is, so a block can be repeated."""
        body = io.BytesIO()
        with zipfile.ZipFile(body, "w") as archive:
            for document, at in enumerate(range(0, len(texts), OF_A_DOCUMENT)):
                name = f"{number:04}/{document:03}.txt"
                archive.writestr(name, "\n\n".join(texts[at : at + OF_A_DOCUMENT]))
        path = f"/api/v1/projects/{self.id}/import?path=block-{number:04}.zip"
        self._client.post(path, content=body.getvalue()).raise_for_status()

    def status(self) -> dict[str, Any]:
        found: dict[str, Any] = self._client.get(f"/api/v1/projects/{self.id}/status").json()
        return found

    def wait_until_ready(self) -> dict[str, Any]:
        while (status := self.status())["index_state"] != "ready":
            time.sleep(PAUSE_S)
        return status

    def search(self, query: str, strategy: str) -> dict[str, Any]:
        body = {"query": query, "strategy": STRATEGIES[strategy]}
        answer = self._client.post(f"/api/v1/projects/{self.id}/search/query/strategy", json=body)
        answer.raise_for_status()
        found: dict[str, Any] = answer.json()
        return found

    def times(self, queries: Sequence[str], strategy: str) -> list[float]:
        """Return the milliseconds of a first page of 50 results, for each query."""
        for query in queries[:10]:
            self.search(f"warm {query}", strategy)
        return [_timed(lambda query=query: self.search(query, strategy)) for query in queries]

    def saves(self, tag: str, paragraphs: Sequence[str]) -> list[float]:
        """Create a document and save it with a new paragraph, again and again. Return the milliseconds from the save to
        the hit."""
        content = "\n\n".join(paragraphs)
        body = {"title": f"saved {tag}", "format": "text", "content": content}
        made = self._client.post(f"/api/v1/projects/{self.id}/documents", json=body)
        made.raise_for_status()
        path, times = f"/api/v1/documents/{made.json()['id']}", []
        for turn in range(SAVES):
            word = f"savemark{tag}{chr(ord('a') + turn)}"
            content = f"{content}\n\nA new paragraph with the word {word}. 新的段落。"
            times.append(_timed(lambda word=word, content=content: self._save(path, content, word)))
        self._client.delete(path).raise_for_status()
        return times

    def _save(self, path: str, content: str, word: str) -> None:
        self._client.put(path, json={"content": content}).raise_for_status()
        until = time.monotonic() + PATIENCE_S
        while not self.search(word, "keyword")["results"]:
            if time.monotonic() > until:
                raise TimeoutError(f"{word} was not found after {PATIENCE_S:.0f} s.")


def _timed(work: Any) -> float:
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1000


@contextmanager
def serving(data: Path) -> Iterator[tuple[Server, Project]]:
    server = Server.start(data, FINDSPOT_LOG_LEVEL="warning")
    try:
        with server.client() as client:
            yield server, Project(client)
    finally:
        server.stop()


class Sampler:
    """Notes the memory of a server every few seconds, with the number of chunks imported by then."""

    def __init__(self, server: Server, seconds: float) -> None:
        self.chunks = 0
        self.samples: list[tuple[float, int, float, float]] = []  # seconds, chunks, MB resident, MB of its own
        self._server, self._began = server, time.monotonic() - seconds
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._is_over.set()
        self._thread.join()

    def _sample(self) -> None:
        for _ in itertools.count():
            memory = processes.memory_mb([self._server.process.pid])
            self.samples.append((time.monotonic() - self._began, self.chunks, *memory))
            if self._is_over.wait(SAMPLE_S):
                return
