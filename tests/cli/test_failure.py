"""Failures: a sentence on standard error, an exit code that means something, JSON when asked for."""

import http.server
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from findspot.errors import KINDS
from findspot.surfaces.cli.failure import EXIT_CODES, Failure
from tests.cli.command import Outcome, findspot
from tests.servers import Server

Command = Callable[..., Outcome]


@pytest.fixture
def filled(alone: Command) -> Command:
    """A data folder with project 1 and table 1 in it."""
    assert alone("project", "create", "p").code == 0
    assert alone("table", "create", "1", "t", '{"a": 1}').code == 0
    return alone


@pytest.mark.parametrize(
    ("line", "exit_code", "code", "said"),
    [
        ("table get 99", 3, "NOT_FOUND", "no such table"),
        ("table get 1 /b", 3, "NOT_FOUND", "pointer leads nowhere"),
        ("project status 99", 3, "NOT_FOUND", "no such project"),
        ("key revoke 1 99", 3, "NOT_FOUND", "no such key"),
        ("project delete 99 --yes", 3, "NOT_FOUND", "no such project"),
        ("project list --key wrong", 4, "UNAUTHORIZED", "valid key"),
        ("project list --key ключ", 4, "FAILED", "not a key"),
        ("table set 1 /a 2 --if-revision 9", 5, "PRECONDITION_FAILED", "revision 1"),
        ('table patch 1 [{"op":"remove","path":"/b"}]', 5, "PATCH_CONFLICT", "/b"),
        ("table set 1 /a {bad", 2, "INVALID_ARGUMENT", "JSON is not valid"),
        ("table create 1 t @nowhere.json", 2, "INVALID_ARGUMENT", "nowhere.json cannot be read"),
        ("table patch 1 {}", 2, "INVALID_ARGUMENT", ""),
        ("table get 1 a/b", 2, "INVALID_ARGUMENT", "json_pointer"),
        ("project status one", 2, "INVALID_ARGUMENT", "'one' is not a valid integer"),
        ("project delete 1", 2, "INVALID_ARGUMENT", "cannot be undone"),
        ("project list --url localhost:8321", 2, "INVALID_ARGUMENT", "must start with http://"),
        ("project list --what", 2, "INVALID_ARGUMENT", "--what"),
        ("project list --url http://127.0.0.1:1", 7, "UNREACHABLE", "http://127.0.0.1:1 does not answer"),
    ],
)
def test_a_failure_has_its_exit_code_and_goes_to_standard_error(
    filled: Command, line: str, exit_code: int, code: str, said: str
) -> None:
    for_people, for_machines = filled(*line.split()), filled(*line.split(), "--json")
    assert (for_people.code, for_people.out) == (exit_code, "")
    assert for_people.err.startswith("✗ ")
    assert said in for_people.err
    assert (for_machines.code, for_machines.out) == (exit_code, "")
    assert for_machines.error["code"] == code
    assert said in for_machines.error["message"]
    assert filled("table", "get", "1", "--json").json["revision"] == 1


@pytest.mark.parametrize(
    ("line", "list"),
    [
        ("search x --project 99", "project list"),
        ("project status 99", "project list"),
        ("document create 99 t x", "project list"),
        ("table get 99", "table list PROJECT"),
        ("document get 99", "document list PROJECT"),
        ("version diff 99 1", "document list PROJECT"),
        ("tool call 99", "tool list PROJECT"),
        ("endpoint tools 99", "endpoint list PROJECT"),
        ("key revoke 1 99", "key list PROJECT"),
    ],
)
def test_what_is_not_there_is_answered_by_where_to_look(filled: Command, line: str, list: str) -> None:
    sentence, advice = filled(*line.split()).err.splitlines()
    assert sentence.startswith("✗ There is no such ")
    assert advice == f"  'findspot {list}' lists what exists."


def test_a_role_that_is_too_low_ends_with_4(filled: Command) -> None:
    key = filled("key", "create", "1", "reader", "--json").json["key"]
    ended = filled("table", "set", "1", "/a", "2", "--key", key)
    assert (ended.code, ended.out) == (4, "")
    assert "role 'write'" in ended.err


def test_too_large_a_value_ends_with_6(filled: Command) -> None:
    ended = filled("table", "set", "1", "", "-", input="[" + "1," * 5000 + "1]", FINDSPOT_MAX_BODY="5000")
    assert (ended.code, ended.out) == (6, "")
    assert "over the limit" in ended.err


def test_every_exit_code_that_is_used_has_a_meaning() -> None:
    for kind in KINDS.values():
        assert Failure.from_response(kind.status, {"code": kind.code, "message": "…"}).exit_code in EXIT_CODES


def test_a_setting_that_is_wrong_is_named_with_all_others_that_are(alone: Command) -> None:
    ended = alone("project", "list", FINDSPOT_PORT="abc", SEARCH_MAX_TOP_K="0")
    assert ended.code == 2
    assert "FINDSPOT_PORT: " in ended.err
    assert "SEARCH_MAX_TOP_K: " in ended.err
    assert "docs/settings.md" in ended.err


def test_a_data_folder_that_cannot_be_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        ended = findspot("project", "list", "--data", str(folder))
        assert (ended.code, ended.out) == (7, "")
        assert f"The data folder {folder} cannot be used: " in ended.err


def test_a_token_file_without_a_token_is_named(tmp_path: Path) -> None:
    (tmp_path / "owner-token").touch()
    ended = findspot("project", "list", "--data", str(tmp_path))
    assert ended.code == 7
    assert f"{tmp_path / 'owner-token'} is empty" in ended.err


def test_a_damaged_database_is_named_and_the_doctor_recommended(alone: Command, tmp_path: Path) -> None:
    assert alone("project", "create", "p").code == 0
    (tmp_path / "data" / "findspot.db").write_bytes(b"no database at all " * 1000)
    ended = alone("project", "list")
    assert (ended.code, ended.out) == (7, "")
    assert "findspot doctor" in ended.err


@pytest.fixture
def stranger() -> Iterator[str]:
    """A web server that is not Findspot."""

    class Page(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(302 if self.path.startswith("/moved") else 200)
            self.end_headers()
            self.wfile.write(b"<html>Welcome!</html>")

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("path", ["", "/moved"])
def test_a_server_that_is_not_findspot_is_recognised(stranger: str, path: str) -> None:
    ended = findspot("project", "list", "--url", stranger + path, "--key", "k")
    assert (ended.code, ended.out) == (7, "")
    assert "is not Findspot" in ended.err


def test_a_server_that_hangs_up_is_unreachable() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def hang_up() -> None:
            connection, _ = listening.accept()
            connection.recv(1)
            connection.close()

        threading.Thread(target=hang_up, daemon=True).start()
        ended = findspot("project", "list", "--url", f"http://127.0.0.1:{listening.getsockname()[1]}")
    assert ended.code == 7
    assert "does not answer" in ended.err


def test_a_server_with_another_owners_token_says_what_it_wants(
    start_server: Callable[..., Server], tmp_path: Path
) -> None:
    start_server(data=tmp_path / "data", FINDSPOT_TOKEN="a-token-of-its-own")
    ended = findspot("project", "list", "--data", str(tmp_path / "data"))
    assert ended.code == 4
    assert "FINDSPOT_TOKEN" in ended.err
    assert findspot("project", "list", "--data", str(tmp_path / "data"), FINDSPOT_TOKEN="a-token-of-its-own").code == 0
