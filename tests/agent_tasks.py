"""Fifty tasks on real tables and documents, and an agent without a model that solves them; for tests and benchmarks.

A task is a question and what its answer looks like. Everything else (which tools there are, where to read, how to read
on) the agent takes from what the tools answer.
"""

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcp.client.client import Client
from mcp_types import CallToolResult

from findspot.models import Tool
from tests import flows
from tests.mcp.conftest import http_to
from tests.mcp.real import Served

FOLDER = Path(__file__).parent / "fixtures" / "agent_tasks"
DOCUMENTS, NUMBER_OF_DOCUMENTS = "documents", 300
THRESHOLD = 60  # characters: descriptions are searched too, names and ids are not
_HITS, _PARTS = 10, 4  # hits that the agent looks at, and parts that it reads of each


@dataclass(frozen=True, slots=True)
class Task:
    """A question about a table or about documents. The agent does not know `place`, where the answer stands."""

    number: int
    source: str
    place: str
    question: str
    pattern: re.Pattern[str]
    answer: str

    @property
    def key(self) -> str:
        return f"task-{self.number}"


def tasks() -> list[Task]:
    lines = (FOLDER / "tasks.jsonl").read_text(encoding="utf-8").splitlines()
    found = []
    for number, line in enumerate(lines, 1):
        fields = json.loads(line)
        pattern = re.compile(fields.pop("pattern"), re.DOTALL)
        found.append(Task(number, pattern=pattern, **fields))
    return found


def sources() -> list[str]:
    """Return the tables, then the documents."""
    return list(dict.fromkeys(task.source for task in tasks()))


def excerpt(table: str) -> Any:
    return json.loads((FOLDER / f"{table}.json").read_text(encoding="utf-8"))


def document_excerpts() -> list[dict[str, str]]:
    """Return documents as {title, content}."""
    return [json.loads(line) for line in (FOLDER / "documents.jsonl").read_text(encoding="utf-8").splitlines()]


@dataclass
class Agent:
    """Searches, reads around hits and edits. It follows what tools answer."""

    client: Client
    tools: dict[str, str]
    in_passage: int = 0  # answers that stood in the passage of a hit already
    calls: int = 0
    unsolved: list[Task] = field(default_factory=list)

    @classmethod
    async def open(cls, client: Client) -> "Agent":
        """Look at the tools of the endpoint and tell them apart by their arguments."""
        found = {}
        for tool in (await client.list_tools()).tools:
            arguments = tool.input_schema["properties"]
            purpose = "search" if "top_k" in arguments else "read" if "around" in arguments else "write"
            found[purpose] = tool.name
        return cls(client, found)

    async def solve(self, task: Task) -> None:
        """Find the answer and write it down."""
        answer = await self._find(task)
        if answer is None:
            self.unsolved.append(task)
            return
        await self._call("write", {"updates": [{"key": task.key, "content": answer}]})

    async def _find(self, task: Task) -> str | None:
        found = await self._call("search", {"query": task.question, "top_k": _HITS})
        read: set[tuple[str, int]] = set()
        for hit in found["results"]:
            where, start, passage = _place(hit)
            if (str(where), start) in read:
                continue
            part = await self._call("read", {**where, "around": start})
            text = part["text"]
            for _ in range(_PARTS):
                read |= {(str(where), place) for place in range(part["start"], part["end"])}
                if answer := task.pattern.search(text):
                    self.in_passage += task.pattern.search(passage) is not None
                    return answer[1]
                if part["next_start"] is None:
                    break
                part = await self._call("read", {**where, "start": part["next_start"]})
                text += part["text"]
        return None

    async def _call(self, purpose: str, arguments: dict[str, Any]) -> dict[str, Any]:
        self.calls += 1
        result: CallToolResult = await self.client.call_tool(self.tools[purpose], arguments)
        assert not result.is_error, result.content
        found: dict[str, Any] = result.structured_content or {}
        return found


def _place(hit: dict[str, Any]) -> tuple[dict[str, Any], int, str]:
    """Return what names the text of a hit for the reading tool, where the hit starts, and its passage."""
    if "document_id" in hit:
        return {"document_id": hit["document_id"]}, hit["start"], hit["text"]
    return {"json_path": hit["json_path"]}, hit["chunk"]["char_start"], hit["chunk"]["chunk_text"]


async def solve_on_table(served: Served, value: Any, tasks: list[Task]) -> Agent:
    """Make a search tool on a table, at its only member if it has one, and let an agent solve the tasks."""
    scope = f"/{next(iter(value))}" if isinstance(value, dict) and len(value) == 1 else ""
    table = await served.table(tasks[0].source, value)
    config = {"chunk_threshold": THRESHOLD}
    search = await served.tool("find", "search", table_id=table, json_pointer=scope, search_config=config)
    return await _solve(served, search, tasks)


async def solve_on_documents(served: Served, texts: list[dict[str, str]], tasks: list[Task]) -> Agent:
    for text in texts:
        body = json.dumps({**text, "format": "markdown"}).encode()
        await served.app.documents.create(served.project_id, body)
    await flows.settle(served.app)
    return await _solve(served, await served.tool("find", "search_documents"), tasks)


async def _solve(served: Served, search: Tool, tasks: list[Task]) -> Agent:
    """Return the agent after it has tried all tasks. Answers that were written down wrong count as unsolved."""
    table = await served.table("notes", {task.key: None for task in tasks})
    write = await served.tool("note", "update", table_id=table)
    world = await served.endpoint(search, write, lean=True)
    async with http_to(world)() as client:
        agent = await Agent.open(client)
        for task in tasks:
            await agent.solve(task)
    async with served.app.tables.reading(table, "") as (_, text):
        written = json.loads(b"".join(text))
    agent.unsolved = [task for task in tasks if written[task.key] != task.answer]
    return agent
