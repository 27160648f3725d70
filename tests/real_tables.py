"""What tests and benchmarks of real tables share: scopes, queries, and whether a hit stands where it says."""

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from findspot import pointer as pointers
from findspot.agents.schemas import NewSearchTool
from findspot.app import App
from findspot.models import OWNER, Table, Tool

ELSEWHERE = (
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


def strings(value: Any, place: str = "") -> Iterator[tuple[str, str]]:
    """Every string of a value with its pointer."""
    if isinstance(value, str):
        yield place, value
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in members:
        yield from strings(each, f"{place}/{str(key).replace('~', '~0').replace('/', '~1')}")


def node(value: Any, place: str) -> Any:
    for token in pointers.parse(place):
        value = value[int(token)] if isinstance(value, list) else value[token]
    return value


def scopes(value: Any, threshold: int, seed: int = 1) -> list[str]:
    """All of it, what lies directly below, and places around and at some long strings; one that leads nowhere."""
    chosen = random.Random(seed)
    long = [place for place, text in strings(value) if len(text) >= threshold]
    some = chosen.sample(long, min(2, len(long)))
    around = [place.rsplit("/", 1)[0] for place in some]
    first = ["/" + place.split("/")[1] for place in long[:1]]
    return list(dict.fromkeys(["", *first, *around, *some, "/nowhere"]))


def queries(value: Any, number: int, seed: int = 1) -> list[str]:
    """Queries in the words of the table's own strings, and some that have nothing to do with it."""
    chosen = random.Random(seed)
    texts = [text for _, text in strings(value) if len(text) > 20]
    made = [each for _, each in zip(range(number // 10), ELSEWHERE, strict=False)]
    while len(made) < number:
        text = chosen.choice(texts)
        start, length = chosen.randrange(len(text)), chosen.choice((4, 12, 30, 80))
        if query := text[start : start + length].replace("\0", "").strip():
            made.append(query)
    return made


async def make_table(app: App, project_id: int, value: Any) -> Table:
    body = json.dumps({"name": "real", "data": value}, ensure_ascii=False).encode()
    return await app.tables.create(project_id, [body])


async def make_tool(app: App, table: Table, scope: str, **config: Any) -> Tool:
    spec = {"project_id": table.project_id, "table_id": table.id, "name": "search", "json_pointer": scope}
    made = await app.tools.create(table.project_id, NewSearchTool.model_validate({**spec, "search_config": config}))
    assert made.status == "ready", made
    return made.tool


async def check(app: App, tool: Tool, value: Any, query: str) -> int:
    """Search, and hold every hit to its place; how many there were."""
    answer = await app.tool_calls.call(tool, {"query": query, "top_k": 20}, OWNER)
    assert answer["total_results"] == len(answer["results"])
    for result in answer["results"]:
        chunk = result["chunk"]
        place = chunk["json_pointer"]
        assert pointers.holds(tool.json_pointer, place), (tool.json_pointer, place)
        assert place == tool.json_pointer + result["json_path"]
        text = node(node(value, tool.json_pointer), result["json_path"])
        assert text == node(value, place)
        assert text[chunk["char_start"] : chunk["char_end"]] == chunk["chunk_text"], (place, query)
        assert chunk["chunk_text"]
    return len(answer["results"])
