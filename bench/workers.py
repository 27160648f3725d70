"""`make bench-workers`: hybrid searches per second with one API process and with several."""

import argparse
import os
import resource
import tempfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from tests.servers import Server

from bench import speed_data
from bench.fairness import searches, texts_of
from bench.load import Group, Outcome, run
from bench.report import Figure, Report, pace_ms, percentile
from bench.workspace import Workspace

SECONDS, ROUNDS = 15.0, 3
CHUNKS, DOCUMENTS, CLIENTS = 20_000, 200, 16
PROCESSES = 2
LEAST = 1.6

HOW = """\
`make bench-workers` fills a project with {chunks:,} paragraphs and sends hybrid searches over {clients} connections
from another process, {seconds:g} seconds at a time, to a server with one API process and to one with {processes} over
the same data. It does so {rounds} times and shows the median. The load generator does not parse the answers. Its own
processor time is shown as a share of one core: the server had that much less. The load average was {load:.1f} at the
start.

One API process is bound by Python's global lock: it keeps little more than one core busy, as shown at the end. Each
further process adds as much as a core gives, until the cores are used up. Cores may share parts with each other or
with other machines, so the last section also shows how many times the work of one process a plain loop of Python
gets done in {processes} processes at once. That, divided by the cores that one process and the load keep busy, is
the most to expect. The load generator, the supervisor and an idle index worker take the share of a core that is
shown. So with 16 cores, of which one is left to the load, the worker and the system, 15 API processes answer about
15 times as many searches as one that has a core of its own. Memory bandwidth was not measured; the scan of the
vectors is the part that needs it."""


class Load:
    """Sends searches to a server, and measures what that costs."""

    def __init__(self, project: int, queries: list[str], seconds: float) -> None:
        self._calls = searches(project, queries)
        self._seconds = seconds

    def send(self, server: Server) -> tuple[Outcome, float]:
        """Return the outcome, and the processor time of the load generator in seconds."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        group = Group("searchers", CLIENTS, self._calls)
        outcome = run(server.url, server.token, self._seconds, [group])["searchers"]
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return outcome, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _median(values: list[float]) -> float:
    return percentile(values, 0.5)


def measure(chunks: int, seconds: float, processes: int, rounds: int) -> Report:
    corpus = speed_data.corpus(None, chunks)
    queries = corpus.asked()
    facts = {"chunks": chunks, "clients": CLIENTS, "seconds": seconds, "processes": processes, "rounds": rounds}
    report = Report("workers", "Several API processes", HOW.format(**facts, load=os.getloadavg()[0]))
    rates: dict[int, list[float]] = {1: [], processes: []}
    busy, at_once = list[float](), list[float]()
    with tempfile.TemporaryDirectory(prefix="findspot-workers-") as folder:
        load = Load(_fill(Path(folder), corpus, chunks), queries, seconds)
        for turn in range(1, rounds + 1):
            at_once.append(_work_at_once(processes))
            for number in (1, processes):
                section = f"{number} API process{'es' if number > 1 else ''}, round {turn}"
                rate, cores = _measure_one(report, section, Path(folder), load, number, seconds)
                rates[number].append(rate)
                busy += [cores] if number == 1 else []
    grown = _median(rates[processes]) / _median(rates[1])
    for number, found in rates.items():
        report.add("Together", Figure(f"searches with {number}, median", _median(found), "/s"))
    report.add("Together", Figure("cores that one process and the load keep busy", _median(busy), ""))
    report.add("Together", Figure(f"a loop of Python in {processes} processes, times one", _median(at_once), "×"))
    bound = LEAST if processes == PROCESSES and (os.cpu_count() or 1) >= PROCESSES else None
    report.add("Together", Figure(f"{processes} processes, times one", grown, "×", least=bound))
    return report


def _fill(folder: Path, corpus: speed_data.Corpus, chunks: int) -> int:
    server = Server.start(folder, FINDSPOT_LOG_LEVEL="warning")
    try:
        with server.client() as client:
            workspace = Workspace(client)
            workspace.fill(texts_of(corpus), DOCUMENTS, chunks // DOCUMENTS)
            project: int = workspace.project
            return project
    finally:
        server.stop()


def _work_at_once(processes: int) -> float:
    """Return how many times the work of one process several do at once: cores may share parts, or belong to others."""
    with ProcessPoolExecutor(processes) as pool:
        alone = pool.submit(pace_ms).result()
        together = [each.result() for each in [pool.submit(pace_ms) for _ in range(processes)]]
    return sum(alone / each for each in together)


def _measure_one(
    report: Report, section: str, folder: Path, load: Load, processes: int, seconds: float
) -> tuple[float, float]:
    """Return the searches a second, and how many cores server and load generator kept busy."""
    server = Server.start(folder, "--workers", str(processes), FINDSPOT_LOG_LEVEL="warning")
    try:
        load.send(server)  # opens the index and fills the caches
        before_s = processor_s(server)
        outcome, own_s = load.send(server)
        served_s = processor_s(server) - before_s
    finally:
        server.stop()
    taken = [each * 1000 for each in outcome.latencies("search")]
    rate = len(taken) / seconds
    report.add(section, Figure("searches", rate, "/s"))
    report.add(section, Figure("p50", percentile(taken, 0.5), "ms"))
    report.add(section, Figure("p95", percentile(taken, 0.95), "ms"))
    report.add(section, Figure("processor time of the load generator, of one core", own_s / seconds * 100, "%"))
    report.add(section, Figure("processor time of the server, per search", served_s / len(taken) * 1000, "ms"))
    others = sum(count for status, count in outcome.statuses.items() if status != "search 200")
    report.add(section, Figure("other answers", others, "", 1))
    return rate, (served_s + own_s) / seconds


def processor_s(server: Server) -> float:
    """Return the processor time of all processes of a server."""
    children = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children").read_text().split()
    stats = [Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split() for child in children]
    return sum(int(each[11]) + int(each[12]) for each in stats) / os.sysconf("SC_CLK_TCK")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chunks", type=int, default=CHUNKS)
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of each load")
    parser.add_argument("--processes", type=int, default=PROCESSES)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--write", action="store_true", help="write docs/bench/workers.md")
    options = parser.parse_args()
    report = measure(options.chunks, options.seconds, options.processes, options.rounds)
    return report.finish(write=options.write)


if __name__ == "__main__":
    raise SystemExit(main())
