"""Whole real tables: tools on several scopes, 200 queries each. Every hit is checked against its position.

python -m bench.real --data DIR        (DIR contains JSON files)
"""

import argparse
import asyncio
import statistics
import tempfile
import time
from pathlib import Path

from tests import flows, real_tables

from findspot.app import App, open_app
from findspot.settings import Settings

THRESHOLD, LOW = 10_000, 1000


async def one(app: App, path: Path, number: int) -> tuple[int, int]:
    """Check one table. Return the number of queries and hits."""
    value = await asyncio.to_thread(real_tables.load, path)
    longest = max(len(text) for _, text in real_tables.strings(value))
    threshold = THRESHOLD if longest >= THRESHOLD else LOW
    table = await real_tables.make_table(app, await flows.make_project(app, path.stem), value)
    began = time.perf_counter()
    scopes = real_tables.scopes(value, threshold)
    tools = [await real_tables.make_tool(app, table, each, chunk_threshold=threshold) for each in scopes]
    indexed_s = time.perf_counter() - began
    hits, taken = 0, []
    for at, query in enumerate(real_tables.queries(value, number)):
        began = time.perf_counter()
        hits += await real_tables.check(app, tools[at % len(tools)], value, query)
        taken.append((time.perf_counter() - began) * 1000)
    chunks = len(app.engine.ids(f"project_{table.project_id}_table_{table.id}"))
    times = f"p50 {statistics.median(taken):.1f} ms, p95 {statistics.quantiles(taken, n=20)[-1]:.1f} ms"
    print(
        f"{path.name}: {chunks} chunks, {len(tools)} tools in {indexed_s:.1f} s; {number} queries, {hits} hits, {times}"
    )
    return number, hits


async def run(folder: Path, number: int) -> None:
    with tempfile.TemporaryDirectory() as data:
        async with open_app(Settings(data=Path(data))) as app:
            counts = [await one(app, path, number) for path in sorted(folder.glob("*.json"))]
    asked, hits = (sum(each) for each in zip(*counts, strict=True))
    print(f"{len(counts)} tables, {asked} queries, {hits} hits: all at their positions")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--queries", type=int, default=200)
    arguments = parser.parse_args()
    asyncio.run(run(arguments.data, arguments.queries))
