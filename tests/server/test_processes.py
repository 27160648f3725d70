"""`findspot serve --workers 2`: any process answers any request, and each can be killed."""

import contextlib
import functools
import json
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from findspot.runtime.limits import SEARCHES
from tests.databases import Databases
from tests.servers import Server

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are found by their names in /proc")

_END_S = 120
_PROCESS = "x-findspot-process"
_WORKER = 0


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Two API processes and an index worker, over one data folder. The tests of this module share them."""
    databases: Databases | None = request.getfixturevalue("postgres") if request.param == "postgres" else None
    address = databases.empty() if databases else None
    variables: dict[str, Any] = {"FINDSPOT_DATABASE_URL": address} if address else {}
    server = Server.start(tmp_path_factory.mktemp("data"), "--workers", "2", **variables)
    yield server
    server.kill()
    if databases and address:
        databases.drop(address)


@pytest.fixture
def project(server: Server) -> int:
    with server.client() as client:
        created: int = client.post("/api/v1/projects", json={"name": "p"}).json()["id"]
    return created


@contextlib.contextmanager
def client_of(server: Server, number: int) -> Iterator[httpx2.Client]:
    """A client with one connection, which leads to this process."""
    deadline = time.monotonic() + _END_S
    while True:
        with server.client(limits=httpx2.Limits(max_connections=1)) as client:
            if client.get("/healthz").headers[_PROCESS] == str(number):
                yield client
                return
        assert time.monotonic() < deadline, f"process {number} never answered"


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _END_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def pid_of(server: Server, number: int) -> int:
    """The process with this number, by the name that it has given itself."""
    children = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children").read_text().split()
    titles = {Path(f"/proc/{child}/comm").read_text().strip(): int(child) for child in children}
    return titles["findspot-index" if number == _WORKER else f"findspot-api-{number}"]


def kill(server: Server, number: int) -> None:
    """Kill a process, and wait until the next one with this number has started."""
    killed = pid_of(server, number)
    os.kill(killed, signal.SIGKILL)

    def is_back() -> bool:
        with contextlib.suppress(KeyError, FileNotFoundError):
            return pid_of(server, number) != killed
        return False

    wait_until(is_back)


def save(client: httpx2.Client, project: int, text: str) -> int:
    body = {"title": "t", "format": "markdown", "content": text}
    answer = client.post(f"/api/v1/projects/{project}/documents", json=body)
    assert answer.status_code == 201, answer.text
    created: int = answer.json()["id"]
    return created


def search(client: httpx2.Client, project: int, query: str, **more: Any) -> Any:
    body = {"query": query, "strategy": "hybrid", **more}
    answer = client.post(f"/api/v1/projects/{project}/search/query/strategy", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def finds(client: httpx2.Client, project: int, query: str, document: int) -> bool:
    found = search(client, project, query)["results"]
    return document in [each["documentId"] for each in found]


@pytest.mark.parametrize(
    ("text", "query"), [("A heron stands in the river.", "heron"), ("苍鹭站在河里。", "苍鹭")], ids=["en", "zh"]
)
def test_what_is_saved_through_one_process_is_found_through_the_other(
    server: Server, project: int, text: str, query: str
) -> None:
    with client_of(server, 1) as one, client_of(server, 2) as two:
        for here, there in ((one, two), (two, one)):
            document = save(here, project, text)
            wait_until(lambda there=there, document=document: finds(there, project, query, document))  # type: ignore[misc]
            assert here.delete(f"/api/v1/documents/{document}").status_code == 204
            wait_until(lambda there=there, document=document: not finds(there, project, query, document))  # type: ignore[misc]


def test_a_change_of_access_through_one_process_holds_in_the_other_at_once(server: Server, project: int) -> None:
    """Each process remembers keys that it has looked up."""
    with client_of(server, 1) as one, client_of(server, 2) as other:

        def status(key: str) -> int:
            return other.get(f"/api/v1/projects/{project}", headers={"Authorization": f"Bearer {key}"}).status_code

        def call(key: str, endpoint: int) -> int:
            body = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
            headers = {"Authorization": f"Bearer {key}", "Accept": "application/json, text/event-stream"}
            return other.post(f"/mcp/{endpoint}", json=body, headers=headers).status_code

        made = one.post(f"/api/v1/projects/{project}/keys", json={"name": "钥匙", "role": "read"}).json()
        assert [status(made["key"]) for _ in range(3)] == [200] * 3
        assert one.delete(f"/api/v1/projects/{project}/keys/{made['id']}").status_code == 204
        assert status(made["key"]) == 401

        endpoint = one.post("/api/v1/mcp", json={"project_id": project, "name": "e", "tool_ids": []}).json()
        assert [call(endpoint["api_key"], endpoint["id"]) for _ in range(3)] == [200] * 3
        new = one.post(f"/api/v1/mcp/{endpoint['id']}/rotate-key").json()["api_key"]
        assert (call(endpoint["api_key"], endpoint["id"]), call(new, endpoint["id"])) == (401, 200)
        assert one.delete(f"/api/v1/projects/{project}").status_code == 204
        assert (call(new, endpoint["id"]), status(server.token)) == (401, 404)


def saved_many(server: Server, project: int) -> list[int]:
    """Documents of which each is one hit."""
    with server.client() as client:
        made = [save(client, project, f"A heron with the number {number}, 苍鹭 {number}.") for number in range(12)]
        wait_until(lambda: search(client, project, "heron")["total"] == 12)
    return made


def test_the_next_page_is_answered_by_any_process_also_when_the_first_one_is_dead(server: Server, project: int) -> None:
    documents = saved_many(server, project)
    shown = []
    with client_of(server, 1) as client:
        page = search(client, project, "heron", limit=4)
    kill(server, 1)
    shown += [each["documentId"] for each in page["results"]]
    for number in (2, 1):
        with client_of(server, number) as client:
            page = search(client, project, "heron", limit=4, cursor=page["cursor"])
        shown += [each["documentId"] for each in page["results"]]
    assert sorted(shown) == documents
    assert not page["hasMore"]


class Held:
    """A search that is in progress: its process has begun to read the body, of which nothing is sent.

    The server ends it after 30 seconds, so many are begun at once.
    """

    def __init__(self, server: Server) -> None:
        host, _, port = server.url.removeprefix("http://").partition(":")
        self._server = server
        self._socket = socket.create_connection((host, int(port)), timeout=_END_S)
        self._ask("GET /healthz", "")

    @functools.cached_property
    def number(self) -> int:
        """The number of the process that the connection leads to."""
        return int(self._answer().split(f"{_PROCESS}: ")[1][0])

    def begin(self, project: int) -> None:
        path = f"POST /api/v1/projects/{project}/search/query/strategy"
        self._ask(path, "Content-Length: 100\r\nExpect: 100-continue\r\nContent-Type: application/json\r\n")

    def wait_until_begun(self) -> None:
        assert self._answer().startswith("HTTP/1.1 100 ")

    def _ask(self, request: str, headers: str) -> None:
        host, key = self._server.url.removeprefix("http://"), self._server.token
        head = f"{request} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {key}\r\n{headers}\r\n"
        self._socket.sendall(head.encode())

    def _answer(self) -> str:
        received = b""
        while b"\r\n\r\n" not in received:
            received += self._socket.recv(4096)
        if b"content-length: " in received:
            head, _, body = received.partition(b"\r\n\r\n")
            length = int(head.split(b"content-length: ")[1].split(b"\r\n")[0])
            while len(body) < length:
                body += self._socket.recv(4096)
        return received.decode().lower().replace("http/1.1", "HTTP/1.1")

    def close(self) -> None:
        self._socket.close()


def is_refused(client: httpx2.Client, project: int) -> bool:
    body = {"query": "heron", "strategy": "fts"}
    answer = client.post(f"/api/v1/projects/{project}/search/query/strategy", json=body)
    assert answer.status_code in (200, 429), answer.text
    return answer.status_code == 429


def test_searches_in_progress_are_counted_over_all_processes_and_those_of_a_dead_one_are_not(
    server: Server, project: int
) -> None:
    with contextlib.ExitStack() as closing:
        one, two = (closing.enter_context(client_of(server, number)) for number in (1, 2))
        opened: dict[int, list[Held]] = {1: [], 2: []}
        while min(map(len, opened.values())) <= SEARCHES // 2:
            for held in [Held(server) for _ in range(SEARCHES // 2)]:
                closing.callback(held.close)
                opened[held.number].append(held)
        begun = [*opened[1][: SEARCHES // 2], *opened[2][: SEARCHES // 2 - 1]]
        last, *spare = *opened[2][SEARCHES // 2 - 1 : SEARCHES // 2 + 1], opened[1][SEARCHES // 2]
        for each in begun:
            each.begin(project)
        for each in begun:
            each.wait_until_begun()
        assert not is_refused(two, project)
        last.begin(project)
        last.wait_until_begun()
        assert is_refused(one, project)
        assert is_refused(two, project)
        for each in (begun[0], last):  # one of each process: a refused client may have connected to the other one
            each.close()
        wait_until(lambda: not is_refused(two, project))
        for each in spare:
            each.begin(project)
            each.wait_until_begun()
        assert is_refused(two, project)
        kill(server, 1)
        with client_of(server, 1) as again:
            assert not is_refused(again, project)


def test_each_process_is_restarted_when_it_is_killed_and_nothing_is_lost(server: Server, project: int) -> None:
    for number in (_WORKER, 2, _WORKER):
        with server.client() as client:
            document = save(client, project, f"A crane after process {number} 仙鹤")
        kill(server, number)
        for process in (1, 2):
            with client_of(server, process) as client:
                wait_until(lambda client=client, document=document: finds(client, project, "仙鹤", document))  # type: ignore[misc]
                assert client.get("/readyz").status_code == 200


def test_a_stop_signal_ends_all_processes(server: Server) -> None:
    for number in (1, 2):
        with client_of(server, number) as client:  # it has started
            assert client.get("/readyz").status_code == 200
    assert server.stop() == 0
    text = "".join(server.output)
    assert text.count("Findspot has stopped.") == 1
    assert text.count("/?token=") == 1
    assert not [line for line in text.splitlines() if line.startswith("{") and json.loads(line)["level"] == "error"]
