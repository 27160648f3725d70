"""The page of `make bench-capacity`."""

import os
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from bench.capacity.state import CHUNKS, SEARCHES, State
from bench.capacity.steps import CLIENTS, PER_SECOND
from bench.capacity.texts import BLOCK, OF_A_DOCUMENT
from bench.report import Figure, Report, percentile

KEYWORD_MS, HYBRID_MS, SAVED_MS = 100.0, 200.0, 300.0  # p95
RECALL = 0.95
MEMORY_MB = 6 * 1024.0
SHORT_CHUNKS, SHORT_MINUTES = 1_000_000, 15.0
SHARES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}

HOW = f"""\
`make bench-capacity` starts a server on an empty folder, imports {{chunks:,}} chunks into one project and measures the
project at several sizes on the way. The chunks are paragraphs of {{documents:,}} text documents with {OF_A_DOCUMENT}
paragraphs each, imported over HTTP in archives of {BLOCK:,} paragraphs. Texts come from {{origin}}: first every real
chunk, then spliced ones: runs of one to four sentences from random places, until a text has 310 to 800 characters.
English and Chinese mix as they do there.

Search times are measured by the client over HTTP, one search at a time: a first page of 50 results with snippets, 300
different queries per strategy. Saves: a document gets a new paragraph, and is searched until the paragraph is found.
Memory is that of the server and its helpers, shared memory counted once; "of its own" leaves out the pages of files,
which the system may drop at any time. Recall compares {{recalled}} vector searches of the engine with an exact search
of all chunks. During a rebuild, {CLIENTS} clients in the process search by every strategy until it is done, each up to
{PER_SECOND} times a second; with {CHUNKS:,} chunks it is rebuilt until there were {SEARCHES:,} searches. At last the
limit of vectors is lowered to half, and keyword searches are compared before and after.

An interrupted run continues where it was: `ARGS="--folder DIR"`. The load average of the machine was {{load:.1f}} at
the end."""


def report(state: State) -> Report:
    documents, recalled = state.stages[-1]["documents"], len(state.results["recall"]["shares"])
    facts = {"chunks": state.chunks, "documents": documents, "origin": state.origin, "recalled": recalled}
    how = HOW.format_map(facts | {"load": os.getloadavg()[0]})
    page = Report(state.page, "Capacity", how, pace_before=state.pace_ms)
    _growth(page, state)
    _largest(page, state)
    _afterwards(page, state)
    return page


def _growth(page: Report, state: State) -> None:
    title = "Growth"
    page.unranked.add(title)
    rows: dict[str, dict[str, float]] = {}
    for stage in state.stages:
        cells = {
            f"{strategy} {name}, ms": percentile(times, share)
            for strategy, times in stage["times"].items()
            for name, share in SHARES.items()
        }
        cells["saved and found p95, ms"] = percentile(stage["saves"], 0.95)
        cells["memory, MB"], cells["of its own, MB"] = stage["memory_mb"]
        cells |= {"disk, MB": stage["disk_mb"], "index, MB": stage["index_mb"]}
        cells |= {"load average before": stage["load"]} if "load" in stage else {}
        rows[f"{stage['chunks']:,} chunks"] = cells
    before = {"chunks": 0, "built_s": 0.0}
    for earlier, stage in pairwise([before, *state.stages]):
        rate = (stage["chunks"] - earlier["chunks"]) / (stage["built_s"] - earlier["built_s"])
        rows[f"{stage['chunks']:,} chunks"]["built since, chunks/s"] = rate
    page.tables[title] = rows


def _largest(page: Report, state: State) -> None:
    last, section = state.stages[-1], f"{state.chunks:,} chunks"
    page.add(section, Figure("chunks in the index", last["indexed"], "chunks"))
    page.add(section, Figure("from raw text to searchable", state.chunks / state.built_s, "chunks/s"))
    bounds = {"keyword": KEYWORD_MS, "hybrid": HYBRID_MS}
    for strategy, times in last["times"].items():
        for name, share in SHARES.items():
            bound = bounds.get(strategy) if name == "p95" else None
            page.add(section, Figure(f"{strategy} search, {name}", percentile(times, share), "ms", bound))
    page.add(section, Figure("from the save to the hit, p95", percentile(last["saves"], 0.95), "ms", SAVED_MS))
    page.add(section, Figure("memory after searching", last["memory_mb"][0], "MB", MEMORY_MB))
    page.add(section, Figure("memory after searching, of its own", last["memory_mb"][1], "MB"))
    highest = max(sample[2] for sample in state.samples)
    page.add(section, Figure("memory at its highest while building", highest, "MB", MEMORY_MB))
    page.add(section, Figure("disk, all data", last["disk_mb"], "MB"))
    page.add(section, Figure("disk, index", last["index_mb"], "MB"))


def _afterwards(page: Report, state: State) -> None:
    section, found = "Afterwards", state.results
    page.add(section, Figure("server started", found["opening"]["started_s"], "s"))
    page.add(section, Figure("first hybrid search answered after", found["opening"]["searched_s"], "s"))
    shares = found["recall"]["shares"]
    page.add(section, Figure("recall@10 against exact", sum(shares) / len(shares), "", least=RECALL))
    if "rebuild" in found:
        _rebuild(page, section, state, found["rebuild"])
    if "evict" in found:
        _evict(page, section, found["evict"])
    bound = SHORT_MINUTES if state.chunks == SHORT_CHUNKS else None
    page.add(section, Figure("the whole measurement took", state.took_s / 60, "minutes", bound))


def _rebuild(page: Report, section: str, state: State, rebuild: Mapping[str, Any]) -> None:
    seconds = rebuild["seconds"]
    page.add(section, Figure("rebuild while serving", state.chunks * len(seconds) / sum(seconds), "chunks/s"))
    searches = sum(map(len, rebuild["times"].values()))
    what = f"searches during {len(seconds)} rebuilds" if len(seconds) > 1 else "searches during the rebuild"
    page.add(section, Figure(what, searches, "searches", least=state.least_searches or None))
    page.add(section, Figure("errors among them", len(rebuild["errors"]), "errors", 1))
    for mode, times in rebuild["times"].items():
        for name, share in SHARES.items():
            page.add(section, Figure(f"{mode} search during the rebuild, {name}", percentile(times, share), "ms"))
    page.notes["Errors during the rebuild"] = sorted(set(rebuild["errors"]))[:20]


def _evict(page: Report, section: str, evict: Mapping[str, Any]) -> None:
    page.add(section, Figure("vectors left with the limit at half", evict["left"], "vectors", evict["limit"] + 1))
    page.add(section, Figure("eviction took", evict["seconds"], "s"))
    page.add(section, Figure("keyword searches with the same hits after it", evict["same"], "", least=1.0))
