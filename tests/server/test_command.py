"""`findspot serve`: how it starts, what it refuses, how it stops."""

import json
import signal
import socket
import time
from collections.abc import Callable
from pathlib import Path

import httpx2
import pytest

from findspot.server.api_process import uvicorn_options
from findspot.settings import Settings
from tests.cli.command import findspot, findspot_process
from tests.scrapes import processes
from tests.servers import Server, lasting_port

Start = Callable[..., Server]
_END_S = 120
_SHARED = {
    "FINDSPOT_ENGINE": "turbopuffer",
    "TURBOPUFFER_API_KEY": "k",
    "TURBOPUFFER_BASE_URL": "http://127.0.0.1:1",
}


def stop(server: Server, by: signal.Signals = signal.SIGTERM) -> None:
    """Send a signal and assert that the server stops cleanly."""
    server.process.send_signal(by)
    assert server.process.wait(timeout=_END_S) == 0
    assert server.reader
    server.reader.join(_END_S)
    assert server.output[-1] == "Findspot has stopped.\n"
    assert "Traceback" not in "".join(server.output)


def test_the_first_start_creates_a_token_that_signs_in_and_is_never_logged(start_server: Start, tmp_path: Path) -> None:
    data = tmp_path / "data"
    server = start_server(data=data)
    file = data / "owner-token"
    assert file.stat().st_mode & 0o777 == 0o600
    assert data.stat().st_mode & 0o777 == 0o700
    signed_in = httpx2.get(f"{server.url}/?token={server.token}", trust_env=False)
    assert (signed_in.status_code, len(signed_in.cookies)) == (303, 1)
    for port in ("0", server.url.rpartition(":")[2]):  # a second server on the same folder is refused
        refused = findspot("serve", "--port", port, "--data", str(data))
        assert (refused.code, refused.out) == (7, "")
        assert f"The data folder {data} is in use by another Findspot" in refused.err
        assert server.url in refused.err
    with server.client() as idle:  # an open connection does not delay the stop
        idle.get("/healthz", headers={"X-Request-Id": "mine"})
        stop(server, signal.SIGINT)
    (line,) = [json.loads(line) for line in server.output if '"/healthz"' in line]
    assert (line["route"], line["request_id"]) == ("/healthz", "mine")
    assert any(f"(the token is in {file})" in line for line in server.output)
    assert file.read_text().strip() not in "".join(server.output)


def test_a_token_from_the_environment_replaces_the_file_and_is_never_logged(
    start_server: Start, tmp_path: Path
) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "owner-token").write_text("fsk_of_the_file\n")
    server = start_server(data=tmp_path / "data", FINDSPOT_TOKEN="fsk_of_the_environment")
    with server.client("fsk_of_the_environment") as client:
        assert client.get("/api/v1/projects").status_code == 200
    with server.client("fsk_of_the_file") as client:
        assert client.get("/api/v1/projects").status_code == 401
    assert (tmp_path / "data" / "owner-token").read_text() == "fsk_of_the_file\n"
    stop(server)
    assert any("(the token is the value of FINDSPOT_TOKEN)" in line for line in server.output)
    assert "fsk_" not in "".join(server.output)


def test_a_second_server_on_a_database_is_refused_unless_it_takes_over(
    start_server: Start, tmp_path: Path, new_postgres_database: Callable[[], str]
) -> None:
    url = {"FINDSPOT_DATABASE_URL": new_postgres_database()}
    first, second = tmp_path / "first", tmp_path / "second"
    server = start_server(data=first, **url)
    for options in ((), ("--take-over",)):
        refused = findspot_process("serve", "--port", "0", "--data", str(second), *options, **url)
        assert (refused.code, refused.out) == (7, "")
        assert f"belongs to the data folder {first} on " in refused.err
        assert "a server is running there" in refused.err
    server.kill()
    start_server(data=first, **url).stop()  # a killed server starts again
    assert findspot_process("serve", "--port", "0", "--data", str(second), **url).code == 7
    start_server("--take-over", data=second, **url).stop()
    refused = findspot_process("serve", "--port", "0", "--data", str(first), **url)
    assert (refused.code, f"belongs to the data folder {second} on " in refused.err) == (7, True)


def test_a_server_without_an_index_worker_needs_shared_services(tmp_path: Path) -> None:
    for more in ({}, {"FINDSPOT_DATABASE_URL": "postgresql://x"}, {"FINDSPOT_ENGINE": "turbopuffer"}):
        ended = findspot("serve", "--no-worker", "--data", str(tmp_path / "data"), **more)
        assert (ended.code, ended.out) == (2, "")
        assert "no other server can index what is saved" in ended.err
    assert not (tmp_path / "data").exists()


