"""`make profile`: where does the processor time of a request go? Writes a table by stage and a flame graph.

The standard load runs against a server of its own: pages of a workspace search, calls of a search tool over HTTP and
over MCP, and imports. The processor time of a call is that of the server's processes, as the system counts it. Which
stage it belongs to is sampled with py-spy in a second run of the same load.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
from mcp_types.version import LATEST_MODERN_VERSION
from tests.servers import Server

from bench import profile_stages, speed_data
from bench.agents import META
from bench.profile_plot import flame_graph
from bench.report import FOLDER, Report
from bench.workspace import Workspace, archive, texts_of

CHUNKS, OF_A_DOCUMENT, ROUNDS = 20_000, 200, 200
RATE = 500  # samples a second
OF_AN_ARCHIVE = 25  # documents
WARM_UP = 10  # calls of each kind
_STATE = "profile.json"

HOW = """\
`make profile` imports {chunks:,} paragraphs as documents and as a table, and sends {rounds} calls of each kind, one
at a time, each with another query. The figures are milliseconds of processor time of the server's processes for one
call: the total as the system counts it, divided by stage as py-spy samples it ({rate} times a second, in a second run
of the same calls). Time in native code counts for the stage that calls it; what runs without Python's lock, such as
the scan of vectors and most of the keyword search, is not sampled and counts for all stages alike. An import is one
archive of {archive} documents with one paragraph each, until they can be found. Processor time depends less than other
times on what else the machine does; the load average was {load:.1f}.

Flame graph of all calls: [profile.svg](profile.svg)."""


@dataclass(frozen=True, slots=True)
class Load:
    """A kind of call. `call` sends the one with this number."""

    name: str
    call: Callable[[int], object]
    rounds: int


class Target:
    """A server with documents, a table and a search tool."""

    def __init__(self, server: Server, folder: Path, chunks: int) -> None:
        self._server = server
        self.client = server.client()
        corpus = speed_data.corpus(None, chunks)
        self.queries = corpus.asked()
        known = folder / _STATE
        if known.exists():
            facts = json.loads(known.read_text())
        else:
            facts = self._fill(corpus, chunks)
            known.write_text(json.dumps(facts))
        self.project, self.tool, self._url, self._key = facts["project"], facts["tool"], facts["endpoint"], facts["key"]
        headers = {
            "Authorization": f"Bearer {self._key}", "Accept": "application/json, text/event-stream",
            "Content-Type": "application/json", "Mcp-Protocol-Version": LATEST_MODERN_VERSION,
            "Mcp-Method": "tools/call", "Mcp-Name": "tool",
        }  # fmt: skip
        self._agent = httpx2.Client(base_url=server.url, headers=headers, timeout=60, trust_env=False)

    def _fill(self, corpus: speed_data.Corpus, chunks: int) -> dict[str, Any]:
        workspace = Workspace(self.client)
        workspace.fill(texts_of(corpus, chunks, 1), chunks // OF_A_DOCUMENT, OF_A_DOCUMENT)
        texts = [json.loads(line) for line in corpus.texts.read_text(encoding="utf-8").splitlines()]
        self.client.timeout = 600
        project = self.client.post("/api/v1/projects", json={"name": "agents"}).json()["id"]
        table = self.client.post(f"/api/v1/projects/{project}/tables", json={"name": "texts", "data": texts}).json()
        tool = {"project_id": project, "table_id": table["id"], "name": "tool", "type": "search"}
        made = self.client.post("/api/v1/tools", json={**tool, "search_config": {"chunk_threshold": 1}}).json()
        body = {"project_id": project, "name": "bench", "tool_ids": [made["tool_id"]]}
        endpoint = self.client.post("/api/v1/mcp", json=body).json()
        path = endpoint["url"].partition("/mcp/")[2]
        return {
            "project": workspace.project,
            "tool": made["tool_id"],
            "endpoint": f"/mcp/{path}",
            "key": endpoint["api_key"],
        }

    def page(self, strategy: str) -> Callable[[int], object]:
        path = f"/api/v1/projects/{self.project}/search/query/strategy"

        def call(number: int) -> object:
            return _checked(self.client.post(path, json={"query": self._query(number), "strategy": strategy}))

        return call

    def by_http(self, number: int) -> object:
        arguments = {"query": self._query(number)}
        return _checked(self.client.post(f"/api/v1/tools/{self.tool}/call", json={"arguments": arguments}))

    def by_mcp(self, number: int) -> object:
        params = {"name": "tool", "arguments": {"query": self._query(number)}, "_meta": META}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        answer = _checked(self._agent.post(self._url, json=body))
        assert not answer["result"].get("isError"), answer
        return answer

    def add_documents(self, number: int) -> object:
        """Import an archive, and wait until its documents can be found."""
        texts = [[f"Paragraph {place} of archive {number}: {self._query(place)}."] for place in range(OF_AN_ARCHIVE)]
        path = f"/api/v1/projects/{self.project}/import?path=some{time.time_ns()}.zip"
        self.client.post(path, content=archive(texts, 0)).raise_for_status()
        while self.client.get(f"/api/v1/projects/{self.project}/status").json()["index_state"] != "ready":
            time.sleep(0.05)
        return None

    def _query(self, number: int) -> str:
        return self.queries[number % len(self.queries)]

    def loads(self, rounds: int) -> list[Load]:
        """Return the standard load. Tool calls over HTTP and over MCP have different queries: chunks are cached."""
        half = len(self.queries) // 2
        return [
            Load("keyword page", self.page("fts"), rounds),
            Load("semantic page", self.page("semantic"), rounds),
            Load("hybrid page", self.page("hybrid"), rounds),
            Load("tool over HTTP", self.by_http, min(rounds, half)),
            Load("tool over MCP", lambda number: self.by_mcp(half + number), min(rounds, half)),
            Load("import", self.add_documents, max(1, rounds // 40)),
        ]


def _checked(answer: httpx2.Response) -> dict[str, Any]:
    answer.raise_for_status()
    found: dict[str, Any] = answer.json()
    return found


@contextmanager
def _served(folder: Path, chunks: int, rounds: int) -> Iterator[tuple[Server, list[Load]]]:
    """Serve the folder, so that caches are empty, and warm up what is loaded with the first requests."""
    server = Server.start(folder, FINDSPOT_LOG_LEVEL="warning")
    try:
        target = Target(server, folder, chunks)
        loads = target.loads(rounds)
        for load in loads[:-1]:
            for number in range(WARM_UP):
                load.call(len(target.queries) // 2 - 1 - number)
        yield server, loads
    finally:
        server.kill()


def _measure(folder: Path, chunks: int, rounds: int) -> dict[str, float]:
    """Return the milliseconds of processor time of one call of each kind."""
    found = {}
    with _served(folder, chunks, rounds) as (server, loads):
        for load in loads:
            before = _cpu_ms(server)
            for number in range(load.rounds):
                load.call(number)
            found[load.name] = (_cpu_ms(server) - before) / load.rounds
            print(f"  {load.name}: {found[load.name]:.2f} ms")
    return found


def _sample(folder: Path, chunks: int, rounds: int) -> dict[str, str]:
    """Return the sampled stacks of each kind of call, in the raw format of py-spy."""
    found = {}
    with _served(folder, chunks, rounds) as (server, loads), tempfile.TemporaryDirectory() as scratch:
        for load in loads:
            raw = Path(scratch) / "raw"
            with _recording(server, raw):
                for number in range(load.rounds):
                    load.call(number)
            found[load.name] = raw.read_text(encoding="utf-8")
    return found


@contextmanager
def _recording(server: Server, raw: Path) -> Iterator[None]:
    """Sample the stacks of the server's processes."""
    command = [
        str(Path(sys.executable).with_name("py-spy")),
        "record",
        "--pid",
        str(server.serving),
        "--rate",
        str(RATE),
        "--format",
        "raw",
    ]
    command += ["--output", str(raw), "--duration", "unlimited", "--full-filenames", "--subprocesses", "--nonblocking"]
    command.append("--gil")  # else threads that wait count as busy when the machine has other work
    recorder = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        yield
    finally:
        recorder.send_signal(signal.SIGINT)
        _, said = recorder.communicate(timeout=120)
    assert raw.exists(), said


