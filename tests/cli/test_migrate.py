"""`findspot migrate`: a running server is moved to PostgreSQL and turbopuffer, killed in between, and back."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.cli.command import findspot
from tests.servers import Server
from tests.turbopuffer.server import StandIn

# Runs a command and kills its process with the n-th call of a function.
KILLED = """
import importlib, os, signal, sys
from findspot.surfaces.cli.main import run

module, name, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
owner = importlib.import_module(module)
real = getattr(owner, name)

def counted(*args, **kwargs):
    global count
    count -= 1
    if count == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return real(*args, **kwargs)

setattr(owner, name, counted)
run(sys.argv[4:])
"""
PLACES = [
    ("findspot.store.snapshot", "put", 4),  # in the bulk copy
    ("findspot.engines.turbopuffer.rows", "columns", 2),  # while the index is written
    ("findspot.store.row_copies", "counts", 1),  # while changes are refused
]
TEXTS = {"warehouse": "The old warehouse stood at the end of the lane.", "仓库": "巷子尽头有一座旧仓库，没有人去。"}


class Saver(threading.Thread):
    """Saves documents until it is stopped, and remembers the last acknowledged text of each. Its last save is begun
    after it was told to stop."""

    def __init__(self, server: Server, documents: list[int]) -> None:
        super().__init__(daemon=True)
        self._client = server.client()
        self._documents = documents
        self._ended = threading.Event()
        self.saved: dict[int, str] = {}
        self.refused: list[Any] = []

    def run(self) -> None:
        number, is_last = 0, False
        while not is_last:
            is_last = self._ended.is_set()
            document, number = self._documents[number % len(self._documents)], number + 1
            text = f"edit {number} 修改第{number}次"
            answer = self._client.put(f"/api/v1/documents/{document}", json={"content": text, "format": "text"})
            if answer.status_code == 200:
                self.saved[document] = text
            else:
                self.refused.append(answer)
            self._ended.wait(0.05)  # leaves processor time to the others

    def stop(self) -> None:
        self._ended.set()
        self.join(120)
        self._client.close()


def fill(client: httpx2.Client) -> dict[str, Any]:
    project = client.post("/api/v1/projects", json={"name": "图书馆"}).raise_for_status().json()["id"]
    path = f"/api/v1/projects/{project}"
    made: dict[str, Any] = {"documents": [], "project": project}
    for word, text in TEXTS.items():
        body = {"title": word, "content": f"{text}\n\n{word} again", "format": "markdown"}
        made["documents"].append(client.post(f"{path}/documents", json=body).raise_for_status().json()["id"])
    for _ in range(3):
        body = {"title": "edited", "content": "first", "format": "text"}
        made["documents"].append(client.post(f"{path}/documents", json=body).raise_for_status().json()["id"])
    table = client.post(f"{path}/tables", json={"name": "t", "data": {"书": ["红楼梦 " * 50, "Mardi"]}}).json()["id"]
    tool = {"project_id": project, "table_id": table, "name": "find", "search_config": {"chunk_threshold": 1}}
    made["tool"] = client.post("/api/v1/tools/search", json=tool).raise_for_status().json()["tool_id"]
    made["key"] = client.post(f"{path}/keys", json={"name": "k", "role": "read"}).raise_for_status().json()["key"]
    made["endpoint"] = client.post(
        "/api/v1/mcp", json={"project_id": project, "name": "e", "tool_ids": [made["tool"]]}
    ).json()
    replaced = client.post(
        f"{path}/search/replace/preview", json={"search": "lane", "replace": "alley", "scope": "project"}
    )
    confirmed = {"previewId": replaced.json()["previewId"], "confirmed": True}
    client.post(f"{path}/search/replace/execute", json=confirmed).raise_for_status()
    return made


@pytest.fixture
def service() -> Iterator[StandIn]:
    """A stand-in for turbopuffer that the server and the commands share."""
    opened = StandIn()
    yield opened
    opened.close()


def held(service: StandIn) -> list[str]:
    """Return the ids of all chunks in the service."""
    return sorted(str(id) for namespace in service.service.namespaces.values() for id in namespace.rows)


def hits(server: Server, made: dict[str, Any]) -> list[Any]:
    """Return what searches find: by keyword, by both legs, and with a tool."""
    found: list[Any] = []
    with server.client() as client:
        for word in TEXTS:
            for strategy in ("fts", "hybrid"):
                path, body = f"/api/v1/projects/{made['project']}/search/query/strategy", {"query": word}
                page = client.post(path, json={**body, "strategy": strategy}).raise_for_status().json()
                found += [
                    (each["documentId"], each["snippet"])
                    for each in page["results"]
                    if each["documentId"] in made["documents"][:2]  # the others change until the end
                ]
        for query in ("红楼梦", "Mardi"):
            called = client.post(f"/api/v1/tools/{made['tool']}/call", json={"arguments": {"query": query}})
            found += [each["chunk"]["turbopuffer_doc_id"] for each in called.raise_for_status().json()["results"]]
    return found


def texts(server: Server, documents: list[int]) -> dict[int, str]:
    with server.client() as client:
        return {each: client.get(f"/api/v1/documents/{each}").raise_for_status().json()["text"] for each in documents}


def test_a_running_server_is_moved_to_postgresql_and_turbopuffer_and_back(
    tmp_path: Path, start_server: Callable[..., Server], new_postgres_database: Callable[[], str], service: StandIn
) -> None:
    old = start_server(data=tmp_path / "old")
    with old.client() as client:
        made = fill(client)
    url = new_postgres_database()
    environment = {"TURBOPUFFER_API_KEY": service.api_key, "TURBOPUFFER_BASE_URL": service.url}
    arguments = ["--to-database", url, "--to-engine", "turbopuffer", "--to-data", str(tmp_path / "new")]
    at_old = ["--data", str(tmp_path / "old")]
    saver = Saver(old, made["documents"][2:])
    saver.start()
    for place in PLACES:
        command = [sys.executable, "-c", KILLED, *map(str, place), "migrate", *arguments, *at_old]
        variables = {**os.environ, **environment}
        ended = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=120, check=False)
        assert ended.returncode == -signal.SIGKILL, ended.stderr
    moved = findspot("migrate", *arguments, *at_old, "--json", **environment)
    assert moved.code == 0, moved
    saver.stop()
    assert moved.json["chunks_compared"] > 0
    assert moved.json["chunks_compared_with_engine"] >= moved.json["chunks_compared"]
    assert moved.json["searches_compared"] > len(TEXTS), "documents and tools"
    assert moved.json["changes_refused_s"] > 0
    assert {answer.status_code for answer in saver.refused} == {503}
    assert {answer.json()["code"] for answer in saver.refused} == {"STORE_UNAVAILABLE"}
    assert all(int(answer.headers["Retry-After"]) > 0 for answer in saver.refused)
    before = texts(old, made["documents"])
    assert saver.saved.items() <= before.items(), "an acknowledged save was lost"
    expected = hits(old, made)
    assert old.stop() in (0, -signal.SIGTERM)

    at_service = {"FINDSPOT_DATABASE_URL": url, "FINDSPOT_ENGINE": "turbopuffer", **environment}
    new = start_server(data=tmp_path / "new", **at_service)
    assert new.token == old.token
    assert texts(new, made["documents"]) == before
    check(new, made)
    assert hits(new, made) == expected
    assert len(held(service)) == len(set(held(service)))
    again = findspot(
        "migrate", "--to-database", "sqlite", "--to-engine", "embedded", "--to-data", str(tmp_path / "back"),
        "--data", str(tmp_path / "new"), **at_service,
    )  # fmt: skip
    assert again.code == 0, again
    assert "Comparing every chunk" in again.err, "progress"
    assert "changes refused s" in again.out
    new.stop()
    back = start_server(data=tmp_path / "back")
    assert texts(back, made["documents"]) == before
    check(back, made)
    assert hits(back, made) == expected


def test_a_service_that_cannot_be_reached_is_named_before_anything_is_written(tmp_path: Path) -> None:
    data, target = str(tmp_path / "a"), tmp_path / "b"
    assert findspot("project", "create", "p", "--data", data).code == 0
    arguments = ["--to-database", "sqlite", "--to-engine", "turbopuffer", "--to-data", str(target), "--data", data]
    ended = findspot("migrate", *arguments)
    assert (ended.code, target.exists()) == (7, False)
    assert "set TURBOPUFFER_API_KEY" in ended.err


def check(server: Server, made: dict[str, Any]) -> None:
    """Keys, endpoints, tools, versions and searches work as before."""
    with server.client(made["key"]) as reader:
        for word in TEXTS:
            body = {"query": word, "strategy": "hybrid"}
            found = reader.post(
                f"/api/v1/projects/{made['project']}/search/query/strategy", json=body
            ).raise_for_status()
            assert word in found.json()["results"][0]["documentTitle"]
        called = reader.post(f"/api/v1/tools/{made['tool']}/call", json={"arguments": {"query": "红楼梦"}})
        assert called.raise_for_status().json()["results"][0]["chunk"]["json_pointer"] == "/书/0"
        versions = (
            reader.get(f"/api/v1/documents/{made['documents'][0]}/versions").raise_for_status().json()["versions"]
        )
        assert [each["reason"] for each in versions] == ["replace"]
    with server.client(made["endpoint"]["api_key"]) as agent:
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
        headers = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-11-25"}
        answer = agent.post(f"/mcp/{made['endpoint']['id']}", json=message, headers=headers)
        assert answer.status_code == 200, answer.text


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--to-database", "mysql://x", "--to-engine", "embedded", "--to-data", "b"], "must start with postgresql://"),
        (["--to-database", "sqlite", "--to-engine", "embedded", "--to-data", "{data}"], "name another folder"),
        (["--to-database", "sqlite"], "are needed"),
    ],
)
def test_a_wrong_target_is_refused(arguments: list[str], expected: str, tmp_path: Path) -> None:
    data = str(tmp_path / "a")
    assert findspot("project", "create", "p", "--data", data).code == 0
    ended = findspot("migrate", *(each.format(data=data) for each in arguments), "--data", data)
    assert ended.code == 2
    assert expected in ended.err


def test_a_move_is_cancelled(tmp_path: Path) -> None:
    data = str(tmp_path / "a")
    assert findspot("project", "create", "p", "--data", data).code == 0
    arguments = ["--to-database", "sqlite", "--to-engine", "embedded", "--to-data", str(tmp_path / "b"), "--data", data]
    assert findspot("migrate", *arguments).code == 0
    assert "was moved to SQLite in" in findspot("project", "create", "p", "--data", data).err
    assert findspot("migrate", "--cancel", "--data", data, "--json").json == {"cancelled": True}
    assert findspot("project", "create", "p", "--data", data).code == 0
