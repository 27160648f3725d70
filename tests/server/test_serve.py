"""`findspot serve`: how it starts, what it refuses, how it ends."""

import json
import re
import signal
import socket
import time
from collections.abc import Callable
from pathlib import Path

import httpx2
import pytest

from findspot.server.serving import uvicorn_options
from tests.cli.command import findspot, findspot_process
from tests.servers import Server

Start = Callable[..., Server]
_END_S = 10


def ends_well(server: Server, by: signal.Signals = signal.SIGTERM) -> None:
    server.process.send_signal(by)
    assert server.process.wait(timeout=_END_S) == 0
    deadline = time.monotonic() + _END_S
    while "Findspot has stopped.\n" not in server.output and time.monotonic() < deadline:
        time.sleep(0.01)  # the process is gone; the reader of its output may still be at the last lines
    assert server.output[-1] == "Findspot has stopped.\n"
    assert "Traceback" not in "".join(server.output)


def test_it_prints_a_link_that_signs_in_and_the_first_start_keeps_the_token_for_the_next(
    start_server: Start, tmp_path: Path
) -> None:
    data = tmp_path / "data"
    first = start_server(data=data)
    assert httpx2.get(f"{first.url}/healthz", trust_env=False).json()["status"] == "ok"
    signed_in = httpx2.get(f"{first.url}/?token={first.token}", trust_env=False)
    assert (signed_in.status_code, len(signed_in.cookies)) == (303, 1)
    file = data / "owner-token"
    assert file.stat().st_mode & 0o777 == 0o600
    assert data.stat().st_mode & 0o777 == 0o700
    assert file.read_text().strip() == first.token
    with first.client() as idle:  # a connection that is kept open does not hold it up
        idle.get("/healthz")
        ends_well(first)
    again = start_server(data=data)
    assert again.token == first.token
    ends_well(again, signal.SIGINT)


def test_a_token_from_the_environment_wins_and_stands_in_no_log(start_server: Start, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "owner-token").write_text("fsk_of_the_file\n")
    server = start_server(data=tmp_path / "data", FINDSPOT_TOKEN="fsk_of_the_environment")
    assert server.token == "fsk_of_the_environment"
    with server.client() as client:
        assert client.get("/api/v1/projects").status_code == 200
    with server.client("fsk_of_the_file") as client:
        assert client.get("/api/v1/projects").status_code == 401
    assert (tmp_path / "data" / "owner-token").read_text() == "fsk_of_the_file\n"
    ends_well(server)
    assert sum("fsk_of_the_environment" in line for line in server.output) == 1  # the link itself


def test_a_second_server_on_the_same_folder_is_refused(served: tuple[Server, Path]) -> None:
    server, folder = served
    for port in ("0", server.url.rpartition(":")[2]):
        ended = findspot("serve", "--port", port, "--data", str(folder))
        assert (ended.code, ended.out) == (7, "")
        assert f"The data folder {folder} is in use by another Findspot" in ended.err
        assert server.url in ended.err


def test_several_processes_over_the_embedded_engine_are_refused(tmp_path: Path) -> None:
    for more in ({}, {"FINDSPOT_DATABASE_URL": "postgresql://x"}, {"FINDSPOT_ENGINE": "turbopuffer"}):
        ended = findspot("serve", "--workers", "2", "--data", str(tmp_path / "data"), **more)
        assert (ended.code, ended.out) == (2, "")
        assert "the embedded engine and SQLite belong to one serving process" in ended.err
    assert not (tmp_path / "data").exists()


def test_a_port_in_use_is_refused_with_advice(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ended = findspot("serve", "--port", str(port), "--data", str(tmp_path / "data"))
    assert (ended.code, ended.out) == (7, "")
    assert f"Cannot listen on 127.0.0.1:{port}: Address already in use." in ended.err
    assert "--port 0" in ended.err


def test_an_address_that_is_not_here_is_refused(tmp_path: Path) -> None:
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
def test_a_bad_setting_is_named(environment: dict[str, str], arguments: list[str], named: str) -> None:
    ended = findspot("serve", *arguments, **environment)
    assert (ended.code, ended.out) == (2, "")
    assert named in ended.err
    assert "secret" not in ended.err


def test_a_postgresql_that_does_not_answer_is_told_at_the_start(tmp_path: Path) -> None:
    address = "postgresql://me:s3cret@127.0.0.1:1/findspot"
    for more in ((), ("--workers", "2")):
        ended = findspot_process(
            "serve", "--port", "0", "--data", str(tmp_path / "data"), *more,
            FINDSPOT_DATABASE_URL=address, FINDSPOT_ENGINE="turbopuffer", TURBOPUFFER_API_KEY="k",
            TURBOPUFFER_BASE_URL="http://127.0.0.1:1",
        )  # fmt: skip
        assert ended.code == 7
        assert "findspot doctor" in ended.err
        assert "s3cret" not in ended.out + ended.err
        assert "Traceback" not in ended.err


def test_two_processes_over_shared_services_answer_with_one_token_and_end_together(
    start_server: Start, new_postgres_database: Callable[[], str]
) -> None:
    server = start_server(
        "--workers", "2", FINDSPOT_DATABASE_URL=new_postgres_database(), FINDSPOT_ENGINE="turbopuffer",
        TURBOPUFFER_API_KEY="k", TURBOPUFFER_BASE_URL="http://127.0.0.1:1",
    )  # fmt: skip
    with server.client() as client:
        assert client.post("/api/v1/projects", json={"name": "shared"}).status_code == 201
    sent, deadline = 0, time.monotonic() + 60
    while True:  # each process counts its own, so the counts fall short once a second one has answered
        with server.client() as client:
            assert client.get("/api/v1/projects").json()["projects"][0]["name"] == "shared"
            sent += 1
            metrics = client.get("/metrics").text
        counted = re.search(r'requests_total\{method="GET",route="/api/v1/projects",status="200"\} (\d+)', metrics)
        if counted is None or int(counted[1]) < sent:
            break
        assert time.monotonic() < deadline, "only one process ever answered"
    ends_well(server)


def test_serving_processes_do_not_outlive_the_one_that_started_them(
    start_server: Start, new_postgres_database: Callable[[], str]
) -> None:
    settings = {
        "FINDSPOT_DATABASE_URL": new_postgres_database(), "FINDSPOT_ENGINE": "turbopuffer",
        "TURBOPUFFER_API_KEY": "k", "TURBOPUFFER_BASE_URL": "http://127.0.0.1:1",
    }  # fmt: skip
    server = start_server("--workers", "2", **settings)
    with server.client() as client:
        assert client.get("/healthz").status_code == 200  # one of them is up
    server.process.kill()
    assert server.reader
    server.reader.join(60)
    assert not server.reader.is_alive()  # no process has its output open any more
    start_server("--workers", "2", "--port", server.url.rpartition(":")[2], **settings)


def test_log_lines_of_a_server_are_json_with_the_requests_id(start_server: Start) -> None:
    server = start_server()
    with server.client() as client:
        client.get("/healthz", headers={"X-Request-Id": "mine"})
    ends_well(server)
    (line,) = [json.loads(line) for line in server.output if line.startswith("{")]
    assert (line["route"], line["request_id"]) == ("/healthz", "mine")


def test_a_connection_at_rest_is_kept_for_longer_than_clients_keep_theirs() -> None:
    """If both hung up after the same time, a call in that moment would meet a closed door."""
    theirs = httpx2.Limits().keepalive_expiry
    assert theirs is not None
    assert uvicorn_options()["timeout_keep_alive"] > 2 * theirs
