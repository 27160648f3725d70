"""`findspot reindex`: with a server and without, past failures, with its exit codes."""

import asyncio
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import pytest

from findspot.models import documents_namespace
from findspot.surfaces.cli.reindex import Documents
from tests.cli.command import Outcome, Terminal, findspot
from tests.servers import Server
from tests.web_servers import Handler, serving

Command = Callable[..., Outcome]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder without a server: tool 1 has one chunk, tool 2 has three, and all are indexed."""
    folder = tmp_path_factory.mktemp("tools") / "data"
    at = ("--data", str(folder))
    for number, texts in enumerate(('["the tide 潮汐"]', '["one", "two 二", "three 🌊"]'), start=1):
        findspot("project", "create", "项目", *at)
        findspot("table", "create", str(number), "t", texts, *at)
        findspot("tool", "create", str(number), str(number), "搜索", "--config", '{"chunk_threshold": 1}', *at)
    assert findspot("reindex", "--all", *at).code == 0
    return folder


def test_a_running_server_rebuilds_the_index_of_a_tool(served: tuple[Server, Path], remote: Command) -> None:
    project = str(remote("project", "create", "项目", "--json").json["id"])
    table = str(remote("table", "create", project, "t", '["the tide", "潮汐"]', "--json").json["id"])
    config = ("--config", '{"chunk_threshold": 1}')
    tool = remote("tool", "create", project, table, "搜索", *config, "--json").json["tool_id"]
    ended = findspot("reindex", "--tool", str(tool), "--data", str(served[1]), "--json")
    (answer,) = ended.json["tools"]
    assert (ended.code, ended.err, ended.json["failed"]) == (0, "", 0)
    assert (answer["tool_id"], answer["name"], answer["status"]) == (tool, "搜索", "ready")
    assert (answer["chunks"], answer["indexed"], answer["failed"]) == (2, 2, None)


@pytest.mark.scenario("003.rebuild-script.all-tools")
def test_without_a_server_the_command_rebuilds_all_tools_itself(folder: Path) -> None:
    ended = findspot("reindex", "--all", "--data", str(folder))
    assert (ended.code, ended.out) == (0, "✓ Rebuilt the index of 2 search tools: 4 chunks.\n")


@pytest.mark.scenario("003.rebuild-script.goes-on", "003.rebuild-script.progress")
def test_if_one_tool_fails_the_others_are_rebuilt(folder: Path) -> None:
    for_people = findspot("reindex", "--all", "--data", str(folder), FINDSPOT_MAX_CHUNKS="2")
    assert for_people.code == 1
    started, refused, ended = for_people.err.splitlines()
    assert started == "… Rebuilding: Tool 1 (搜索)"
    assert refused.startswith("✗ Tool 2 (搜索): The project has 3 chunks")
    assert ended == "✓ Tool 1 (搜索): 1 chunk."
    assert for_people.out == "✓ Rebuilt the index of 1 search tool: 1 chunk.\n"
    for_programs = findspot("reindex", "--all", "--data", str(folder), "--json", FINDSPOT_MAX_CHUNKS="2")
    assert (for_programs.code, for_programs.err, for_programs.json["failed"]) == (1, "", 1)
    results = {each["tool_id"]: (each["status"], each["failed"] is None) for each in for_programs.json["tools"]}
    assert results == {1: ("ready", True), 2: ("error", False)}


def test_a_running_server_rebuilds_the_index_of_documents(served: tuple[Server, Path], remote: Command) -> None:
    project = remote("project", "create", "灯塔", "--json").json["id"]
    remote("document", "create", str(project), "t", "The keeper.\n\n---\n\n旧照片散落一地。", "--format", "markdown")
    ended = findspot("reindex", "--documents", str(project), "--data", str(served[1]), "--json")
    assert (ended.code, ended.err) == (0, "")
    result = {"name": "灯塔", "project_id": project, "status": "ready", "chunks": 2, "indexed": 2, "failed": None}
    assert ended.json == {"documents": [result], "tools": [], "failed": 0}
    for_people = remote("reindex", "--documents", str(project))
    assert for_people.out == "✓ Rebuilt the index of the documents of 1 project: 2 chunks.\n"
    assert for_people.err.splitlines() == [
        f"… Rebuilding: Documents of project {project} (灯塔)",
        f"✓ Documents of project {project} (灯塔): 2 chunks.",
    ]


def test_without_a_server_new_documents_are_indexed_and_found(alone: Command) -> None:
    alone("project", "create", "novel")
    assert alone("reindex", "--all").out == "✓ Nothing to rebuild: there are no documents and no search tools.\n"
    alone("document", "create", "1", "Chapter", "The keeper.\n\n---\n\nTwo.\n\n---\n\nThree.", "--format", "markdown")
    ended = alone("reindex", "--all")
    assert (ended.code, ended.out) == (0, "✓ Rebuilt the index of the documents of 1 project: 3 chunks.\n")
    found = alone("search", "keeper", "--json").json
    assert (len(found["results"]), "notice" in found) == (1, False)
    failed = alone("reindex", "--documents", "1", FINDSPOT_MAX_CHUNKS="2")
    assert (failed.code, failed.out) == (6, "")
    assert failed.err.startswith("✗ Documents of project 1 (novel): The project has 3 chunks")


def test_an_unknown_project_or_tool_is_reported(folder: Path) -> None:
    for option, title, kind in (("--documents", "Documents of project", "project"), ("--tool", "Tool", "tool")):
        missing = findspot("reindex", option, "99", "--data", str(folder))
        assert (missing.code, missing.out) == (3, "")
        assert missing.err.startswith(f"✗ {title} 99: There is no such {kind}")


@dataclass
class FakeStatus:
    """An API whose project status has these states of the document index, one per call."""

    states: list[str]

    async def call(self, method: str, path: str, **_: object) -> dict[str, object]:
        state = self.states.pop(0)
        index = {"namespace": documents_namespace(1), "status": state, "progress": {"done": 7, "total": 9}}
        return {"project_id": 1, "documents": 1, "namespaces": [index], "last_errors": []}


def test_a_rebuild_that_has_not_started_does_not_count_as_finished(monkeypatch: pytest.MonkeyPatch) -> None:
    api = FakeStatus(["ready", "ready", "indexing", "ready", "ready", "ready"])
    times = iter([0.0, 0.9, 1.1, 1.2, 2.0, 2.3])
    monkeypatch.setattr("findspot.surfaces.cli.reindex.time", SimpleNamespace(monotonic=lambda: next(times)))
    documents, seen = Documents(project_id=1, name="p"), []
    for _ in range(6):
        asyncio.run(documents.poll(api))  # type: ignore[arg-type]
        seen.append((documents.status, documents.indexed))
    assert seen == [("pending", 0)] * 2 + [("pending", 7)] * 3 + [("ready", 7)]


@pytest.mark.parametrize("arguments", [(), ("--all", "--tool", "1")])
def test_what_to_rebuild_must_be_chosen(folder: Path, arguments: tuple[str, ...]) -> None:
    ended = findspot("reindex", *arguments, "--data", str(folder))
    assert (ended.code, ended.out) == (2, "")
    assert "Choose what to rebuild" in ended.err


@pytest.fixture
def stalled() -> Iterator[str]:
    """A server that begins a rebuild of project 1 and never ends it, and an embedder that never answers."""
    done = threading.Event()

    class Stalled(Handler):
        def answer(self, body: bytes) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_GET(self) -> None:
            if self.path.endswith("/status"):
                assert done.wait(120)
            self.answer('{"id": 1, "name": "灯塔"}'.encode())

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            if self.path.endswith("/embeddings"):
                assert done.wait(120)
            self.answer(b'{"jobId": "1", "position": 0}')

    with serving(Stalled) as url:
        yield url
        done.set()


@pytest.mark.skipif(sys.platform != "linux", reason="terminals differ")
def test_ctrl_c_says_whether_the_rebuild_goes_on(alone: Command, tmp_path: Path, stalled: str) -> None:
    alone("project", "create", "灯塔")
    alone("document", "create", "1", "t", "The keeper. 旧照片。")
    embedder = {"FINDSPOT_EMBEDDER": "openai/m", "FINDSPOT_EMBEDDER_BASE_URL": stalled}
    for target, variables, sentence in (
        (("--url", stalled, "--key", "k"), {}, "Stopped waiting: the server continues."),
        (("--data", str(tmp_path / "data")), embedder, "Stopped: a server continues the rebuilds."),
    ):
        with Terminal.running("reindex", "--documents", "1", *target, **variables) as terminal:
            terminal.until("Rebuilding: Documents of project 1")
            assert terminal.interrupt() == 130
            assert sentence in " ".join(terminal.text.split())
            assert "Traceback" not in terminal.text
