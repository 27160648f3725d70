"""`make bench-speed`: speed of search and of indexing at several sizes. `make bench-peers` compares other products."""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from bench import nearest, processes, speed_data, speed_plots
from bench.new_documents import OF_A_DOCUMENT
from bench.report import Figure, Report, percentile
from bench.speed_data import Corpus
from bench.speed_steps import SHOWN

ROOT = Path(__file__).parent.parent
MODES = ("keyword", "vector", "hybrid")
SIZES = (10_000, 50_000, 200_000)

P50_MS = {"hybrid": 9.0}
P95_MS = {"keyword": 8.0, "hybrid": 14.0}
RECALL = 0.95
FILLED, REBUILT = 4000.0, 10_000.0  # chunks a second
VISIBLE_MS, OPEN_MS, MEMORY_MB = 100.0, 1000.0, 1024.0

HOW = f"""\
`make bench-speed` measures complete searches and complete indexing: `open_app` on an empty folder, an import, the
index worker, the offline model, then `app.table_search.search` for {SHOWN} hits. Chunks are real English and Chinese
texts, and texts composed of their sentences ({{source}}). There are {{queries}} different queries, the same number of
each kind: common words, rare words, questions, Chinese, and both languages in one query. Every vector and hybrid
search embeds its query. Each step runs in its own process.

A document has {OF_A_DOCUMENT} chunks. A filter is a set of documents, or a pointer of a table with the same chunks.

Recall is measured apart from the times. A search leaves out hits that are unrelated to its query, so the engine itself
is asked for the {nearest.MOST} nearest chunks of each query. They are compared with an exact search: every chunk is
embedded again, with its title and headings (in a table: its keys) as in the index, and compared as 32-bit floats.
Chunks that are equally near count as found.

[Beside other products](peers.md)"""


@dataclass(frozen=True, slots=True)
class Measured:
    """The results of the steps for one number of chunks."""

    count: int
    fill: dict[str, Any]
    serve: dict[str, Any]


def run(data: Path | None, sizes: Sequence[int]) -> Report:
    corpus = speed_data.corpus(data, max(sizes))
    source = "the sets of a folder" if data else "the extracts in tests/fixtures"
    facts = {"source": source, "queries": len(corpus.asked())}
    report = Report("speed", "Speed", HOW.format_map(facts))
    measured = []
    for count in sorted(sizes):
        print(f"{count:,} chunks")
        with tempfile.TemporaryDirectory(prefix="findspot-speed-") as folder:
            measured.append(_measure(report, corpus, count, Path(folder), last=count == max(sizes)))
    _tables(report, measured)
    speed_plots.draw(report)
    return report


def _measure(report: Report, corpus: Corpus, count: int, folder: Path, *, last: bool) -> Measured:
    data, queries = folder / "data", corpus.asked()

    def step(name: str) -> dict[str, Any]:
        asked = {"step": name, "data": str(data), "texts": str(corpus.texts), "count": count, "queries": queries}
        return _child([sys.executable, "-m", "bench.speed_steps"], asked | {"whole": last})

    fill = step("fill")
    alone, again = [step("open_alone")["seconds"] for _ in range(3)], [step("reopen")["seconds"] for _ in range(3)]
    serve = step("serve")
    if last:
        section = f"{count:,} chunks"
        _report_search(report, section, serve)
        _report_writing(report, section, count, fill, serve)
        report.add(section, Figure("engine opened, median of 3", sorted(alone)[1] * 1000, "ms", OPEN_MS))
        report.add(section, Figure("everything opened and one search answered", sorted(again)[1] * 1000, "ms", OPEN_MS))
        _report_memory(report, section, fill, serve)
        filters = {f"{share} by documents": each for share, each in serve["filters"].items()}
        filters |= {f"{share} by pointer": each for share, each in step("table")["filters"].items()}
        _report_filters(report, count, filters)
        searches = {"no filter": serve["nearest"]} | {name: each["nearest"] for name, each in filters.items()}
        _report_recall(report, count, data / "findspot.db", queries, searches)
    return Measured(count, fill, serve)


def _child(command: Sequence[str | Path], asked: Mapping[str, Any]) -> dict[str, Any]:
    environment = os.environ | processes.ONE_THREAD | {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}
    began = time.perf_counter()
    ended = subprocess.run(
        command, input=json.dumps(asked), stdout=subprocess.PIPE, text=True, check=True, env=environment, cwd=ROOT
    )
    print(f"  ({asked['step']} took {time.perf_counter() - began:.0f} s)")
    found: dict[str, Any] = json.loads(ended.stdout)
    return found


