"""Tools whose behaviour the test controls: for cases that the real ones show too seldom or too quickly."""

import asyncio
import json
from typing import Any

from findspot.agents.calls import ToolCalls
from findspot.agents.tools import Tools
from findspot.errors import FindspotError, invalid
from findspot.models import Caller, Tool, ToolCard

SECRET = "fse_this-never-leaves-the-server"
ODD: dict[str, Any] = {"data": [None, 0, "", [], False, {"书": None}, "e\u0301 👩‍👧 紅樓夢"]}


class ControlledTools(Tools, ToolCalls):
    """Tools whose query decides how they answer. A call with the query "wait" returns after `go` is set."""

    def __init__(self) -> None:
        self.go = asyncio.Event()
        self.calls: list[tuple[str, dict[str, Any], Caller]] = []
        self.sent: list[bytes] = []  # the arguments of each call, as they arrived
        self.called = asyncio.Event()

    def describe(self, tool: Tool) -> ToolCard:
        schema = {"type": "object", "properties": {"query": {"type": "string"}}, "additionalProperties": False}
        return ToolCard(
            tool.name if tool.name.isascii() else f"tool-{tool.id}",
            tool.name,
            tool.description,
            schema,
            {"type": "object"},
            {"readOnlyHint": not tool.type.edits, "destructiveHint": False, "openWorldHint": False},
        )

    async def call_text(self, tool: Tool, arguments: bytes, caller: Caller, language: str = "en") -> bytes:
        asked = json.loads(arguments)
        self.sent.append(arguments)
        self.called.set()
        self.calls.append((tool.name, asked, caller))
        match asked.get("query"):
            case "wait":
                await self.go.wait()
            case "busy":
                raise FindspotError("SEARCH_BACKPRESSURE", "64 searches are running.", retryAfterMs=200)
            case "late":
                raise FindspotError("SEARCH_TIMEOUT", "The search took too long.")
            case "broken":
                raise RuntimeError(SECRET)
            case int():
                raise invalid("query", "must be text")
        if tool.type == "search":
            found: dict[str, Any] = {"query": asked.get("query", ""), "total_results": 2}
            found["results"] = [_hit(tool, "/a/书~1 1", 4), _hit(tool, "/b", 0)]
            return json.dumps(found, ensure_ascii=False).encode()
        return json.dumps(ODD, ensure_ascii=False).encode()


def _hit(tool: Tool, pointer: str, start: int) -> dict[str, Any]:
    chunk = {"table_id": tool.table_id, "json_pointer": pointer, "chunk_text": "x", "char_start": start}
    chunk["char_end"] = start + 1
    return {"score": 0.51234, "json_path": pointer, "context": {"标题": "红楼梦", "id": 7}, "chunk": chunk}
