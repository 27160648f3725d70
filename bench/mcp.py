"""Cost of a call over MCP, compared with the same call in process, and with fifty agents at once."""

import asyncio
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tests.servers import Server

from bench import answers, speed_data, tasks
from bench.agents import Order, Outcome, plain, sdk
from bench.report import Figure, Report, percentile
from findspot.agents.schemas import NewTool
from findspot.app import open_app
from findspot.models import OWNER
from findspot.settings import Settings
from findspot.store import projects as project_rows

ROUNDS, TURNS = 100, 5  # the ways are measured in turns, because the load of a machine varies
AGENTS, SECONDS, PROCESSES = 50, 30.0, 2
CHUNKS = 20_000
OVER_MS, P95_MS = 5, 500
STARTS, START_MS = 10, 1000
BACK_PRESSURE = "SEARCH_BACKPRESSURE"
_TABLE = {"items": [{"title": f"第 {n} 条 item", "n": n} for n in range(20)]}
_ARGUMENTS = {"query": "items[3].title"}


def run() -> Report:
    report = Report(
        "mcp",
        "What a call over MCP costs",
        "First, tokens of what agents receive, on ten real tables (`python -m bench.answers --data DIR`): the "
        "passages of five hits, their paths, the text block and the structured content of the answer, both as a lean "
        "endpoint gives them, and the aim for one of them (1.25 times the passages, and 40 for each hit). The lean "
        f"text reaches the aim on every table, the lean structure {answers.missed()}. "
        "Then fifty tasks of an agent without a model (`make bench-agents`), which searches, reads around hits and "
        "writes the answer down; 'by reading on' counts answers that no passage contained. "
        "Then medians for a small answer (`query_data`), in process and over HTTP, with one client. Then "
        f"{AGENTS} agents in {PROCESSES} processes, one search in flight each, for {SECONDS:g} seconds "
        f"against a table with {CHUNKS:,} chunks. 'Plain' sends the newest revision's requests over HTTP; 'SDK' is the "
        "official client, which needs about as much CPU as the server. Clients and server share the cores; load "
        f"average at the start: {os.getloadavg()[0]:.1f}.",
    )
    report.tables |= answers.tables()  # measured by `python -m bench.answers`, which needs the real tables
    report.tables |= tasks.tables()  # measured by `python -m bench.tasks`
    report.unranked |= set(report.tables)
    with tempfile.TemporaryDirectory() as folder:
        server = Server.start(Path(folder) / "served", FINDSPOT_LOG_LEVEL="warning")
        try:
            asyncio.run(_one_at_a_time(report, server, Path(folder) / "here"))
            _bridge(report)
            _many_at_once(report, server)
        finally:
            server.kill()
    return report


# ── one at a time ──


async def _one_at_a_time(report: Report, server: Server, folder: Path) -> None:
    url, key = make_endpoint(server, {"type": "query_data"}, {"name": "t", "data": _TABLE})
    async with (
        open_app(Settings(data=folder)) as app,
        plain(url, key, "tool") as by_http,
        sdk(url, key, "tool") as newest,
        sdk(url, key, "tool", "legacy") as older,
    ):
        async with app.store.write() as connection:
            project = await project_rows.create(connection, "bench")
        table = await app.tables.create(project.id, json.dumps({"name": "t", "data": _TABLE}).encode())
        spec = NewTool.model_validate(
            {"project_id": project.id, "table_id": table.id, "name": "tool", "type": "query_data"}
        )
        tool = (await app.tools.create(project.id, spec, wait=False)).tool
        ways: dict[str, Callable[[], Awaitable[Any]]] = {
            "in process": lambda: app.tool_calls.call(tool, _ARGUMENTS, OWNER),
            "HTTP, newest revision, plain": lambda: by_http(_ARGUMENTS),
            "HTTP, newest revision, SDK": lambda: newest(_ARGUMENTS),
            "HTTP, the one before, SDK": lambda: older(_ARGUMENTS),
        }
        medians = await _medians(ways)
    section = "A small answer, one call at a time"
    for name, median in medians.items():
        report.add(section, Figure(name, median, "ms"))
    own, *others = medians.values()
    report.add(section, Figure("newest revision, plain, over in process", others[0] - own, "ms", OVER_MS))
    report.add(section, Figure("newest revision, SDK, over in process", others[1] - own, "ms", OVER_MS))


