"""An agent without a model: it searches, reads around the hit and writes down what it read.

It knows a question and what the answer looks like. Everything else (which tools there are, where to read, how to read
on) it takes from what the tools answer. The tables have the shapes of real ones.
"""

import json
import re
from pathlib import Path
from typing import Any

from mcp.client.client import Client
from mcp_types import CallToolResult

from findspot.models import Tool
from tests import flows
from tests.mcp.conftest import World, http_to
from tests.mcp.real import Served, open_real

ENGLISH = ("Veldor", "Quillan", "Ostrava", "Brinmoor", "Tamsin", "Kerrow", "Lissard", "Pendrake", "Ravello", "Sorrel")
CHINESE = ("青岚", "澄湖", "望舒", "云汀", "白鹭", "松涛", "听雨", "归雁", "星沙", "渔火")
FILLER = {
    "en": "Ships come and go with the weather, and the keeper writes down what he sees. ",
    "zh": "船只随着天气来来去去，看守人把所见所闻都写下来。",
}
TASKS_PER_TABLE, DOCUMENTS, DOCUMENT_TASKS = 4, 300, 10


class Task:
    """A question with its answer: a number that stands some way after the name."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.language = "zh" if number % 2 else "en"
        self.name = f"{(CHINESE if number % 2 else ENGLISH)[number % 10]}{number}"
        self.answer = str(70_000 + 37 * number)

    @property
    def key(self) -> str:
        return f"task-{self.number}"

    @property
    def question(self) -> str:
        return (
            f"{self.name}港的登记号是多少" if self.language == "zh" else f"registry number of the harbour {self.name}"
        )

    @property
    def pattern(self) -> re.Pattern[str]:
        end = "登记号为" if self.language == "zh" else "Its registry number is "
        return re.compile(rf"{self.name}(?!\d).*?{end}(\d+)", re.DOTALL)

    def text(self) -> str:
        """Return a text in which the answer stands more than a passage after the name."""
        filler = FILLER[self.language]
        if self.language == "zh":
            return f"# 港口\n\n{filler * 20}\n\n{self.name}港在北岸。{filler * 60}登记号为{self.answer}。{filler * 20}"
        start = f"# Harbours\n\n{filler * 20}\n\nThe harbour {self.name} lies in the north. "
        return f"{start}{filler * 18}Its registry number is {self.answer}. {filler * 20}"


def shapes(tasks: list[Task]) -> Any:
    """Return the texts of tasks in one of ten shapes of real tables, chosen by the number of the first task."""
    texts = [task.text() for task in tasks]
    match tasks[0].number // TASKS_PER_TABLE:
        case 0:
            return {"peps": [{"pep": n, "title": f"PEP {n}", "body": text} for n, text in enumerate(texts)]}
        case 1:
            return {f"package-{n}": {"name": f"package {n}", "description": text} for n, text in enumerate(texts)}
        case 2:
            return {"红楼梦": {"chapters": [{"title": f"第{n}回", "text": text} for n, text in enumerate(texts)]}}
        case 3:
            return {"laws": {f"法律{n}": text for n, text in enumerate(texts)}}
        case 4:
            paths = {f"/v1/{n}": {"get": {"summary": f"op {n}", "description": text}} for n, text in enumerate(texts)}
            return {"openapi": "3.1.0", "paths": paths}
        case 5:
            return {"components": {"schemas": {f"io.k8s~{n}": {"description": text} for n, text in enumerate(texts)}}}
        case 6:
            return {"pages": {f"docs/{n}.mdx": text for n, text in enumerate(texts)}}
        case 7:
            return {"rows": [{"chunk_heading": f"h {n}", "text": text} for n, text in enumerate(texts)]}
        case 8:
            return {"wiki": [{"url": f"/wiki/{n}", "title": f"T {n}", "body": text} for n, text in enumerate(texts)]}
    return {"docs": {f"文档 {n}.md": {"title": f"文档 {n}", "markdown": text} for n, text in enumerate(texts)}}


class Agent:
    """Follows what tools answer."""

    def __init__(self, client: Client, tools: dict[str, str]) -> None:
        self._client = client
        self._tools = tools

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
        answer = await self.find(task)
        assert answer is not None, task.question
        await self._call("write", {"elements": [{"key": task.key, "content": answer}]})

    async def find(self, task: Task) -> str | None:
        found = await self._call("search", {"query": task.question, "top_k": 10})
        for hit in found["results"]:
            where, start = self._place(hit)
            part = await self._call("read", {**where, "around": start})
            text, next_start = part["text"], part["next_start"]
            while (answer := task.pattern.search(text)) is None and task.name in text and next_start is not None:
                part = await self._call("read", {**where, "start": next_start})
                text, next_start = text + part["text"], part["next_start"]
            if answer is not None:
                return answer[1]
        return None

    @staticmethod
    def _place(hit: dict[str, Any]) -> tuple[dict[str, Any], int]:
        if "document_id" in hit:
            return {"document_id": hit["document_id"]}, hit["start"]
        return {"json_path": hit["json_path"]}, hit["chunk"]["char_start"]

    async def _call(self, purpose: str, arguments: dict[str, Any]) -> dict[str, Any]:
        result: CallToolResult = await self._client.call_tool(self._tools[purpose], arguments)
        assert not result.is_error, result.content
        found: dict[str, Any] = result.structured_content or {}
        return found


async def solve(world: World, tasks: list[Task]) -> None:
    async with http_to(world)() as client:
        agent = await Agent.open(client)
        for task in tasks:
            await agent.solve(task)


async def with_table(served: Served, tasks: list[Task]) -> tuple[World, int]:
    """Make a table with the texts of the tasks, tools on it and an endpoint."""
    data = shapes(tasks)
    part = f"/{next(iter(data))}" if len(data) == 1 else ""
    table = await served.table("t", {**data, "answers": {}})
    search = await served.tool(
        "find", "search", table_id=table, json_pointer=part, search_config={"chunk_threshold": 100}
    )
    write = await served.tool("note", "create", table_id=table, json_pointer="/answers")
    return await served.endpoint(search, write, lean=True), table


async def answers_in(served: Served, table: int) -> dict[str, str]:
    async with served.app.tables.reading(table, "/answers") as (_, text):
        found: dict[str, str] = json.loads(b"".join(text))
    return found


async def test_a_scripted_agent_solves_forty_tasks_on_ten_tables(tmp_path: Path) -> None:
    async with open_real(tmp_path / "data") as served:
        for first in range(0, 10 * TASKS_PER_TABLE, TASKS_PER_TABLE):
            tasks = [Task(number) for number in range(first, first + TASKS_PER_TABLE)]
            world, table = await with_table(served, tasks)
            await solve(world, tasks)
            assert await answers_in(served, table) == {task.key: task.answer for task in tasks}


async def test_a_scripted_agent_solves_ten_tasks_on_three_hundred_documents(tmp_path: Path) -> None:
    tasks = [Task(number) for number in range(40, 40 + DOCUMENT_TASKS)]
    async with open_real(tmp_path / "data") as served:
        for number in range(DOCUMENTS):
            text = (
                tasks[number // 30].text()
                if number % 30 == 0
                else f"# Note {number} 笔记\n\n{FILLER['en']}{FILLER['zh']}"
            )
            body = {"title": f"Document {number} 文档", "content": text, "format": "markdown"}
            await served.app.documents.create(served.project_id, json.dumps(body).encode())
        await flows.settle(served.app)
        table = await served.table("notes", {"answers": {}})
        tools: list[Tool] = [
            await served.tool("find", "search_documents"),
            await served.tool("note", "create", table_id=table, json_pointer="/answers"),
        ]
        await solve(await served.endpoint(*tools), tasks)
        assert await answers_in(served, table) == {task.key: task.answer for task in tasks}
