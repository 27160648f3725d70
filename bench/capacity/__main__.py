"""`make bench-capacity`: 4.8 million chunks in one project, built through the import of a running server."""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from tests.servers import Server

from bench import nearest, processes
from bench.capacity import plots, reporting
from bench.capacity.serving import STRATEGIES, Project, Sampler, serving
from bench.capacity.state import CHUNKS, State
from bench.capacity.texts import BLOCK, Texts, blocks

ROOT = Path(__file__).parent.parent.parent
GROWTH = (10_000, 30_000, 100_000, 300_000, 1_000_000, 2_000_000, 3_000_000, CHUNKS)
RECALLED = 100  # queries compared with an exact search


def run(data: Path | None, chunks: int, folder: Path) -> State:
    folder.mkdir(parents=True, exist_ok=True)
    texts = Texts.of(data)
    source = "the sets of a folder" if data else "docs/ and tests/fixtures/meaning"
    state = State.open(folder, chunks, f"{source} ({len(texts.real):,} real chunks)")
    queries = texts.queries()
    print(f"{chunks:,} chunks in {folder}, made of {state.origin}", flush=True)
    if state.blocks < len(blocks(chunks)) or not state.stages or state.stages[-1]["chunks"] < chunks:
        _build(state, texts, queries, folder / "data")
    step = partial(_step, state, folder / "data")
    if "opening" not in state.results:
        _note(state, "opening", _opening(folder / "data", queries[0]))
    if "recall" not in state.results:
        some = queries[:RECALLED]
        search = msgspec.convert(step("nearest", queries=some)["search"], nearest.Search)
        (shares,) = nearest.recall(folder / "data" / "findspot.db", some, [search])
        _note(state, "recall", {"shares": shares})
    if "rebuild" not in state.results:
        _note(state, "rebuild", step("rebuild", queries=queries, searches=state.least_searches))
    if "evict" not in state.results:
        _note(state, "evict", step("evict", queries=queries))
    return state


def _note(state: State, name: str, result: Any) -> None:
    state.results[name] = result
    state.save()


# ── building ──


def _build(state: State, texts: Texts, queries: list[str], data: Path) -> None:
    stages = [size for size in GROWTH if size < state.chunks] + [state.chunks]
    known = state.samples
    with serving(data) as (server, project):
        state.project = project.id
        sampler = Sampler(server, known[-1][0] if known else 0.0)
        try:
            for number, count in blocks(state.chunks)[state.blocks :]:
                began = time.perf_counter()
                project.import_block(number, texts.block(number, count))
                sampler.chunks = number * BLOCK + count
                if sampler.chunks in stages:
                    project.wait_until_ready()
                state.blocks = number + 1
                state.built_s += time.perf_counter() - began
                state.samples = known + sampler.samples
                _show(state, sampler.chunks)
                if sampler.chunks in stages:
                    state.stages.append(_stage(state, project, server, queries, data))
                state.save()
            if state.stages[-1]["chunks"] < state.chunks:  # it was interrupted before the last measurement
                project.wait_until_ready()
                state.stages.append(_stage(state, project, server, queries, data))
        finally:
            sampler.stop()
            state.samples = known + sampler.samples
            state.save()


def _show(state: State, chunks: int) -> None:
    rate = chunks / state.built_s
    left = (state.chunks - chunks) / rate / 60
    print(f"  {chunks:,} of {state.chunks:,} chunks, {rate:,.0f}/s, about {left:.0f} min left", flush=True)


def _stage(state: State, project: Project, server: Server, queries: list[str], data: Path) -> dict[str, Any]:
    """Measure a project of this size."""
    status, load = project.wait_until_ready(), os.getloadavg()[0]
    times = {strategy: project.times(queries, strategy) for strategy in STRATEGIES}
    tag = "".join(chr(ord("a") + int(digit)) for digit in str(status["chunks"]))
    return {
        "chunks": min(state.blocks * BLOCK, state.chunks),
        "indexed": status["chunks"],
        "documents": status["documents"],
        "built_s": state.built_s,
        "load": load,
        "times": times,
        "saves": project.saves(tag, queries[:20]),
        "memory_mb": processes.memory_mb([server.process.pid]),
        "disk_mb": processes.disk_mb(data),
        "index_mb": status["disk"]["index_bytes"] / 1e6,
    }


# ── afterwards ──


def _opening(data: Path, query: str) -> dict[str, float]:
    """Start the server again; return the seconds until it answers, and until the first hybrid search is answered."""
    began = time.perf_counter()
    with serving(data) as (_, project):
        started = time.perf_counter() - began
        project.search(query, "hybrid")
        return {"started_s": started, "searched_s": time.perf_counter() - began}


def _step(state: State, data: Path, name: str, **more: Any) -> Any:
    asked = {"step": name, "data": str(data), "project": state.project, **more}
    began = time.perf_counter()
    ended = subprocess.run(
        [sys.executable, "-m", "bench.capacity.steps"],
        input=json.dumps(asked),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        env=os.environ | processes.ONE_THREAD | {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"},
        cwd=ROOT,
    )
    print(f"  {name} took {time.perf_counter() - began:.0f} s", flush=True)
    return json.loads(ended.stdout)


def main() -> int:
    parser = argparse.ArgumentParser(prog="make bench-capacity", description=__doc__)
    parser.add_argument("--data", type=Path, help="a folder of question sets, whose texts are taken")
    parser.add_argument("--chunks", type=int, default=CHUNKS)
    parser.add_argument("--folder", type=Path, help="where the data is; an interrupted run continues there")
    asked = parser.parse_args()
    folder = asked.folder or Path(tempfile.gettempdir()) / "findspot-capacity" / str(asked.chunks)
    state = run(asked.data, asked.chunks, folder)
    report = reporting.report(state)
    report.write(*plots.draw(state))
    return 0 if report.holds else 1


if __name__ == "__main__":
    sys.exit(main())
