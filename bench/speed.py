"""`make bench-speed`: speed of search and of indexing, compared with other products on the same chunks."""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bench import speed_data, speed_plots
from bench.report import Figure, Report, percentile
from bench.speed_data import Corpus, Matrix
from bench.speed_steps import BRANCHES, OF_A_DOCUMENT, SHARES, SHOWN

ROOT = Path(__file__).parent.parent
PEERS_PYTHON = ROOT / ".venv-peers" / "bin" / "python"
PEERS = ("LanceDB", "Chroma", "FTS5 + sqlite-vec", "FTS5 trigram + sqlite-vec")
MODES = ("keyword", "vector", "hybrid")
SIZES = (10_000, 50_000, 200_000)

P95_MS = {"keyword": 8.0, "hybrid": 25.0}
AHEAD = {"LanceDB": 2.0, "FTS5 + sqlite-vec": 10.0}  # factor by which Findspot must be faster at p95
RECALL = 0.95
FILLED, REBUILT = 2000.0, 6000.0  # chunks a second
VISIBLE_MS, OPEN_MS, MEMORY_MB = 100.0, 1000.0, 1024.0
EQUAL = 1e-5  # cosines that differ by less count as equal

HOW = f"""\
`make bench-speed` measures complete searches and complete indexing: `open_app` on an empty folder, an import, the
index worker, the offline model, then `app.table_search.search` for {SHOWN} hits. Chunks are real English and Chinese
texts, and texts composed of their sentences ({{source}}). There are {{queries}} different queries, the same number of
each kind: common words, rare words, questions, Chinese, and both languages in one query. Every vector and hybrid
search embeds its query. Each step runs in its own process.

Recall is relative to an exact search with numpy over the same vectors as 32-bit floats. A document has
{OF_A_DOCUMENT} chunks. A filter is a set of documents, or a pointer of a table with the same chunks.

The other products got the same chunks and queries with ready-made vectors, so **their times include no embedding**.
Each was used as its documentation recommends, in its own process, one after the other:

- **LanceDB** {{lancedb}}: vector index IVF_RQ in cosine, one partition per 4,096 rows, default probes, refine
  factor 10; full text with the `icu` tokenizer, which segments Chinese; hybrid with the RRF reranker. Its hybrid
  search fuses as many hits of each leg as it returns: it was asked for 200, as many as Findspot fuses, and also
  for 10, as in the examples of its documentation. The bound applies to the first.
- **Chroma** {{chromadb}}: a persistent collection with the default HNSW index, cosine. Its keywords filter
  and do not rank, so there is no keyword or hybrid search to measure.
- **FTS5 + sqlite-vec** {{sqlite-vec}} in SQLite {{apsw}}: `porter unicode61`, `vec0` with floats, 200 of each
  fused by reciprocal ranks in one statement; any word may match. unicode61 treats a Chinese sentence as one word, so
  only vectors find Chinese. With `trigram`, keywords find Chinese of three characters or more.

A slow product got fewer queries: as many as fit into 25 seconds, and at least 30. "Built" is the time from an empty
folder to searchable; Findspot's includes the import and the embedding, the others' neither."""


@dataclass(frozen=True, slots=True)
class Measured:
    """The results of the steps for one number of chunks."""

    count: int
    fill: dict[str, Any]
    serve: dict[str, Any]
    peers: dict[str, dict[str, Any]]


def run(data: Path | None, sizes: Sequence[int], with_peers: bool) -> Report:
    corpus = speed_data.corpus(data, max(sizes))
    source = "the sets of a folder" if data else "the extracts in tests/fixtures"
    facts = {"source": source, "queries": len(corpus.asked()), **_versions(with_peers)}
    report = Report("speed", "Speed", HOW.format_map(facts))
    measured = []
    for count in sorted(sizes):
        print(f"{count:,} chunks")
        with tempfile.TemporaryDirectory(prefix="findspot-speed-") as folder:
            measured.append(_measure(report, corpus, count, Path(folder), with_peers, last=count == max(sizes)))
    _tables(report, corpus, measured)
    speed_plots.draw(report)
    return report


