"""The supervisor and the API process: what happens when either is killed or stopped."""

import contextlib
import http.client
import itertools
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx2
import pytest

from findspot.runtime.data_folder import DataFolder, FolderInUse
from tests.cli.command import Terminal, findspot
from tests.servers import Server, lasting_port, serving_under

Start = Callable[..., Server]
_END_S = 120
_SENTENCE = "The server was killed by {}. Restarting it"


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _END_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def ended(server: Server) -> int:
    """Return the exit code after both processes have ended, when no process has the output open any more."""
    code = server.process.wait(_END_S)
    assert server.reader
    server.reader.join(_END_S)
    assert not server.reader.is_alive()
    return code


def printed(server: Server, text: str) -> int:
    return sum(text in line for line in server.output)


@contextlib.contextmanager
def writing(server: Server, table: int) -> Iterator[list[int]]:
    """Write one number after another and yield the list of acknowledged ones.

    Writing ends when the connection breaks, or after the next write if the server was killed between two writes.
    """
    acknowledged: list[int] = []
    enough = threading.Event()

    def write() -> None:
        with server.client() as client, contextlib.suppress(httpx2.TransportError):
            for number in itertools.count():
                answer = client.put(f"/api/v1/tables/{table}/data", json=number)
                assert answer.status_code == 200
                acknowledged.append(number)
                if enough.is_set():
                    return

    thread = threading.Thread(target=write)
    thread.start()
    wait_until(lambda: len(acknowledged) > 2)
    yield acknowledged
    enough.set()
    thread.join(_END_S)
    assert not thread.is_alive()


def new_table(server: Server) -> int:
    with server.client() as client:
        project = client.post("/api/v1/projects", json={"name": "p"}).json()["id"]
        table: int = client.post(f"/api/v1/projects/{project}/tables", json={"name": "t", "data": -1}).json()["id"]
    return table


def test_a_killed_api_process_is_restarted_and_has_lost_nothing(start_server: Start) -> None:
    server = start_server()
    table, before = new_table(server), server.serving
    with writing(server, table) as acknowledged:
        os.kill(before, signal.SIGBUS)
    with server.client() as client:
        held = client.get(f"/api/v1/tables/{table}").json()["data"]
    assert held in (acknowledged[-1], acknowledged[-1] + 1)
    assert server.serving != before
    assert server.stop() == 0
    assert printed(server, _SENTENCE.format("SIGBUS")) == 1
    assert printed(server, "/?token=") == printed(server, "Findspot has stopped.") == 1


def test_an_api_process_killed_during_its_start_is_restarted_and_prints_the_address(tmp_path: Path) -> None:
    with starting(tmp_path / "data") as process:
        os.kill(next_serving(process, None), signal.SIGKILL)
        assert process.stdout
        lines = iter(process.stdout.readline, "")
        assert _SENTENCE.format("SIGKILL") in next(lines)
        link = next(found for line in lines if (found := re.search(r"http://\S+(?=/\?token=)", line)))
        assert httpx2.get(f"{link[0]}/healthz", trust_env=False).status_code == 200
        process.terminate()
        assert process.wait(_END_S) == 0


def test_the_data_folder_stays_locked_during_a_restart(start_server: Start, tmp_path: Path) -> None:
    server = start_server(data=tmp_path / "data")
    first = server.serving
    os.kill(first, signal.SIGKILL)
    with pytest.raises(FolderInUse, match=f"process {server.process.pid}.*{server.url}"):
        DataFolder(tmp_path / "data").claim()
    refused = findspot("serve", "--port", "0", "--data", str(tmp_path / "data"))
    assert (refused.code, refused.out) == (7, "")
    assert f"is in use by another Findspot (process {server.process.pid}) at {server.url}" in refused.err
    os.kill(next_serving(server.process, first), signal.SIGKILL)
    assert findspot("project", "create", "p", "--data", str(tmp_path / "data")).code == 0  # waits for the server
    with server.client() as client:
        assert [project["name"] for project in client.get("/api/v1/projects").json()["projects"]] == ["p"]


def test_the_api_process_ends_with_a_killed_supervisor_and_a_new_server_can_start(
    start_server: Start, tmp_path: Path
) -> None:
    port = lasting_port()
    server = start_server("--port", port, data=tmp_path / "data")
    table = new_table(server)
    with writing(server, table) as acknowledged:
        server.process.kill()
        server.process.wait(_END_S)
        again = start_server("--port", port, data=tmp_path / "data")
    assert ended(server) == -signal.SIGKILL
    with again.client() as client:
        assert client.get(f"/api/v1/tables/{table}").json()["data"] in (acknowledged[-1], acknowledged[-1] + 1)


_WITHOUT_PDEATHSIG = """
import os, signal, socket, sys
sys.platform = "another"
from findspot.server.supervisor import SupervisorLink
ours, theirs = socket.socketpair()
if os.fork():
    theirs.close()
else:
    ours.close()
    link = SupervisorLink(theirs, 1, has_started=False)
    print("serving", flush=True)
signal.pause()
"""


def test_the_api_process_ends_with_its_supervisor_on_every_platform() -> None:
    command = [sys.executable, "-c", _WITHOUT_PDEATHSIG]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdout.readline() == "serving\n"
        process.kill()
        assert process.stdout.read() == ""  # ends only when both processes have ended


