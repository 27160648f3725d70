"""Fifty tasks of an agent without a model: `python -m bench.tasks --data DIR`, where DIR holds the real data.

It makes a search tool on each of the ten tables of DIR/json and on 300 documents of DIR, lets the agent of
`tests/agent_tasks.py` solve the tasks, and keeps the result for docs/bench/mcp.md. `--excerpts` writes the excerpts
that the tests use instead.
"""

import argparse
import asyncio
import json
import random
import tempfile
import time
from pathlib import Path
from typing import Any

from tests import agent_tasks, real_tables
from tests.agent_tasks import DOCUMENTS, NUMBER_OF_DOCUMENTS, THRESHOLD, Agent, Task, solve_on_documents, solve_on_table
from tests.mcp.real import open_real

from bench.report import FOLDER

SAVED = FOLDER / "tasks.json"
_CORPORA = ("squad2_dev_articles", "zh_cmrc_packed", "zh_tidb_faq")
# Packages whose descriptions may be kept: MIT, BSD-3-Clause or Apache-2.0.
_PERMISSIVE = (
    "boto3", "bm25s", "click", "docling", "fastapi", "flask", "httpx", "instructor", "llama-index", "pydantic",
    "pytest", "qdrant-client", "redis", "requests", "rich", "typer",
)  # fmt: skip
_TABLE_BYTES, _TEXT, _OTHER_TEXT, _DOCUMENT = 110_000, 16_000, 6_000, 700  # sizes of excerpts


def documents(data: Path) -> list[dict[str, str]]:
    """Return 300 documents: encyclopedic articles in English and Chinese, and manuals."""
    found = []
    for corpus in _CORPORA:
        for line in (data / corpus / "corpus.jsonl").read_text(encoding="utf-8").splitlines():
            entry = json.loads(line)
            found.append({"title": entry["id"], "content": entry["text"]})
    pages = real_tables.load(data / "json" / "mcp_docs.json")["pages"]
    found += [{"title": name, "content": text} for name, text in pages.items()]
    return found[:NUMBER_OF_DOCUMENTS]


# ── solving ──


async def measure(data: Path) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        async with open_real(Path(folder) / "data") as served:
            for source in agent_tasks.sources():
                tasks, started = [each for each in agent_tasks.tasks() if each.source == source], time.perf_counter()
                if source == DOCUMENTS:
                    agent = await solve_on_documents(served, documents(data), tasks)
                else:
                    agent = await solve_on_table(served, real_tables.load(data / "json" / f"{source}.json"), tasks)
                found[source] = _row(agent, len(tasks))
                print(source, found[source], f"{time.perf_counter() - started:.0f} s", flush=True)
                for task in agent.unsolved:
                    print("  unsolved:", task.question)
    return found


def _row(agent: Agent, tasks: int) -> dict[str, float]:
    return {
        "tasks": tasks,
        "solved": tasks - len(agent.unsolved),
        "by reading on": tasks - len(agent.unsolved) - agent.in_passage,
        "calls per task": agent.calls / tasks,
    }


def tables() -> dict[str, dict[str, dict[str, float]]]:
    """Return the figures that were saved last, as a table of a report."""
    rows: dict[str, dict[str, float]] = json.loads(SAVED.read_text())
    together = {name: sum(row[name] for row in rows.values()) for name in ("tasks", "solved", "by reading on")}
    calls = sum(row["calls per task"] * row["tasks"] for row in rows.values()) / together["tasks"]
    return {
        "Tasks of an agent without a model, on ten tables and 300 documents": {
            **rows,
            "together": {**together, "calls per task": calls},
        }
    }


# ── excerpts ──


def write_excerpts(data: Path) -> None:
    for source in agent_tasks.sources():
        tasks = [each for each in agent_tasks.tasks() if each.source == source]
        if source == DOCUMENTS:
            kept = {task.place: task for task in tasks}
            lines = [
                json.dumps(
                    {**each, "content": _cut(each["content"], kept.get(each["title"]), _DOCUMENT)}, ensure_ascii=False
                )
                for each in documents(data)
            ]
            (agent_tasks.FOLDER / "documents.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
            continue
        whole = real_tables.load(data / "json" / f"{source}.json")
        if source == "pypi_metadata":
            whole = {name: whole[name] for name in _PERMISSIVE}
        value = _excerpt(whole, tasks)
        text = json.dumps(value, ensure_ascii=False, indent=0)
        (agent_tasks.FOLDER / f"{source}.json").write_text(text + "\n", encoding="utf-8")


def _excerpt(value: Any, tasks: list[Task]) -> Any:
    """Return a table with the same shape: the records with answers, and some others that do not have them."""
    wanted = {task.place: task for task in tasks}
    records = {_record(place) for place in wanted}
    others = sorted({_record(place) for place, text in real_tables.strings(value) if len(text) >= THRESHOLD} - records)
    random.Random(1).shuffle(others)
    left = _TABLE_BYTES
    chosen = set(records)
    for record in others:
        size = len(json.dumps(_shortened(real_tables.node(value, record)), ensure_ascii=False).encode())
        if size <= left // 4:
            chosen.add(record)
            left -= size
    return _kept(value, "", chosen, wanted)


def _record(place: str) -> str:
    """Return the record of a string: what a person would call one entry of the table."""
    parts = place.split("/")
    return "/".join(parts[: max(2, min(4, len(parts) - 1))]) if len(parts) > 3 else "/".join(parts[:3])


def _kept(value: Any, place: str, chosen: set[str], wanted: dict[str, Task]) -> Any:
    if place in chosen:
        return _trimmed(value, place, wanted)
    below = [each for each in chosen if each.startswith(f"{place}/")]
    if not below:
        return None
    if isinstance(value, list):
        kept = [_kept(each, f"{place}/{number}", chosen, wanted) for number, each in enumerate(value)]
        return [each for each in kept if each is not None]
    steps = {each[len(place) + 1 :].split("/")[0].replace("~1", "/").replace("~0", "~") for each in below}
    return {key: _kept(value[key], f"{place}/{_step(key)}", chosen, wanted) for key in value if key in steps}


def _trimmed(value: Any, place: str, wanted: dict[str, Task]) -> Any:
    if isinstance(value, str):
        return _cut(value, wanted.get(place), _OTHER_TEXT)
    if isinstance(value, list):
        return [_trimmed(each, f"{place}/{number}", wanted) for number, each in enumerate(value)]
    if isinstance(value, dict):
        return {key: _trimmed(each, f"{place}/{_step(key)}", wanted) for key, each in value.items()}
    return value


def _shortened(value: Any) -> Any:
    return _trimmed(value, "", {})


def _step(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


def _cut(text: str, task: Task | None, other: int) -> str:
    """Return a text with an answer and much around it, or the beginning of another text. It ends at a line end."""
    if task is None:
        return text if len(text) <= other else text[: text.rfind("\n", other // 2, other) + 1 or other]
    found = task.pattern.search(text)
    assert found, task
    begin, end = max(0, found.start() - _TEXT // 2), found.end() + _TEXT // 2
    return text[text.rfind("\n", 0, begin) + 1 : end]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True, help="folder with json/ and the sets of documents")
    parser.add_argument("--excerpts", action="store_true", help="only write the excerpts for the tests")
    given = parser.parse_args()
    if given.excerpts:
        write_excerpts(given.data)
    else:
        SAVED.write_text(json.dumps(asyncio.run(measure(given.data)), indent=1) + "\n")


if __name__ == "__main__":
    main()