# ── figures with bounds ──


def _report_search(report: Report, section: str, serve: Mapping[str, Any]) -> None:
    for mode in MODES:
        times = serve["alone"][mode]
        report.add(section, Figure(f"{mode} search, p50", percentile(times, 0.5), "ms", P50_MS.get(mode)))
        report.add(section, Figure(f"{mode} search, p95", percentile(times, 0.95), "ms", P95_MS.get(mode)))
    during = serve["meanwhile"]
    report.add(section, Figure("hybrid search while a rebuild is running, median", percentile(during, 0.5), "ms"))
    report.add(section, Figure("hybrid search while a rebuild is running, p95", percentile(during, 0.95), "ms"))


def _report_writing(
    report: Report, section: str, count: int, fill: Mapping[str, Any], serve: Mapping[str, Any]
) -> None:
    figures = [
        Figure("from raw text to searchable", count / fill["seconds"], "chunks/s", least=FILLED),
        Figure("of that, import alone", count / fill["imported_s"], "chunks/s"),
        Figure("rebuild from the store", serve["rebuild"], "chunks/s", least=REBUILT),
        Figure("rebuild while searches go on", serve["rebuild_searched"], "chunks/s"),
        Figure("a document of 20 chunks: added and found, median", percentile(serve["seen"], 0.5), "ms"),
        Figure("added and found, p95", percentile(serve["seen"], 0.95), "ms", VISIBLE_MS),
        Figure("deleted and no longer found, median", percentile(serve["unseen"], 0.5), "ms"),
        Figure("deleted and no longer found, p95", percentile(serve["unseen"], 0.95), "ms", VISIBLE_MS),
        Figure("files of the index", fill["bytes"] / 1e6, "MB"),
    ]
    for figure in figures:
        report.add(section, figure)


def _report_memory(report: Report, section: str, fill: Mapping[str, Any], serve: Mapping[str, Any]) -> None:
    for when, memory in (
        ("after filling", fill["memory"]),
        ("after searching", serve["memory"]),
        ("after rebuilding", serve["memory_after"]),
    ):
        report.add(section, Figure(f"memory {when}: resident", memory["resident"], "MB", MEMORY_MB))
        report.add(section, Figure(f"memory {when}: of its own", memory["private"], "MB"))
        report.add(section, Figure(f"memory {when}: of its helpers", memory["helpers"], "MB"))
    report.add(section, Figure("memory at its highest, rebuilding", serve["memory_after"]["highest"], "MB", MEMORY_MB))


def _report_filters(report: Report, count: int, filters: Mapping[str, Mapping[str, Any]]) -> None:
    title = f"Filters at {count:,} chunks"
    report.unranked.add(title)
    report.tables[title] = {
        name: {
            f"{mode} {share}, ms": percentile(filtered[mode], place)
            for mode in ("vector", "hybrid")
            for share, place in (("p50", 0.5), ("p95", 0.95))
        }
        for name, filtered in filters.items()
    }


def _report_recall(
    report: Report, count: int, database: Path, queries: Sequence[str], searches: Mapping[str, Any]
) -> None:
    found = msgspec.convert(list(searches.values()), list[nearest.Search])
    for name, shares in zip(searches, nearest.recall(database, queries, found), strict=True):
        section = f"Recall@{nearest.MOST} of vector search at {count:,} chunks"
        report.add(section, Figure(name, sum(shares) / len(shares), "", least=RECALL))


# ── tables ──


def _tables(report: Report, measured: Sequence[Measured]) -> None:
    for title, key in (("Search, one at a time, ms", "alone"), ("Search, four at once, ms", "together")):
        report.unranked.add(title)
        report.tables[title] = {
            f"{mode}, {each.count:,} chunks": _latencies(each.serve[key][mode]) for mode in MODES for each in measured
        }


def _latencies(found: Any) -> dict[str, float]:
    times = found["times"] if isinstance(found, dict) else found
    row = {name: percentile(times, place) for name, place in (("p50", 0.5), ("p95", 0.95), ("p99", 0.99))}
    return row | ({"searches/s": found["rate"]} if isinstance(found, dict) else {})


def main() -> int:
    parser = argparse.ArgumentParser(prog="make bench-speed", description=__doc__)
    parser.add_argument("--data", type=Path, help="a folder with a folder for each set; default: the fixtures")
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)), help="chunks, e.g. 10000,50000")
    asked = parser.parse_args()
    report = run(asked.data, [int(size) for size in asked.sizes.split(",")])
    report.write(*speed_plots.NAMES)
    return 0 if report.holds else 1


if __name__ == "__main__":
    sys.exit(main())