@pytest.mark.parametrize("whole_group", [True, False])
def test_sigterm_ends_both_whether_the_group_or_the_api_process_gets_it(start_server: Start, whole_group: bool) -> None:
    server = start_server()
    if whole_group:
        os.killpg(server.process.pid, signal.SIGTERM)
    else:
        os.kill(server.serving, signal.SIGTERM)
    assert ended(server) == 0
    assert server.output[-1] == "Findspot has stopped.\n"
    assert printed(server, "Findspot has stopped.") == 1
    assert printed(server, "killed") == 0


_STARTING = """
import signal, socket
from findspot.server.supervisor import Supervisor
link = Supervisor({1: "The server"}, [socket.socket()]).run()
print("starting", flush=True)
while True:
    signal.pause()
"""


def test_sigterm_ends_a_process_that_is_still_starting() -> None:
    process = subprocess.Popen([sys.executable, "-c", _STARTING], stdout=subprocess.PIPE, text=True)
    assert process.stdout
    assert process.stdout.readline() == "starting\n"
    process.terminate()
    output, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    assert output.strip() == "Findspot has stopped."


def test_sigterm_during_a_restart_ends_the_server(start_server: Start) -> None:
    server = start_server()
    killed = server.serving
    os.kill(killed, signal.SIGKILL)
    next_serving(server.process, killed)
    server.process.terminate()
    assert ended(server) == 0  # whether or not the new process handles signals yet
    assert server.output[-1] == "Findspot has stopped.\n"
    assert printed(server, "Traceback") == 0


def test_after_five_deaths_within_30_seconds_the_supervisor_gives_up(tmp_path: Path) -> None:
    with starting(tmp_path / "data") as process:
        killed: int | None = None
        for _ in range(5):
            killed = next_serving(process, killed)
            os.kill(killed, signal.SIGBUS)
        output, _ = process.communicate(timeout=_END_S)
        assert process.returncode == 7
    assert output.count(_SENTENCE.format("SIGBUS")) == 4
    assert "The server was killed by SIGBUS, for the 5th time within 30 seconds." in " ".join(output.split())
    assert "findspot doctor" in output
    assert "Traceback" not in output


def test_ctrl_c_lets_a_running_request_finish(tmp_path: Path) -> None:
    with Terminal.running("serve", "--port", "0", "--data", str(tmp_path / "data")) as terminal:
        with half_a_request(terminal) as (connection, rest):
            terminal.type("\x03")
            until_refused(connection)
            connection.sendall(rest)
            assert status(connection) == 201
        assert terminal.end() == 0
        assert terminal.text.count("Findspot has stopped.") == 1
        assert "Traceback" not in terminal.text


def test_a_second_ctrl_c_does_not_wait_for_requests(tmp_path: Path) -> None:
    with Terminal.running("serve", "--port", "0", "--data", str(tmp_path / "data")) as terminal:
        with half_a_request(terminal) as (connection, _):
            terminal.type("\x03")
            until_refused(connection)
            terminal.type("\x03")
            assert terminal.end() == 0
        assert "timeout graceful shutdown exceeded" not in terminal.text


def test_the_supervisor_imports_nothing_that_only_the_api_process_needs(tmp_path: Path) -> None:
    loaded = subprocess.run(
        [sys.executable, "-c", _PRINT_MODULES, str(tmp_path / "data")], capture_output=True, text=True, check=True
    )
    heavy = {"fastapi", "starlette", "uvicorn", "uvloop", "sqlalchemy", "httpx2", "numpy", "litellm", "tokenizers"}
    assert heavy.isdisjoint(loaded.stdout.split())


_PRINT_MODULES = """
import sys
from findspot.server import supervisor
from findspot.surfaces.cli import main
def run(self):
    print(*sys.modules)
    raise SystemExit
supervisor.Supervisor.run = run
main.run(["serve", "--port", "0", "--data", sys.argv[1]])
"""


@contextlib.contextmanager
def starting(data: Path) -> "Iterator[subprocess.Popen[str]]":
    """Start `findspot serve` and do not wait until it is ready."""
    command = [sys.executable, "-m", "findspot", "serve", "--port", "0", "--data", str(data)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def next_serving(process: "subprocess.Popen[str]", before: int | None) -> int:
    """Return the API process that follows `before`."""
    deadline = time.monotonic() + _END_S
    while (serving := serving_under(process)) in (None, before):
        assert time.monotonic() < deadline
        time.sleep(0.005)
    assert serving
    return serving


@contextlib.contextmanager
def half_a_request(terminal: Terminal) -> Iterator[tuple[socket.socket, bytes]]:
    """Send half of a request, and yield the connection and the rest of the request."""
    terminal.until("Ctrl-C stops it.")
    found = re.search(r"http://127.0.0.1:(\d+)/\?token=(\S+)", terminal.text)
    assert found
    body = b'{"name": "half"}'
    head = (
        f"POST /api/v1/projects HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {found[2]}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\nExpect: 100-continue\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", int(found[1])), timeout=_END_S) as connection:
        connection.sendall(head.encode())
        assert b" 100 " in connection.recv(1000)
        connection.sendall(body[:5])
        yield connection, body[5:]


def status(connection: socket.socket) -> int:
    with contextlib.closing(http.client.HTTPResponse(connection)) as response:
        response.begin()
        return response.status


def until_refused(connection: socket.socket) -> None:
    """Wait until the server accepts no more connections: it is shutting down."""
    address = connection.getpeername()

    def refused() -> bool:
        with socket.socket() as another:
            another.settimeout(_END_S)
            return another.connect_ex(address) != 0

    wait_until(refused)
