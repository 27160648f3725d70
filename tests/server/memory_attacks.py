"""Requests that try to fill the memory of a real server, and the memory that its processes take meanwhile."""

import http.client
import json
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from urllib.parse import urlsplit

from tests.servers import Server

MiB = 1024 * 1024
_EVERY_S = 0.05
_SETTLED_S, _NEAR = 20, 20 * MiB  # memory is given back a moment after the last request


def processes_under(process_id: int) -> Iterator[int]:
    """Yield a process and all processes that it and its threads started."""
    yield process_id
    for listed in Path(f"/proc/{process_id}/task").glob("*/children"):
        for child in listed.read_text().split():
            yield from processes_under(int(child))


def memory_of(server: Server) -> int:
    """Return the memory of the server and its helpers in bytes. Shared pages count once (PSS)."""
    total = 0
    for each in processes_under(server.process.pid):
        try:
            text = Path(f"/proc/{each}/smaps_rollup").read_text()
        except OSError:  # it has just ended
            continue
        total += next(int(line.split()[1]) for line in text.splitlines() if line.startswith("Pss:")) * 1024
    return total


class Peak:
    """Measures the memory of a server while the block runs. `most` is the highest value in bytes."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._measure, daemon=True)
        self.most = 0

    def _measure(self) -> None:
        while not self._over.wait(_EVERY_S):
            try:
                self.most = max(self.most, memory_of(self._server))
            except OSError:  # a process ended between two steps
                continue

    def __enter__(self) -> "Peak":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()


@dataclass(frozen=True)
class Measured:
    """The memory of a server in bytes before, during and after an attack, and how its requests were answered."""

    before: int
    most: int
    after: int
    answers: dict[str, int]
    seconds: float

    def __str__(self) -> str:
        numbers = ", ".join(f"{name} {getattr(self, name) / MiB:,.0f} MiB" for name in ("before", "most", "after"))
        return f"{numbers}, {self.seconds:.1f} s, answers {self.answers}"


def measure(server: Server, attack: Callable[[], Counter[str]]) -> Measured:
    """Run an attack. Then wait until the memory is about as before, but not for long."""
    before, began = memory_of(server), time.monotonic()
    with Peak(server) as peak:
        answers = attack()
    seconds, deadline = time.monotonic() - began, time.monotonic() + _SETTLED_S
    while (after := memory_of(server)) > before + _NEAR and time.monotonic() < deadline:
        time.sleep(_EVERY_S)
    return Measured(before, peak.most, after, dict(answers), seconds)


def create_table(server: Server, project: int, data: bytes) -> int:
    with server.client() as client:
        answer = client.post(f"/api/v1/projects/{project}/tables", content=b'{"name":"large","data":' + data + b"}")
        answer.raise_for_status()
        return int(answer.json()["id"])


def create_tool(server: Server, project: int, table: int, type: str) -> int:
    tool = {"project_id": project, "table_id": table, "type": type, "name": type, "json_pointer": ""}
    with server.client() as client:
        answer = client.post("/api/v1/tools", json=tool)
        answer.raise_for_status()
        return int(answer.json()["tool_id"])


def parallel_bodies(server: Server, project: int, count: int, size: int) -> Counter[str]:
    """Send so many bodies of so many bytes at the same time, each as a new table."""
    head = b'{"name":"large","data":["'
    body = head + b"x" * (size - len(head) - 3) + b'"]}'

    def send(_: int) -> str:
        connection = _connect(server)
        try:
            connection.request("POST", f"/api/v1/projects/{project}/tables", body, _headers(server))
            return _outcome(connection.getresponse())
        except OSError as error:
            return type(error).__name__
        finally:
            connection.close()

    with ThreadPoolExecutor(count) as threads:
        return Counter(threads.map(send, range(count)))


def unread_answers(server: Server, path: str, count: int, ended: Callable[[int], bool]) -> Counter[str]:
    """Ask for an answer on so many connections and read nothing, until `ended` of the number still open."""
    address = urlsplit(server.url)
    request = f"GET {path} HTTP/1.1\r\nHost: {address.netloc}\r\n"
    request += f"Authorization: Bearer {server.token}\r\nConnection: close\r\n\r\n"
    connections = []
    for _ in range(count):
        connection = socket.socket()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 * 1024)
        connection.connect((address.hostname or "", address.port or 0))
        connection.sendall(request.encode())
        connections.append(connection)
    while not ended(sum(map(_is_open, connections))):
        time.sleep(_EVERY_S)
    answers = Counter(_first_line(each) for each in connections)
    for connection in connections:
        connection.close()
    return answers


def _is_open(connection: socket.socket) -> bool:
    """Return whether the server has neither closed nor reset a connection whose answer is not read."""
    state = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0]
    return state == 1  # TCP_ESTABLISHED


def _first_line(connection: socket.socket) -> str:
    connection.settimeout(1)
    try:
        return connection.recv(64).split(b"\r\n")[0].decode()[9:12] or "closed"
    except ConnectionResetError:
        return "reset"
    except TimeoutError:
        return "nothing"


def _connect(server: Server) -> http.client.HTTPConnection:
    return http.client.HTTPConnection(urlsplit(server.url).netloc, timeout=120)


def _headers(server: Server) -> dict[str, str]:
    return {"Authorization": f"Bearer {server.token}", "Content-Type": "application/json"}


def _outcome(answer: http.client.HTTPResponse) -> str:
    body = answer.read()
    return str(answer.status) if answer.status < 400 else f"{answer.status} {json.loads(body)['code']}"
