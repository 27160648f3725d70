"""`make bench-fairness`: what callers get from a server while others load it. Every load is bounded and local."""

import argparse
import itertools
import json
import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import httpx2
from tests.servers import Server

from bench import speed_data
from bench.load import Call, Group, Outcome, run
from bench.report import Figure, Report, percentile
from bench.workspace import Workspace

SECONDS = 12.0
CHUNKS, DOCUMENTS, PROJECTS = 20_000, 200, 4
MOST_IN_FLIGHT, FLOOD, SEARCHERS, CLIENTS, SAVERS = 64, 640, 50, 200, 4
KEPT, SAVE_MS, READY_MS, MANY_SAVE_MS, SHARE = 80.0, 250.0, 100.0, 1000.0, 3.0

HOW = """\
`make bench-fairness` starts a server, fills {projects} projects with {chunks:,} paragraphs each, and sends hybrid
searches, saves and health checks from another process for {seconds:g} seconds per row. Every connection has one
request in flight. 'Patient' clients wait as long as a refusal asks; 'impatient' ones ask again at once. Clients and
server share the cores. The load average of the machine was {load:.1f} at the start."""


class Loaded:
    """A filled server and the calls to it."""

    def __init__(self, server: Server, client: httpx2.Client, seconds: float) -> None:
        self._server = server
        self._client = client
        self._seconds = seconds

    def fill(self, corpus: speed_data.Corpus, projects: int, chunks: int) -> list[int]:
        filled = []
        for _ in range(projects):
            workspace = Workspace(self._client)
            workspace.fill(texts_of(corpus), DOCUMENTS, chunks // DOCUMENTS)
            filled.append(workspace.project)
        return filled

    def documents(self, project: int, count: int) -> list[int]:
        """Create short documents, which savers save."""
        path, made = f"/api/v1/projects/{project}/documents", []
        for number in range(count):
            body = {"title": f"saved {number}", "content": "A first text. 第一版。", "format": "text"}
            made.append(self._client.post(path, json=body).raise_for_status().json()["id"])
        return made

    def run(self, *groups: Group) -> dict[str, Outcome]:
        return run(self._server.url, self._server.token, self._seconds, groups)


def searches(project: int, queries: Sequence[str]) -> list[Call]:
    path = f"/api/v1/projects/{project}/search/query/strategy"
    return [Call("search", "POST", path, json.dumps({"query": query, "strategy": "hybrid"})) for query in queries]


def save(document: int) -> Call:
    content = "A paragraph that a person writes, version {n}. 一个人写的一段话，第 {n} 版。"
    return Call("save", "PUT", f"/api/v1/documents/{document}", json.dumps({"content": content, "format": "text"}))


def texts_of(corpus: speed_data.Corpus) -> Iterator[str]:
    with corpus.texts.open(encoding="utf-8", newline="\n") as file:
        yield from map(json.loads, file)


def _flood(report: Report, loaded: Loaded, project: int, queries: Sequence[str], seconds: float) -> None:
    calls = searches(project, queries)
    usual = loaded.run(Group("usual", MOST_IN_FLIGHT, calls))["usual"]
    rate = len(usual.latencies("search")) / seconds
    report.add(f"{MOST_IN_FLIGHT} connections", Figure("searches answered", rate, "/s"))
    for patient in (True, False):
        found = loaded.run(Group("flood", FLOOD, calls, patient=patient))["flood"]
        section = f"{FLOOD} connections, {'patient' if patient else 'impatient'}"
        answered = len(found.latencies("search")) / seconds
        report.add(section, Figure("searches answered", answered, "/s"))
        report.add(section, Figure("of the rate without a flood", answered / rate * 100, "%", least=KEPT))
        refused = found.statuses.get("search 429", 0)
        report.add(section, Figure("refused", refused / seconds, "/s"))
        late = found.statuses.get("search 504", 0) + found.statuses.get("TimeoutError", 0)
        report.add(section, Figure("accepted searches that timed out", late, "", 1))
        others = sum(found.statuses.values()) - refused - len(found.latencies("search")) - late
        report.add(section, Figure("other answers", others, "", 1))
        report.add(section, Figure("connections closed by the server", found.closed, ""))


def _beside_searchers(report: Report, loaded: Loaded, projects: Sequence[int], queries: Sequence[str]) -> None:
    busy, other, *_ = projects
    savers = [
        Group(f"saver {number}", 1, [save(document)], pause_s=0.05)
        for number, document in enumerate(loaded.documents(other, SAVERS))
    ]
    health = Group("health", 1, [Call("ready", "GET", "/readyz")], pause_s=0.02)
    for searchers in (0, SEARCHERS):
        load = [Group("searchers", searchers, searches(busy, queries))] if searchers else []
        found = loaded.run(*load, *savers, health)
        saves = [each * 1000 for saver in savers for each in found[saver.name].latencies("save")]
        checks = [each * 1000 for each in found["health"].latencies("ready")]
        section = f"{searchers} searchers in another project"
        bounds = (SAVE_MS, READY_MS) if searchers else (None, None)
        report.add(section, Figure("save, p50", percentile(saves, 0.5), "ms"))
        report.add(section, Figure("save, p95", percentile(saves, 0.95), "ms", bounds[0]))
        report.add(section, Figure("/readyz, p99", percentile(checks, 0.99), "ms", bounds[1]))


def _everybody(report: Report, loaded: Loaded, projects: Sequence[int], queries: Sequence[str]) -> None:
    groups = []
    for project in projects:
        each = CLIENTS // len(projects)
        for client, document in enumerate(loaded.documents(project, each)):
            calls = [*searches(project, queries[client : client + 9]), save(document)]
            groups.append(Group(f"{project}/{client}", 1, calls[client % 10 :] + calls[: client % 10]))
    found = loaded.run(*groups)
    saves = [each * 1000 for outcome in found.values() for each in outcome.latencies("save")]
    asked = [each * 1000 for outcome in found.values() for each in outcome.latencies("search")]
    counts = [sum(outcome.answers) for outcome in found.values()]
    section = f"{CLIENTS} clients in {len(projects)} projects, 10 % saves"
    report.add(section, Figure("answers", sum(counts), ""))
    report.add(section, Figure("save, p50", percentile(saves, 0.5), "ms"))
    report.add(section, Figure("save, p95", percentile(saves, 0.95), "ms", MANY_SAVE_MS))
    report.add(section, Figure("search, p95", percentile(asked, 0.95), "ms"))
    mean = sum(counts) / len(counts)
    report.add(section, Figure("the busiest client, times the mean", max(counts) / mean, "×", SHARE))
    least = mean / max(min(counts), 0.001)
    report.add(section, Figure("the mean, times the least busy client", least, "×", SHARE))
    refused = sum(count for outcome in found.values() for each, count in outcome.statuses.items() if each[-3:] != "200")
    report.add(section, Figure("not answered", refused, "", 1))


def measure(chunks: int = CHUNKS, seconds: float = SECONDS) -> Report:
    corpus = speed_data.corpus(None, chunks)
    queries = corpus.asked()
    facts = {"projects": PROJECTS, "chunks": chunks, "seconds": seconds, "load": os.getloadavg()[0]}
    report = Report("fairness", "Fairness under load", HOW.format_map(facts))
    with tempfile.TemporaryDirectory(prefix="findspot-fairness-") as folder:
        server = Server.start(Path(folder), FINDSPOT_LOG_LEVEL="warning")
        try:
            with server.client() as client:
                loaded = Loaded(server, client, seconds)
                projects = loaded.fill(corpus, PROJECTS, chunks)
                loaded.run(Group("warm up", 8, list(itertools.chain(*(searches(each, queries) for each in projects)))))
                _flood(report, loaded, projects[0], queries, seconds)
                _beside_searchers(report, loaded, projects, queries)
                _everybody(report, loaded, projects, queries)
        finally:
            server.kill()
    return report


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chunks", type=int, default=CHUNKS, help="of each project")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of each load")
    parser.add_argument("--write", action="store_true", help="write docs/bench/fairness.md")
    options = parser.parse_args()
    report = measure(options.chunks, options.seconds)
    return report.finish(write=options.write)


if __name__ == "__main__":
    raise SystemExit(main())
