"""Scopes and queries for real tables, and a check of every hit's pointer and range; for tests and benchmarks."""

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from findspot import pointer as pointers
from findspot.agents.schemas import NewSearchTool
from findspot.app import App
from findspot.models import OWNER, Table, Tool

UNRELATED = (
    "aurora 极光 over the fjord",
    "🪁",
    "e\u0301tude",
    "the",
    "。",
    "臺灣 圖書館",
    '"exact words"',
    "量子 computing -moon",
)


def load(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def strings(value: Any, pointer: str = "") -> Iterator[tuple[str, str]]:
    """Yield every string of a value with its pointer."""
    if isinstance(value, str):
        yield pointer, value
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in members:
        yield from strings(each, f"{pointer}/{str(key).replace('~', '~0').replace('/', '~1')}")


def node(value: Any, place: str) -> Any:
    for token in pointers.parse(place):
        value = value[int(token)] if isinstance(value, list) else value[token]
    return value


def scopes(value: Any, threshold: int, seed: int = 1) -> list[str]:
    """Return the root, a member of the root, some long strings and their parents, and one scope that does not exist."""
    chosen = random.Random(seed)
    long = [pointer for pointer, text in strings(value) if len(text) >= threshold]
    some = chosen.sample(long, min(2, len(long)))
    parents = [pointer.rsplit("/", 1)[0] for pointer in some]
    first = ["/" + pointer.split("/")[1] for pointer in long[:1]]
    return list(dict.fromkeys(["", *first, *parents, *some, "/nowhere"]))


def queries(value: Any, number: int, seed: int = 1) -> list[str]:
    """Return queries with words of the table's own strings, and some unrelated ones."""
    chosen = random.Random(seed)
    texts = [text for _, text in strings(value) if len(text) > 20]
    found = [each for _, each in zip(range(number // 10), UNRELATED, strict=False)]
    while len(found) < number:
        text = chosen.choice(texts)
        start, length = chosen.randrange(len(text)), chosen.choice((4, 12, 30, 80))
        if query := text[start : start + length].replace("\0", "").strip():
            found.append(query)
    return found


async def make_table(app: App, project_id: int, value: Any) -> Table:
    body = json.dumps({"name": "real", "data": value}, ensure_ascii=False).encode()
    return await app.tables.create(project_id, [body])


async def make_tool(app: App, table: Table, scope: str, **config: Any) -> Tool:
    spec = {"project_id": table.project_id, "table_id": table.id, "name": "search", "json_pointer": scope}
    spec["allow_missing"] = True
    made = await app.tools.create(table.project_id, NewSearchTool.model_validate({**spec, "search_config": config}))
    assert made.status == "ready", made
    return made.tool


async def check(app: App, tool: Tool, value: Any, query: str) -> int:
    """Search, check the pointer and range of every hit, and return the number of hits."""
    answer = await app.tool_calls.call(tool, {"query": query, "top_k": 20}, OWNER)
    assert answer["total_results"] >= len(answer["results"])
    for result in answer["results"]:
        chunk = result["chunk"]
        pointer = chunk["json_pointer"]
        assert pointers.holds(tool.json_pointer, pointer), (tool.json_pointer, pointer)
        assert pointer == tool.json_pointer + result["json_path"]
        text = node(node(value, tool.json_pointer), result["json_path"])
        assert text == node(value, pointer)
        assert text[chunk["char_start"] : chunk["char_end"]] == chunk["chunk_text"], (pointer, query)
        assert chunk["chunk_text"]
    return len(answer["results"])