async def _medians(ways: dict[str, Callable[[], Awaitable[Any]]]) -> dict[str, float]:
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for turn in range(TURNS + 1):
        for name, call in ways.items():
            for _ in range(ROUNDS):
                started = time.perf_counter()
                await call()
                if turn:  # the first one warms up
                    taken[name].append((time.perf_counter() - started) * 1000)
    return {name: statistics.median(values) for name, values in taken.items()}


# ── the bridge ──


def _bridge(report: Report) -> None:
    """Measure the time from the start of the bridge to its first answer, and its processor time until it ends."""
    environment = {**os.environ, "FINDSPOT_MCP_URL": "http://127.0.0.1:9/mcp/1", "FINDSPOT_KEY": "fse_none"}
    line = b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}\n'
    taken, before = [], resource.getrusage(resource.RUSAGE_CHILDREN)
    for _ in range(STARTS):
        started = time.perf_counter()
        with subprocess.Popen(
            [sys.executable, "-m", "findspot", "mcp"], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        ) as bridge:  # fmt: skip
            assert bridge.stdin
            assert bridge.stdout
            bridge.stdin.write(line)
            bridge.stdin.flush()
            assert b"result" in bridge.stdout.readline()
            taken.append((time.perf_counter() - started) * 1000)
            bridge.stdin.close()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    section = "Start of the bridge for desktop clients"
    report.add(section, Figure("until its first answer, median", statistics.median(taken), "ms", START_MS))
    report.add(section, Figure("until its first answer, slowest", max(taken), "ms", START_MS))
    report.add(section, Figure("processor time of a start and an end", spent * 1000 / STARTS, "ms"))


# ── many at once ──


def _many_at_once(report: Report, server: Server) -> None:
    corpus = speed_data.corpus(None, CHUNKS)
    texts = [json.loads(line) for line in corpus.texts.read_text(encoding="utf-8").splitlines()]
    made = {"type": "search", "search_config": {"chunk_threshold": 1}}
    url, key = make_endpoint(server, made, {"name": "texts", "data": texts}, chunks=CHUNKS)
    for kind, name in (("plain", "plain"), ("sdk", "SDK")):
        order = Order(url, key, "tool", corpus.asked(), AGENTS // PROCESSES, SECONDS)
        before = _cpu_s(server)
        outcome = _work(order, kind)
        spent_ms = (_cpu_s(server) - before) * 1000
        section, calls = f"{AGENTS} agents at once, {name}", len(outcome.taken)
        report.add(section, Figure("calls", calls / SECONDS, "calls/s"))
        for share in (0.5, 0.95, 0.99):
            bound = P95_MS if share == 0.95 else None
            report.add(section, Figure(f"p{share * 100:g}", percentile(outcome.taken, share) * 1000, "ms", bound))
        report.add(section, Figure("processor time of the server, a call", spent_ms / calls, "ms"))
        pushed = outcome.errors.pop(BACK_PRESSURE, 0)
        report.add(section, Figure("calls that were asked to wait", pushed, "calls"))
        report.add(section, Figure("other errors", sum(outcome.errors.values()), "calls", 1))


def _work(order: Order, kind: str) -> Outcome:
    command = [sys.executable, "-m", "bench.agents", kind]
    started = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(PROCESSES)
    ]
    for each in started:
        assert each.stdin
        json.dump(asdict(order), each.stdin)
        each.stdin.close()
    whole = Outcome()
    for each in started:
        assert each.stdout
        result = json.load(each.stdout)
        assert each.wait() == 0
        whole.taken += result["taken"]
        whole.errors += Counter(result["errors"])
    return whole


def make_endpoint(server: Server, tool: dict[str, Any], table: dict[str, Any], chunks: int = 0) -> tuple[str, str]:
    """Create a project with one table, one tool and one endpoint. Return its URL and key."""
    with server.client() as owner:
        owner.timeout = 600
        project = owner.post("/api/v1/projects", json={"name": "bench"}).json()["id"]
        table_id = owner.post(f"/api/v1/projects/{project}/tables", json=table).json()["id"]
        spec = {"project_id": project, "table_id": table_id, "name": "tool", **tool}
        made = owner.post("/api/v1/tools", json=spec).json()
        assert made.get("chunks_created", 0) == chunks, made
        body = {"project_id": project, "name": "bench", "tool_ids": [made["tool_id"]]}
        endpoint = owner.post("/api/v1/mcp", json=body).json()
    return endpoint["url"], endpoint["api_key"]


def _cpu_s(server: Server) -> float:
    """Return the CPU seconds of the serving process."""
    fields = Path(f"/proc/{server.serving}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
