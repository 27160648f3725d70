"""`make bench-scale`: the arithmetic from one machine to a billion chunks, checked by a simulation. Nothing is measured
here: the vendor's figures are those it publishes, and ours come from docs/bench/."""

import argparse
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bench.scale_simulation import Indexing, Latency, Searches, index_hours, percentile, search
from findspot.chunking.cut import cut
from findspot.runtime.limits import SEARCHES
from findspot.runtime.threads import NAMESPACES
from findspot.settings import Settings
from findspot.words.analyser import terms

ROOT = Path(__file__).parent.parent
CHUNK_SIZE, OVERLAP, MAX_CHUNKS, BATCH = (
    int(Settings.model_fields[name].default)
    for name in ("chunk_size", "chunk_overlap", "max_chunks", "turbopuffer_batch_size")
)
PAGE, PLOT = ROOT / "docs" / "scale.md", ROOT / "docs" / "scale.svg"
TEXTS = ROOT / "tests" / "fixtures" / "meaning"

# Published by turbopuffer on its page "Optimizing Performance" (p50, p90 and p99 in ms).
UPSERT = Latency(165, 248, 850)
VECTOR = {"warm": Latency(14, 17, 27), "cold": Latency(874, 1214, 1686)}  # 10M documents
WORDS = {"warm": Latency(13, 18, 29), "cold": Latency(316, 381, 559)}  # 1M documents
# Its limits.
ROWS_PER_S, BYTES_PER_S = 10_000, 32_000_000  # written to a namespace
IN_FLIGHT = 16  # queries of a namespace; each one of a multi-query counts
SHARD_ROWS, SHARD_BYTES = 500_000_000, 10**12

# Ours. The round trips are asserted by tests; the others are measured on 2 cores (docs/bench/capacity-short.md and
# docs/bench/profile.md).
DATABASE_TRIPS, ENGINE_TRIPS = 3, 1  # of a first page of documents
SEARCH_SLOTS = 8  # of IN_FLIGHT: texts, names, full matches and vectors, and the total, which counts 4
FIRST_RATE, REBUILD_RATE = 5_200, 11_000  # chunks per second: from raw text, and again from the store
SEARCH_MS = 8.0  # processor time of a hybrid page: a process answers about 125 per second
# Assumed: a database in the same region.
DATABASE = Latency(1.0, 2.0, 5.0)
ROW_OVERHEAD = 400  # bytes of a chunk's row in PostgreSQL besides its text, with its share of the indexes

DIMENSIONS = {"offline model": 384, "embedding service": 1536}
SIZES = (1_000_000, 10_000_000, 100_000_000, 1_000_000_000)
WORKERS = (1, 4, 8, 16, 32)
LOADS = (10, 100, 500, 1_000)  # searches per second
BUDGET_MS = 650.0  # p95 of a hybrid search
CHUNKS_TO_INDEX = 100_000_000
COUNT = 5_000  # searches per row


@dataclass(frozen=True, slots=True)
class ChunkBytes:
    """The mean size of a chunk: its text, its terms, and its row without the vector."""

    text: float
    terms: float
    row: float

    def stored(self, dimensions: int) -> float:
        """Return the logical bytes in the engine, with a vector of 16-bit floats."""
        return self.row + 2 * dimensions


def chunk_bytes(language: str) -> ChunkBytes:
    """Return the mean sizes over chunks of sample texts, as the engine's schema has them."""
    text = (TEXTS / f"others.{language}.txt").read_text(encoding="utf-8")
    chunks = [text[each.start : each.end] for each in cut(text, CHUNK_SIZE, OVERLAP)]
    words = [terms(each) for each in chunks]
    title = sum(len(term.encode()) for term in terms("The second part: what the letters say 第二部"))
    # Beside both lists of terms: an id, and attributes for filters. A number takes 8 bytes.
    row_id = len("d1234567:0123456789abcdef:12")
    attributes = len("/chapters/12/text") + len("notes/2026/part-2.md") + len("document") + 4 * 8
    token_bytes = sum(len(term.encode()) for each in words for term in each) / len(chunks)
    text_bytes = sum(len(each.encode()) for each in chunks) / len(chunks)
    return ChunkBytes(text_bytes, token_bytes, token_bytes + title + row_id + attributes)