def _versions(with_peers: bool) -> dict[str, str]:
    names = ("lancedb", "chromadb", "sqlite-vec", "apsw")
    if not with_peers:
        return dict.fromkeys(names, "(not measured)")
    if not PEERS_PYTHON.exists():
        sys.exit("The other products are not installed. Use `make bench-speed`, or --no-peers.")
    code = f"import json, importlib.metadata as m; print(json.dumps({{name: m.version(name) for name in {names}}}))"
    found: dict[str, str] = json.loads(subprocess.check_output([PEERS_PYTHON, "-c", code]))
    return found


def _measure(report: Report, corpus: Corpus, count: int, folder: Path, with_peers: bool, *, last: bool) -> Measured:
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
        _report_filters(report, corpus, count, serve, step("table"))
    peers = {name: _peer(name, corpus, count, folder) for name in PEERS} if with_peers else {}
    if last:
        _report_peers(report, f"{count:,} chunks", serve, peers)
    return Measured(count, fill, serve, peers)


def _child(command: Sequence[str | Path], asked: Mapping[str, Any]) -> dict[str, Any]:
    environment = os.environ | {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}", "LANCEDB_LOG": "error"}
    began = time.perf_counter()
    ended = subprocess.run(
        command, input=json.dumps(asked), stdout=subprocess.PIPE, text=True, check=True, env=environment, cwd=ROOT
    )
    print(f"  ({asked.get('step') or asked['peer']} took {time.perf_counter() - began:.0f} s)")
    found: dict[str, Any] = json.loads(ended.stdout)
    return found


def _peer(name: str, corpus: Corpus, count: int, folder: Path) -> dict[str, Any]:
    files = {each: str(getattr(corpus, each)) for each in ("texts", "vectors", "queries", "query_vectors")}
    place = folder / "peers" / str(PEERS.index(name))
    place.parent.mkdir(exist_ok=True)
    return _child(
        [PEERS_PYTHON, ROOT / "bench" / "speed_peers.py"], files | {"peer": name, "folder": str(place), "count": count}
    )


# ── figures with bounds ──


def _report_search(report: Report, section: str, serve: Mapping[str, Any]) -> None:
    for mode in MODES:
        p95 = percentile(serve["alone"][mode], 0.95)
        report.add(section, Figure(f"{mode} search, p95", p95, "ms", P95_MS.get(mode)))
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


def _report_filters(
    report: Report, corpus: Corpus, count: int, serve: Mapping[str, Any], table: Mapping[str, Any]
) -> None:
    cosines = corpus.cosines(count)
    title, section = f"Filters at {count:,} chunks", f"Recall@{SHOWN} of vector search at {count:,} chunks"
    report.unranked.add(title)
    rows = report.tables[title] = {}
    _report_recall(report, section, "no filter", recall(cosines, serve["found"], lambda _: True))

    def add(name: str, filtered: Mapping[str, Any], kept: Callable[[int], bool]) -> None:
        _report_recall(report, section, name, recall(cosines, filtered["found"], kept))
        rows[name] = {
            f"{mode} {share}, ms": percentile(filtered[mode], place)
            for mode in ("vector", "hybrid")
            for share, place in (("p50", 0.5), ("p95", 0.95))
        }

    for share, every in SHARES.items():
        add(f"{share} by documents", serve["filters"][share], _of_documents(every))
    for share, (every, first) in BRANCHES.items():
        add(f"{share} by pointer", table["filters"][share], _of_branch(every, first))


def _of_documents(every: int) -> Callable[[int], bool]:
    return lambda number: number // OF_A_DOCUMENT % every == 0


def _of_branch(every: int, first: int) -> Callable[[int], bool]:
    return lambda number: number % every == first


def _report_recall(report: Report, section: str, name: str, share: float) -> None:
    report.add(section, Figure(name, share, "", least=RECALL))


