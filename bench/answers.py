"""Tokens of what agents receive: `python -m bench.answers --data DIR`, where DIR holds JSON files.

For each table: a search tool, two queries of five hits each, and the tokens of the text block and of the structured
content of its answers, in full and as a lean endpoint gives them. Then the tokens of every type of tool as
`tools/list` shows it.
"""

import argparse
import asyncio
import json
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench.report import FOLDER
from findspot import tokens
from findspot.agents.schemas import NewTool
from findspot.app import App, open_app
from findspot.models import OWNER, Table, Tool, ToolType
from findspot.settings import Settings
from findspot.store import projects as project_rows
from findspot.surfaces.mcp import answers

QUERIES = {
    "anthropic_docs": ("how do I stream responses", "limit the rate of requests"),
    "k8s_core_v1_openapi": ("tolerations of a pod", "how is a volume mounted read-only"),
    "mcp_docs": ("how does a client cancel a request", "structured content of a tool result"),
    "openai_openapi": ("maximum number of tokens", "upload a file for fine-tuning"),
    "pypi_metadata": ("asynchronous HTTP client", "validate data with type hints"),
    "python_peps": ("may a generator return a value", "formatted string literals"),
    "wiki_articles": ("battle of the civil war", "born in a small village"),
    "zh_laws_long": ("试用期最长多久", "夫妻共同财产如何分割"),
    "zh_novels": ("孙悟空大闹天宫", "林黛玉葬花"),
    "zh_tidb_docs": ("如何限制查询的内存", "备份与恢复"),
}
HITS = 5
SAVED = FOLDER / "answers.json"
PER_PASSAGE, PER_HIT = 1.25, 40  # the aim: at most so many times the tokens of the passages, and so many for each hit
MIN_LONG_TEXTS = 20  # with fewer texts over the default threshold, every string is searched


async def measure(folder: Path) -> dict[str, dict[str, dict[str, float]]]:
    found: dict[str, dict[str, dict[str, float]]] = {"answers": {}, "tools": {}}
    with tempfile.TemporaryDirectory() as data:
        async with open_app(Settings(data=Path(data))) as app:
            async with app.store.write() as connection:
                project = await project_rows.create(connection, "bench")
            for name, queries in QUERIES.items():
                body = b'{"name": "%b", "data": %b}' % (name.encode(), (folder / f"{name}.json").read_bytes())
                table = await app.tables.create(project.id, body)
                found["answers"][name] = await _table(app, table, queries)
                print(name, found["answers"][name], flush=True)
                if name == "python_peps":
                    found["tools"] = await _cards(app, table)
    return found


async def _table(app: App, table: Table, queries: tuple[str, ...]) -> dict[str, float]:
    tool = await _tool(app, table, "search", search_config={"top_k": HITS})
    if tool.metadata["search_index"]["nodes_count"] < MIN_LONG_TEXTS:
        await app.tools.delete(tool.id)
        tool = await _tool(app, table, "search", search_config={"top_k": HITS, "chunk_threshold": 1})
    full = [await _answer(app, tool, query) for query in queries]
    lean = [await _answer(app, replace(tool, lean=True), query) for query in queries]
    return {
        "hits": _mean(full, "hits"),
        "passages": _mean(full, "passages"),
        "paths": _mean(full, "paths"),
        "text": _mean(full, "text"),
        "structure": _mean(full, "structure"),
        "lean text": _mean(lean, "text"),
        "lean structure": _mean(lean, "structure"),
        "aim": _mean(full, "passages") * PER_PASSAGE + _mean(full, "hits") * PER_HIT,
    }


def _mean(rows: list[dict[str, int]], column: str) -> float:
    return sum(row[column] for row in rows) / len(rows)


async def _answer(app: App, tool: Tool, query: str) -> dict[str, int]:
    answer = await app.tool_calls.call_text(tool, json.dumps({"query": query}).encode(), OWNER)
    shown = answers.answered(tool, answer)
    hits = shown["structuredContent"]["results"]
    return {
        "hits": len(hits),
        "passages": sum(tokens.count(hit["chunk"]["chunk_text"]) for hit in hits),
        "paths": sum(tokens.count(hit["json_path"]) for hit in hits),
        "text": tokens.count("\n".join(block["text"] for block in shown["content"] if "text" in block)),
        "structure": tokens.count(json.dumps(shown["structuredContent"], ensure_ascii=False, separators=(",", ":"))),
    }


async def _cards(app: App, table: Table) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for kind in ToolType:
        if kind.on_documents:
            where: dict[str, Any] = {"project_id": table.project_id, "name": f"{kind} it", "type": kind.value}
            made = (await app.tools.create(table.project_id, NewTool.model_validate(where))).tool
        else:
            made = await _tool(app, table, kind.value, json_pointer="" if kind is ToolType.SEARCH else "/peps")
        card = app.tools.describe(made)
        parts: dict[str, Any] = {
            "description": card.description, "input schema": card.input_schema, "output schema": card.output_schema
        }  # fmt: skip
        counts = {name: float(tokens.count(_text(part))) for name, part in parts.items()}
        found[kind.value] = {**counts, "together": sum(counts.values())}
    return found


def _text(part: Any) -> str:
    return part if isinstance(part, str) else json.dumps(part, ensure_ascii=False, separators=(",", ":"))


async def _tool(app: App, table: Table, kind: str, **more: Any) -> Tool:
    where = {"project_id": table.project_id, "table_id": table.id}
    spec = NewTool.model_validate({**where, "name": f"{kind} it", "type": kind, **more})
    return (await app.tools.create(table.project_id, spec)).tool


def tables() -> dict[str, dict[str, dict[str, float]]]:
    """Return the figures that were saved last, as tables of a report: title → row → column → value."""
    saved = json.loads(SAVED.read_text())
    found = {}
    for when in ("before", "after"):
        found[f"Tokens of an answer with five hits, {when}"] = saved[when]["answers"]
    for when in ("before", "after"):
        found[f"Tokens of a tool in tools/list, {when}"] = saved[when]["tools"]
    return found


def missed() -> str:
    """Return where the lean structure misses the aim, and why."""
    after = json.loads(SAVED.read_text())["after"]["answers"]
    over = {name: row for name, row in after.items() if row["lean structure"] > row["aim"]}
    if not over:
        return "too"
    shares = [f"{name} ({row['paths'] / row['hits']:.0f} tokens for a path)" for name, row in over.items()]
    return (
        f"on {len(after) - len(over)} of {len(after)}: names and punctuation of a hit's fields take 26 tokens, which "
        f"leaves 14 for its path and context, and the passages of {' and '.join(shares)} are too short to make up for "
        "it. "
        "A tool on a part of the table (`--pointer /components/schemas`) has shorter paths"
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True, help="folder with the JSON files")
    parser.add_argument("--when", choices=("before", "after"), default="after", help="which figures to replace")
    given = parser.parse_args()
    found = asyncio.run(measure(given.data))
    saved = json.loads(SAVED.read_text()) if SAVED.exists() else {}
    SAVED.write_text(json.dumps({**saved, given.when: found}, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