# ── the arithmetic ──


def namespaces(chunks: int) -> int:
    """Return the least number of namespaces: a project has one for its documents, and a limit of chunks."""
    return math.ceil(chunks / MAX_CHUNKS)


def shards(chunks: int, bytes_each: float) -> int:
    """Return the number of shards of a namespace with so many chunks."""
    return max(1, math.ceil(chunks / SHARD_ROWS), math.ceil(chunks * bytes_each / SHARD_BYTES))


def row_limit(bytes_each: float) -> float:
    """Return how many rows per second the engine takes in one namespace."""
    return min(ROWS_PER_S, BYTES_PER_S / bytes_each)


def expected_hours(chunks: int, workers: int, rate: float, limit: float) -> float:
    """Return the time to index, by arithmetic: namespaces are written in rounds, as many at once as there are writers.

    A writer is limited by the latency of its writes, by its share of the worker's processors, and by the engine.
    """
    spaces, writers = namespaces(chunks), workers * NAMESPACES
    alone = min(BATCH / (BATCH / rate + (UPSERT.mean + DATABASE.mean) / 1000), limit)
    beside = min(alone, rate / NAMESPACES)
    full, rest = divmod(spaces, writers)
    last = 0.0 if not rest else 1 / (alone if rest <= workers else beside)
    return chunks / spaces * (full / beside + last) / 3600


def simulated_hours(chunks: int, workers: int, rate: float, limit: float) -> float:
    spaces = namespaces(chunks)
    return index_hours(Indexing(chunks, spaces, workers, BATCH, rate, NAMESPACES, UPSERT, DATABASE, limit))


def searches(per_second: float, state: str, projects: int = 20) -> Searches:
    """Return searches at this rate, over as many processes as keep processors at most 70 % busy."""
    processes = max(2, math.ceil(per_second * SEARCH_MS / 1000 / 0.7))
    legs = (VECTOR[state], WORDS[state], WORDS[state])  # the vector, the text and the title
    return Searches(
        per_second, processes, projects, SEARCH_MS / 2, SEARCH_MS / 2, DATABASE, DATABASE_TRIPS, legs,
        IN_FLIGHT // SEARCH_SLOTS,
    )  # fmt: skip


def hinted(per_second: float, ahead_ms: float) -> Searches:
    """Return first searches of projects whose namespaces were hinted `ahead_ms` before: what is left of the warming."""
    plain = searches(per_second, "warm")
    warming = VECTOR["cold"]
    legs = [*plain.legs, lambda chance: max(0.0, warming(chance) - ahead_ms)]
    return replace(plain, legs=legs)


# ── the page ──


def table(title: str, columns: Sequence[str], rows: Mapping[str, Sequence[str]]) -> Iterator[str]:
    yield from (f"| {title} | {' | '.join(columns)} |", "|---|" + "---|" * len(columns))
    yield from (f"| {name} | {' | '.join(cells)} |" for name, cells in rows.items())
    yield ""


def _sizes(each: ChunkBytes) -> dict[str, list[str]]:
    rows: dict[str, list[str]] = {}
    for chunks in SIZES:
        stored = each.stored(DIMENSIONS["offline model"])
        count = namespaces(chunks)
        of_one = chunks / count
        rows[f"{chunks:,}"] = [
            f"{count:,}",
            f"{count * shards(math.ceil(of_one), stored):,}",
            f"{chunks * stored / 1e9:,.0f}",
            f"{chunks * each.stored(DIMENSIONS['embedding service']) / 1e9:,.0f}",
            f"{of_one * stored / 1e9:,.1f}",
            f"{chunks * (2 * each.text + ROW_OVERHEAD) / 1e9:,.0f}",
            f"{of_one / row_limit(stored) / 60:,.1f}",
        ]
    return rows