def test_a_port_in_use_is_refused_with_advice(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ended = findspot("serve", "--port", str(port), "--data", str(tmp_path / "data"))
    assert (ended.code, ended.out) == (7, "")
    assert f"Cannot listen on 127.0.0.1:{port}: Address already in use." in ended.err
    assert "--port 0" in ended.err


def test_an_address_of_another_machine_is_refused(tmp_path: Path) -> None:
    ended = findspot("serve", "--host", "192.0.2.1", "--data", str(tmp_path / "data"))
    assert ended.code == 7
    assert "Cannot listen on 192.0.2.1:8321" in ended.err


@pytest.mark.parametrize(
    ("environment", "arguments", "named"),
    [
        ({"FINDSPOT_PORT": "eight"}, [], "FINDSPOT_PORT: "),
        ({}, ["--port", "70000"], "FINDSPOT_PORT: "),
        ({"FINDSPOT_ENGINE": "steam"}, [], "FINDSPOT_ENGINE: "),
        ({"FINDSPOT_DATABASE_URL": "mysql://me:secret@db"}, [], "FINDSPOT_DATABASE_URL: must start with postgresql://"),
        ({"SEARCH_DEFAULT_TOP_K": "30"}, [], "SEARCH_DEFAULT_TOP_K must not be above SEARCH_MAX_TOP_K."),
    ],
)
def test_an_invalid_setting_is_named(environment: dict[str, str], arguments: list[str], named: str) -> None:
    ended = findspot("serve", *arguments, **environment)
    assert (ended.code, ended.out) == (2, "")
    assert named in ended.err
    assert "secret" not in ended.err


def test_an_unknown_variable_is_named_at_start(start_server: Start) -> None:
    server = start_server(FINDSPOT_ENGIN="embedded", FINDSPOT_SOMETHING_ELSE="x")
    output = "".join(server.output)
    assert "FINDSPOT_ENGIN is not a setting and is ignored. Did you mean FINDSPOT_ENGINE?" in output
    assert "FINDSPOT_SOMETHING_ELSE is not a setting and is ignored. docs/settings.md" in output


def test_an_unreachable_postgresql_is_reported_at_start_without_its_password(tmp_path: Path) -> None:
    options = ("serve", "--port", "0", "--data", str(tmp_path / "data"))
    variables = _SHARED | {"FINDSPOT_DATABASE_URL": "postgresql://me:s3cret@127.0.0.1:1/findspot"}
    for more in ((), ("--workers", "2")):
        ended = findspot_process(*options, *more, **variables)
        assert ended.code == 7
        assert "findspot doctor" in ended.err
        assert "s3cret" not in ended.out + ended.err
        assert "Traceback" not in ended.err


def test_two_workers_share_the_work_and_end_with_their_parent(
    start_server: Start, new_postgres_database: Callable[[], str]
) -> None:
    settings = _SHARED | {"FINDSPOT_DATABASE_URL": new_postgres_database()}
    options = ("--workers", "2", "--port", lasting_port())
    server = start_server(*options, **settings)
    with server.client() as client:
        assert client.post("/api/v1/projects", json={"name": "shared"}).status_code == 201
    wait_for_both_workers(server)
    server.process.kill()
    assert server.reader
    server.reader.join(_END_S)
    assert not server.reader.is_alive()  # no process has its output open any more
    again = start_server(*options, **settings)
    with again.client() as client:
        assert client.get("/api/v1/projects").json()["projects"][0]["name"] == "shared"
    stop(again)


def wait_for_both_workers(server: Server) -> None:
    """Send requests until both processes have answered. A scrape of either one shows the figures of both."""
    deadline = time.monotonic() + _END_S
    while True:
        with server.client() as client:
            assert client.get("/api/v1/projects").json()["projects"][0]["name"] == "shared"
            metrics = client.get("/metrics").text
            running = client.get("/internal/processes").json()["processes"]
        if len(counted := processes(metrics, "findspot_http_requests_total")) == 2:
            assert counted == {each["id"] for each in running if each["role"] == "api"}
            assert {(each["role"], each["serves"]) for each in running} == {("api", server.url), ("worker", "index")}
            return
        assert time.monotonic() < deadline, "only one process ever answered"


def test_idle_connections_are_kept_longer_than_clients_keep_theirs() -> None:
    """With equal timeouts a client could send a request on a connection that the server is just closing."""
    theirs = httpx2.Limits().keepalive_expiry
    assert theirs is not None
    assert uvicorn_options(Settings())["timeout_keep_alive"] > 2 * theirs