def _cpu_ms(server: Server) -> float:
    """Return the processor time of the serving process and of the helper processes under it."""
    ticks, waiting = 0, [server.serving]
    while waiting:
        pid = waiting.pop()
        with suppress(FileNotFoundError, ProcessLookupError):
            fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
            ticks += sum(map(int, fields[11:15]))  # of the process, and of children that have ended
            for task in Path(f"/proc/{pid}/task").iterdir():
                waiting += map(int, (task / "children").read_text().split())
    return ticks * 1000 / os.sysconf("SC_CLK_TCK")


def run(folder: Path, chunks: int, rounds: int) -> tuple[Report, dict[str, str]]:
    facts = {"chunks": chunks, "rounds": rounds, "rate": RATE, "archive": OF_AN_ARCHIVE, "load": os.getloadavg()[0]}
    report = Report("profile", "Processor time by stage", HOW.format_map(facts))
    measured, sampled = _measure(folder, chunks, rounds), _sample(folder, chunks, rounds)
    rows: dict[str, dict[str, float]] = {"all": measured}
    for load, raw in sampled.items():
        for stage, share in profile_stages.shares(profile_stages.read(raw)).items():
            rows.setdefault(stage, {})[load] = share * measured[load]
    title = "Milliseconds of processor time of one call"
    report.tables[title] = dict(sorted(rows.items(), key=lambda row: -sum(list(row[1].values())[:-1])))
    report.unranked.add(title)
    return report, sampled


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chunks", type=int, default=CHUNKS)
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="calls of each kind")
    parser.add_argument("--folder", type=Path, help="keep the data here, and use what is there from an earlier run")
    parser.add_argument("--only-measure", action="store_true", help="print the processor time, and write nothing")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="findspot-profile-") as scratch:
        folder = options.folder or Path(scratch)
        if options.only_measure:
            _measure(folder, options.chunks, options.rounds)
            return 0
        report, sampled = run(folder, options.chunks, options.rounds)
    report.write()
    (FOLDER / "profile.svg").write_text(flame_graph(sampled), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