def _searched(count: int) -> dict[str, list[str]]:
    rows: dict[str, list[str]] = {}
    for per_second in LOADS:
        plan = searches(per_second, "warm")
        took = search(plan, count)
        shown = [f"{percentile(took, share):,.0f}" for share in (0.5, 0.95, 0.99)]
        rows[f"{per_second:,} per second, warm"] = [str(plan.processes), *shown, _verdict(took)]
    colds = {"cold, without a hint": searches(LOADS[0], "cold")}
    colds |= {f"cold, hinted {ahead:g} ms before": hinted(LOADS[0], ahead) for ahead in (500, 1_000, 2_000)}
    for name, plan in colds.items():
        took = search(plan, count)
        shown = [f"{percentile(took, share):,.0f}" for share in (0.5, 0.95, 0.99)]
        rows[f"{LOADS[0]} per second, {name}"] = [str(plan.processes), *shown, _verdict(took)]
    return rows


def _verdict(took: Sequence[float]) -> str:
    return "yes" if percentile(took, 0.95) < BUDGET_MS else "**no**"


def _indexed(chunks: int, limit: float) -> dict[str, list[str]]:
    rows: dict[str, list[str]] = {}
    for workers in WORKERS:
        cells = []
        for rate in (FIRST_RATE, REBUILD_RATE):
            cells += [f"{hours(chunks, workers, rate, limit):,.1f}" for hours in (expected_hours, simulated_hours)]
        rows[str(workers)] = cells
    return rows