def recall(cosines: Matrix, found: Sequence[Sequence[int]], kept: Callable[[int], bool]) -> float:
    """Return the share of the ten exact nearest chunks that were found. Equally near chunks count as the same."""
    numbers = np.array([at for at in range(cosines.shape[1]) if kept(at)])
    shares = []
    for row, hits in zip(cosines, found, strict=False):
        wanted = min(SHOWN, len(numbers))
        least = np.partition(row[numbers], len(numbers) - wanted)[len(numbers) - wanted]
        assert all(kept(hit) for hit in hits), "a hit does not pass the filter"
        shares.append(sum(row[hit] >= least - EQUAL for hit in set(hits)) / wanted)
    return float(np.mean(shares))


def _report_peers(
    report: Report, section: str, serve: Mapping[str, Any], peers: Mapping[str, Mapping[str, Any]]
) -> None:
    mine = percentile(serve["alone"]["hybrid"], 0.95)
    for name, peer in peers.items():
        if "hybrid" in peer["times"]:
            ratio = percentile(peer["times"]["hybrid"], 0.95) / mine
            report.add(section, Figure(f"hybrid p95 of {name}, times Findspot's", ratio, "×", least=AHEAD.get(name)))


# ── tables ──


def _tables(report: Report, corpus: Corpus, measured: Sequence[Measured]) -> None:
    for title, key in (("Search, one at a time, ms", "alone"), ("Search, four at once, ms", "together")):
        report.unranked.add(title)
        report.tables[title] = {
            f"{mode}, {each.count:,} chunks": _latencies(each.serve[key][mode]) for mode in MODES for each in measured
        }
    for each in measured:
        title = f"Side by side, {each.count:,} chunks"
        report.unranked.add(title)
        report.tables[title] = _side_by_side(each, corpus.cosines(each.count))


def _latencies(found: Any) -> dict[str, float]:
    times = found["times"] if isinstance(found, dict) else found
    row = {name: percentile(times, place) for name, place in (("p50", 0.5), ("p95", 0.95), ("p99", 0.99))}
    return row | ({"searches/s": found["rate"]} if isinstance(found, dict) else {})


def _side_by_side(each: Measured, cosines: Matrix) -> dict[str, dict[str, float]]:
    def row(
        built_s: float, times: Mapping[str, list[float]], found: Sequence[Sequence[int]], memory: float
    ) -> dict[str, float]:
        cells = {
            f"{mode} {name}, ms": percentile(times[mode], place)
            for mode in MODES
            for name, place in (("p50", 0.5), ("p95", 0.95))
            if mode in times
        }
        share = recall(cosines, found, lambda _: True)
        return cells | {f"recall@{SHOWN}": share, "built, chunks/s": each.count / built_s, "memory, MB": memory}

    serve = each.serve
    rows = {"Findspot": row(each.fill["seconds"], serve["alone"], serve["found"], serve["memory"]["resident"])}
    for name, peer in each.peers.items():
        rows[name] = row(peer["built_s"], peer["times"], peer["found"]["vector"], peer["resident"])
        if (few := peer["times"].get("hybrid, 10 candidates")) is not None:
            rows[f"{name}, 10 candidates"] = {
                "hybrid p50, ms": percentile(few, 0.5),
                "hybrid p95, ms": percentile(few, 0.95),
            }
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(prog="make bench-speed", description=__doc__)
    parser.add_argument("--data", type=Path, help="a folder with a folder for each set; default: the fixtures")
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)), help="chunks, e.g. 10000,50000")
    parser.add_argument(
        "--peers", action=argparse.BooleanOptionalAction, default=True, help="also measure other products"
    )
    asked = parser.parse_args()
    report = run(asked.data, [int(size) for size in asked.sizes.split(",")], asked.peers)
    report.write(*speed_plots.NAMES)
    return 0 if report.holds else 1


if __name__ == "__main__":
    sys.exit(main())
