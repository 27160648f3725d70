"""`make bench-agents-load`: fifty agents search at once over MCP, at a server with two API processes."""

import argparse
import json
import os
import resource
import tempfile
from pathlib import Path
from urllib.parse import urlsplit

from mcp_types.version import LATEST_MODERN_VERSION
from tests.servers import Server

from bench import speed_data
from bench.agents import META
from bench.load import Call, Group, Outcome, run
from bench.mcp import make_endpoint
from bench.report import Figure, Report, percentile
from bench.workers import processor_s

CHUNKS, AGENTS, PROCESSES = 20_000, 50, 2
SECONDS, ROUNDS, WARM_UP_S = 20.0, 3, 5.0
LEAST_CALLS, P95_MS = 130, 500
LEAST_SHARE = 50  # per cent of the mean
TOOL = "tool"
HEADERS = {
    "Accept": "application/json, text/event-stream", "Mcp-Protocol-Version": LATEST_MODERN_VERSION,
    "Mcp-Method": "tools/call", "Mcp-Name": TOOL,
}  # fmt: skip

HOW = """\
`make bench-agents-load` serves a table with {chunks:,} chunks with `findspot serve --workers {processes}`. Then
{agents} agents call its search tool in the newest revision of MCP, each over a connection of its own with one call in
flight, for {seconds:g} seconds, {rounds} times. Each agent begins with another of {queries} queries. One process sends
all calls and does not parse the answers: its own processor time is shown as a share of one core, and the server has
that much less. The kernel spreads the connections over the API processes by chance, so the agents of one process may be
fewer, and get more. The share of an agent is the number of its calls, in per cent of the mean. The load average was
{load:.1f} at the start."""


def measure(chunks: int, agents: int, seconds: float, processes: int, rounds: int) -> Report:
    corpus = speed_data.corpus(None, chunks)
    queries = corpus.asked()
    facts = {"chunks": chunks, "agents": agents, "seconds": seconds, "processes": processes, "rounds": rounds}
    how = HOW.format(**facts, queries=len(queries), load=os.getloadavg()[0])
    report = Report("agents-load", "Fifty agents at once", how)
    with tempfile.TemporaryDirectory(prefix="findspot-agents-") as folder:
        server = Server.start(Path(folder), "--workers", str(processes), FINDSPOT_LOG_LEVEL="warning")
        try:
            texts = [json.loads(line) for line in corpus.texts.read_text(encoding="utf-8").splitlines()]
            tool = {"type": "search", "search_config": {"chunk_threshold": 1}}
            url, key = make_endpoint(server, tool, {"name": "texts", "data": texts}, chunks=chunks)
            group = Group("agents", agents, _calls(urlsplit(url).path, queries), headers=HEADERS)
            run(server.url, key, WARM_UP_S, [group])
            for turn in range(1, rounds + 1):
                _measure_round(report, f"Round {turn}", server, key, seconds, group)
        finally:
            server.stop()
    return report


def _calls(path: str, queries: list[str]) -> list[Call]:
    def body(query: str) -> str:
        params = {"name": TOOL, "arguments": {"query": query}, "_meta": META}
        return json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})

    return [Call("call", "POST", path, body(query)) for query in queries]


def _measure_round(report: Report, section: str, server: Server, key: str, seconds: float, group: Group) -> None:
    before_s, own_s = processor_s(server), _own_s()
    outcome = run(server.url, key, seconds, [group])[group.name]
    own_s, served_s = _own_s() - own_s, processor_s(server) - before_s
    taken = [each * 1000 for each in outcome.latencies("call")]
    report.add(section, Figure("calls", len(taken) / seconds, "/s", least=LEAST_CALLS))
    report.add(section, Figure("p50", percentile(taken, 0.5), "ms"))
    report.add(section, Figure("p95", percentile(taken, 0.95), "ms", P95_MS))
    report.add(section, Figure("p99", percentile(taken, 0.99), "ms"))
    _add_shares(report, section, outcome)
    report.add(section, Figure("processor time of the server, per call", served_s / len(taken) * 1000, "ms"))
    report.add(section, Figure("processor time of the load generator, of one core", own_s / seconds * 100, "%"))
    others = sum(count for status, count in outcome.statuses.items() if status != "call 200")
    report.add(section, Figure("other answers", others, "", 1))


def _add_shares(report: Report, section: str, outcome: Outcome) -> None:
    mean = sum(outcome.answers) / len(outcome.answers)
    report.add(section, Figure("smallest share of an agent", min(outcome.answers) / mean * 100, "%", least=LEAST_SHARE))
    report.add(section, Figure("largest share of an agent", max(outcome.answers) / mean * 100, "%"))


def _own_s() -> float:
    """Return the processor time of load generators that have ended."""
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chunks", type=int, default=CHUNKS)
    parser.add_argument("--agents", type=int, default=AGENTS)
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of each round")
    parser.add_argument("--processes", type=int, default=PROCESSES)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--write", action="store_true", help="write docs/bench/agents-load.md")
    options = parser.parse_args()
    report = measure(options.chunks, options.agents, options.seconds, options.processes, options.rounds)
    return report.finish(write=options.write)


if __name__ == "__main__":
    raise SystemExit(main())