def page(count: int = COUNT, chunks: int = CHUNKS_TO_INDEX) -> str:
    """Return the page: `count` searches and the indexing of `chunks` are simulated."""
    each = {language: chunk_bytes(language) for language in ("en", "zh")}
    larger = max(each.values(), key=lambda found: found.row)
    stored = larger.stored(DIMENSIONS["offline model"])
    at_engine = WORDS["warm"].p90  # about the mean of the slowest of three legs
    per_project = 1000 * min(
        SEARCHES / (2 * DATABASE.p50 + at_engine + SEARCH_MS), IN_FLIGHT // SEARCH_SLOTS / at_engine
    )
    more = 2 * (DIMENSIONS["embedding service"] - DIMENSIONS["offline model"])
    text = (ROOT / "bench" / "scale_page.txt").read_text(encoding="utf-8")
    sizes = {
        {"en": "English", "zh": "Chinese"}[language]: [
            f"{found.text:,.0f}", f"{found.terms:,.0f}", f"{found.row:,.0f}",
            *(f"{found.stored(dimensions):,.0f}" for dimensions in DIMENSIONS.values()),
        ]
        for language, found in each.items()
    }  # fmt: skip
    vectors = [f"stored, {name} ({dimensions})" for name, dimensions in DIMENSIONS.items()]
    parts = {
        "BYTES": table("bytes per chunk", ["text", "terms", "row without vector", *vectors], sizes),
        "SIZES": table(
            "chunks",
            [
                "namespaces, at least", "shards", "GB stored", "the same with 1536 dimensions",
                "GB queried per search", "GB in PostgreSQL", "minutes to write at the engine's limit",
            ],
            _sizes(larger),
        ),
        "SEARCHES": table(
            "searches", ["API processes", "p50, ms", "p95, ms", "p99, ms", f"p95 < {BUDGET_MS:g} ms"], _searched(count)
        ),
        "INDEXING": table(
            "workers",
            ["first time, hours", "simulated", "rebuild, hours", "simulated"],
            _indexed(chunks, row_limit(stored)),
        ),
    }  # fmt: skip
    facts = {
        "CHUNK_SIZE": f"{CHUNK_SIZE:,}", "MAX_CHUNKS": f"{MAX_CHUNKS:,}",
        "BATCH": f"{BATCH:,}", "AT_ONCE": str(NAMESPACES), "COUNT": f"{count:,}",
        "CHUNKS": f"{chunks:,}", "FIRST_RATE": f"{FIRST_RATE:,}", "REBUILD_RATE": f"{REBUILD_RATE:,}",
        "SEARCH_MS": f"{SEARCH_MS:g}", "ROWS_PER_S": f"{ROWS_PER_S:,}", "MB_PER_S": f"{BYTES_PER_S / 1e6:g}",
        "IN_FLIGHT": str(IN_FLIGHT), "SLOTS": str(SEARCH_SLOTS), "AT_A_TIME": str(IN_FLIGHT // SEARCH_SLOTS),
        "NEEDED": f"{namespaces(chunks):,}", "SEARCHES_LIMIT": str(SEARCHES),
        "PER_PROJECT": f"{per_project:,.0f}", "UPSERT_MEAN": f"{UPSERT.mean:,.0f}", "OVERHEAD": f"{ROW_OVERHEAD}",
        "WRITER_RATE": f"{BATCH / UPSERT.mean * 1000:,.0f}", "ROW_LIMIT": f"{row_limit(stored):,.0f}",
        "MORE": f"{more:,}",
        "DATABASE": f"{DATABASE.p50:g}, {DATABASE.p90:g} and {DATABASE.p99:g}", "DATABASE_TRIPS": str(DATABASE_TRIPS),
        "SHARD_ROWS": f"{SHARD_ROWS / 1e6:,.0f}", "VECTOR_COLD": f"{VECTOR['cold'].p50:g}",
    }  # fmt: skip
    for name, lines in parts.items():
        text = text.replace(f"{{{name}}}\n", "\n".join(lines) + "\n")
    for name, value in facts.items():
        text = text.replace(f"{{{name}}}", value)
    return text


def draw(chunks: int = CHUNKS_TO_INDEX, count: int = COUNT) -> None:
    """Plot the time to index by workers, and how long searches take."""
    limit = row_limit(chunk_bytes("zh").stored(DIMENSIONS["offline model"]))
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "findspot"
    from matplotlib import pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
    for rate, name in ((FIRST_RATE, "first time"), (REBUILD_RATE, "rebuild")):
        left.plot(
            WORKERS, [simulated_hours(chunks, each, rate, limit) for each in WORKERS], "o", label=f"{name}, simulated"
        )
        left.plot(
            WORKERS, [expected_hours(chunks, each, rate, limit) for each in WORKERS], "-", label=f"{name}, arithmetic"
        )
    left.set(xscale="log", yscale="log", xlabel="workers", ylabel="hours", title=f"Indexing {chunks:,} chunks")
    left.set_xticks(WORKERS, [str(each) for each in WORKERS])
    left.legend(fontsize=8)
    plans = {"warm": searches(LOADS[1], "warm"), "hinted 1 s before": hinted(LOADS[0], 1_000)}
    for name, plan in (plans | {"cold": searches(LOADS[0], "cold")}).items():
        took = search(plan, count)
        right.plot(took, [(number + 1) / len(took) * 100 for number in range(len(took))], label=name)
    right.axvline(BUDGET_MS, linestyle=":", color="grey", label=f"budget of p95: {BUDGET_MS:g} ms")
    right.axhline(95, linestyle=":", color="grey")
    right.set(xscale="log", xlabel="ms", ylabel="% of hybrid searches", title="Hybrid search, simulated")
    right.legend(fontsize=8)
    figure.savefig(PLOT, metadata={"Date": None})


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write docs/scale.md and docs/scale.svg")
    if parser.parse_args(arguments).write:
        PAGE.write_text(page(), encoding="utf-8")
        draw()
    else:
        print(page())


if __name__ == "__main__":
    main(sys.argv[1:])
