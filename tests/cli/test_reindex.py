"""`findspot reindex`: by each way to the API, past what fails, with an exit code that tells."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import pytest

from findspot.models import documents_namespace
from findspot.surfaces.cli.reindex import Documents
from tests.cli.command import Outcome, findspot
from tests.servers import Server

Command = Callable[..., Outcome]


def make_tool(server: Server, *texts: str) -> int:
    """A search tool over these texts, in a project of its own."""
    with server.client() as owner:
        project = owner.post("/api/v1/projects", json={"name": "项目"}).json()["id"]
        data = {"name": "t", "data": list(texts)}
        table = owner.post(f"/api/v1/projects/{project}/tables", json=data).json()["id"]
        spec = {"project_id": project, "table_id": table, "name": "搜索", "search_config": {"chunk_threshold": 1}}
        made = owner.post("/api/v1/tools/search", json=spec)
        assert (made.status_code, made.json()["chunks_created"]) == (201, len(texts))
        return int(made.json()["tool_id"])


@pytest.fixture
def filled(tmp_path: Path) -> tuple[Path, int, int]:
    """A data folder with two tools, and no server; the first has one chunk, the second three."""
    folder = tmp_path / "data"
    server = Server.start(folder)
    tools = make_tool(server, "the tide 潮汐"), make_tool(server, "one", "two 二", "three 🌊")
    server.stop()
    return folder, *tools


def test_one_tool_or_all_of_them_are_indexed_anew_by_a_running_server(served: tuple[Server, Path]) -> None:
    server, folder = served
    tool = make_tool(server, "the tide", "潮汐")
    ended = findspot("reindex", "--tool", str(tool), "--data", str(folder), "--json")
    (answer,) = ended.json["tools"]
    assert (ended.code, ended.err, ended.json["failed"]) == (0, "", 0)
    assert (answer["tool_id"], answer["name"], answer["status"]) == (tool, "搜索", "ready")
    assert (answer["chunks"], answer["indexed"], answer["failed"]) == (2, 2, None)
    every = findspot("reindex", "--all", "--url", server.url, "--key", server.token, "--json")
    assert tool in [each["tool_id"] for each in every.json["tools"]]
    assert {each["status"] for each in every.json["tools"]} == {"ready"}


@pytest.mark.scenario("003.rebuild-script.all-tools")
def test_without_a_server_the_command_indexes_itself(filled: tuple[Path, int, int]) -> None:
    folder, *_ = filled
    ended = findspot("reindex", "--all", "--data", str(folder))
    assert (ended.code, ended.out) == (0, "✓ Rebuilt the index of 2 search tools: 4 chunks.\n")


@pytest.mark.scenario("003.rebuild-script.goes-on", "003.rebuild-script.progress")
def test_a_tool_that_fails_is_told_and_the_others_go_on(filled: tuple[Path, int, int]) -> None:
    folder, fits, too_large = filled
    for_people = findspot("reindex", "--all", "--data", str(folder), FINDSPOT_MAX_CHUNKS="2")
    assert for_people.code == 1
    begun, refused, ended = for_people.err.splitlines()
    assert begun == f"… Rebuilding: Tool {fits} (搜索)"
    assert refused.startswith(f"✗ Tool {too_large} (搜索): The project has 3 chunks; the limit is 2.")
    assert ended == f"✓ Tool {fits} (搜索): 1 chunk."
    assert for_people.out == "✓ Rebuilt the index of 1 search tool: 1 chunk.\n"
    for_machines = findspot("reindex", "--all", "--data", str(folder), "--json", FINDSPOT_MAX_CHUNKS="2")
    assert (for_machines.code, for_machines.err, for_machines.json["failed"]) == (1, "", 1)
    ends = {each["tool_id"]: (each["status"], each["failed"] is None) for each in for_machines.json["tools"]}
    assert ends == {fits: ("ready", True), too_large: ("error", False)}


def test_documents_are_indexed_anew_by_a_running_server(served: tuple[Server, Path]) -> None:
    server, folder = served
    with server.client() as owner:
        project = owner.post("/api/v1/projects", json={"name": "灯塔"}).json()["id"]
        body = {"title": "t", "format": "text", "content": "The keeper.\n\n旧照片散落一地。"}
        owner.post(f"/api/v1/projects/{project}/documents", json=body)
    ended = findspot("reindex", "--documents", str(project), "--data", str(folder), "--json")
    assert (ended.code, ended.err) == (0, "")
    known = {"name": "灯塔", "project_id": project, "status": "ready", "chunks": 2, "indexed": 2, "failed": None}
    assert ended.json == {"documents": [known], "tools": [], "failed": 0}
    for_people = findspot("reindex", "--documents", str(project), "--url", server.url, "--key", server.token)
    assert for_people.out == "✓ Rebuilt the index of the documents of 1 project: 2 chunks.\n"
    begun, told = for_people.err.splitlines()
    assert begun == f"… Rebuilding: Documents of project {project} (灯塔)"
    assert told == f"✓ Documents of project {project} (灯塔): 2 chunks."


def test_without_a_server_documents_that_wait_are_indexed_and_found(alone: Command) -> None:
    alone("project", "create", "novel")
    assert alone("reindex", "--all").out == "✓ Nothing to rebuild: there are no documents and no search tools.\n"
    alone("document", "create", "1", "Chapter", "The lighthouse keeper.")
    ended = alone("reindex", "--all")
    assert (ended.code, ended.out) == (0, "✓ Rebuilt the index of the documents of 1 project: 1 chunk.\n")
    found = alone("search", "keeper", "--json").json
    assert (len(found["results"]), "notice" in found) == (1, False)


def test_documents_that_cannot_be_indexed_anew_are_told(alone: Command) -> None:
    alone("project", "create", "novel")
    alone("document", "create", "1", "Chapter", "One.\n\nTwo.\n\nThree.")
    assert alone("reindex", "--all").code == 0
    ended = alone("reindex", "--documents", "1", FINDSPOT_MAX_CHUNKS="2")
    assert (ended.code, ended.out) == (6, "")
    assert ended.err.startswith("✗ Documents of project 1 (novel): The project has 3 chunks; the limit is 2.")
    missing = alone("reindex", "--documents", "99")
    assert (missing.code, missing.out) == (3, "")
    assert missing.err == "✗ Documents of project 99: There is no such project, or this key may not see it.\n"


@dataclass
class Looks:
    """A server on whose status the state of the documents is seen like this, one look after the other."""

    states: list[str]

    async def call(self, method: str, path: str, **_: object) -> dict[str, object]:
        state = self.states.pop(0)
        index = {"namespace": documents_namespace(1), "status": state, "progress": {"done": 7, "total": 9}}
        return {"project_id": 1, "documents": 1, "namespaces": [index], "last_errors": []}


def test_a_rebuild_that_has_not_begun_is_not_taken_for_one_that_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    api, times = Looks(["ready", "ready", "indexing", "ready", "ready", "ready"]), iter([0.0, 0.9, 1.1, 1.2, 2.0, 2.3])
    monkeypatch.setattr("findspot.surfaces.cli.reindex.time", SimpleNamespace(monotonic=lambda: next(times)))
    documents, seen = Documents(project_id=1, name="p"), []
    for _ in range(6):
        asyncio.run(documents.poll(api))  # type: ignore[arg-type]
        seen.append((documents.status, documents.indexed))
    assert seen == [("pending", 0)] * 2 + [("pending", 7)] * 3 + [("ready", 7)]


def test_what_is_to_be_indexed_has_to_be_said_and_to_be_there(filled: tuple[Path, int, int]) -> None:
    folder, *_ = filled
    for arguments in ((), ("--all", "--tool", "1")):
        ended = findspot("reindex", *arguments, "--data", str(folder))
        assert (ended.code, ended.out) == (2, "")
        assert "Choose what to rebuild" in ended.err
    missing = findspot("reindex", "--tool", "99", "--data", str(folder))
    assert (missing.code, missing.out) == (3, "")
    assert missing.err.startswith("✗ Tool 99: There is no such tool")
