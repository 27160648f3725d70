"""Client connections: idle ones must not take the file descriptors that the engine and the database need."""

import contextlib
import socket
from collections.abc import Callable

import httpx2

from tests.archives import zip_of
from tests.servers import Server

_OPEN_FILES = 256
_WAIT_S = 120


def test_search_and_import_work_while_hundreds_of_idle_connections_are_open(
    start_server: Callable[..., Server],
) -> None:
    server = start_server(open_files=_OPEN_FILES)
    with contextlib.ExitStack() as closing, server.client() as owner:
        project = owner.post("/api/v1/projects", json={"name": "p"}).json()["id"]
        idle = [closing.enter_context(_connect(server)) for _ in range(2 * _OPEN_FILES)]
        half = [closing.enter_context(_connect(server)) for _ in range(20)]
        for connection in half:  # requests whose headers never end count as idle, too
            with contextlib.suppress(OSError):
                connection.sendall(b"GET / HTTP/1.1\r\n")
        files = {f"{number}.md": f"# Note {number}\n\nThe lighthouse keeper.".encode() for number in range(30)}
        imported = owner.post(f"/api/v1/projects/{project}/import", content=zip_of(files))
        assert imported.status_code == 200
        assert '"created":30' in imported.text.splitlines()[-1].replace(" ", "")
        assert _search(server, project) == 200
        assert _is_closed(idle[0])  # the longest idle connection is the first to go
        assert not _is_closed(half[-1])
    assert server.stop() == 0
    assert sum("the longest idle ones are closed" in line for line in server.output) == 1
    assert "Traceback" not in "".join(server.output)


def test_a_connection_above_the_limit_of_its_address_is_refused_if_all_are_busy(
    start_server: Callable[..., Server],
) -> None:
    server = start_server(FINDSPOT_MAX_CONNECTIONS_PER_ADDRESS=20)
    head = (
        f"POST /api/v1/projects HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {server.token}\r\n"
        "Content-Type: application/json\r\nContent-Length: 14\r\nExpect: 100-continue\r\n\r\n"
    )
    with contextlib.ExitStack() as closing:
        busy = [closing.enter_context(_connect(server)) for _ in range(20)]
        for connection in busy:
            connection.sendall(head.encode())
            assert b" 100 " in connection.recv(1000)
        refused = httpx2.get(f"{server.url}/healthz", trust_env=False, timeout=_WAIT_S)
        assert (refused.status_code, refused.headers["Retry-After"]) == (503, "1")
        assert refused.json()["code"] == "SERVER_BUSY"
        busy[0].sendall(b'{"name": "ok"}')
        assert b" 201 " in busy[0].recv(1000)  # this one is idle now and makes room
        assert httpx2.get(f"{server.url}/healthz", trust_env=False, timeout=_WAIT_S).status_code == 200


def _connect(server: Server) -> socket.socket:
    host, _, port = server.url.removeprefix("http://").rpartition(":")
    return socket.create_connection((host, int(port)), timeout=_WAIT_S)


def _is_closed(connection: socket.socket) -> bool:
    connection.setblocking(False)
    try:
        return connection.recv(1) == b""
    except BlockingIOError:
        return False
    except ConnectionResetError:
        return True


def _search(server: Server, project: int) -> int:
    with server.client() as owner:
        body = {"query": "keeper", "strategy": "fts"}
        return owner.post(f"/api/v1/projects/{project}/search/query/strategy", json=body).status_code
