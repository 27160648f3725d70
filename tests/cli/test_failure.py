"""Failures: a message on standard error, an exit code, and JSON with --json."""

import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from findspot.errors import KINDS
from findspot.surfaces.cli.failure import EXIT_CODES, Failure
from tests.cli.command import Outcome, findspot
from tests.servers import Server
from tests.web_servers import Handler, serving

Command = Callable[..., Outcome]


@dataclass(frozen=True, slots=True)
class Filled:
    """A project and a table of the shared server. A command line may contain {project} and {table}."""

    server: Server
    project: int
    table: int

    def __call__(self, line: str, *arguments: str, **options: str) -> Outcome:
        given = line.replace("{project}", str(self.project)).replace("{table}", str(self.table)).split()
        target = ("--url", self.server.url, "--key", self.server.token)
        return findspot(*given[:2], *target, *given[2:], *arguments, **options)  # a later '--key' replaces this one


@pytest.fixture(scope="module")
def filled(served: tuple[Server, Path]) -> Filled:
    server, _ = served
    with server.client() as owner:
        project = owner.post("/api/v1/projects", json={"name": "p"}).json()["id"]
        table = owner.post(f"/api/v1/projects/{project}/tables", json={"name": "t", "data": {"a": 1}}).json()["id"]
    return Filled(server, project, table)


@pytest.mark.parametrize(
    ("line", "exit_code", "code", "message"),
    [
        ("table get 999999", 3, "NOT_FOUND", "no such table"),
        ("table get {table} /b", 3, "NOT_FOUND", "pointer leads nowhere"),
        ("project status 999999", 3, "NOT_FOUND", "no such project"),
        ("key revoke {project} 999999", 3, "NOT_FOUND", "no such key"),
        ("project delete 999999 --yes", 3, "NOT_FOUND", "no such project"),
        ("project list --key wrong", 4, "UNAUTHORIZED", "valid key"),
        ("project list --key ключ", 4, "FAILED", "not a key"),
        ("table set {table} /a 2 --if-revision 9", 5, "PRECONDITION_FAILED", "revision 1"),
        ('table patch {table} [{"op":"remove","path":"/b"}]', 5, "PATCH_CONFLICT", "/b"),
        ("table set {table} /a {bad", 2, "INVALID_ARGUMENT", "JSON is not valid"),
        ("table create {project} t @nowhere.json", 2, "INVALID_ARGUMENT", "nowhere.json cannot be read"),
        ("table patch {table} {}", 2, "INVALID_ARGUMENT", ""),
        ("table get {table} a/b", 2, "INVALID_ARGUMENT", "json_pointer"),
        ("project status one", 3, "NOT_FOUND", "one"),
        ("project delete {project}", 2, "INVALID_ARGUMENT", "cannot be undone"),
        ("project list --url localhost:8321", 2, "INVALID_ARGUMENT", "must start with http://"),
        ("project list --what", 2, "INVALID_ARGUMENT", "--what"),
        ("project list --url http://127.0.0.1:1", 7, "UNREACHABLE", "http://127.0.0.1:1 does not answer"),
    ],
)
def test_a_failure_has_an_exit_code_and_a_message_on_standard_error(
    filled: Filled, line: str, exit_code: int, code: str, message: str
) -> None:
    for_people, for_programs = filled(line), filled(line, "--json")
    assert (for_people.code, for_people.out) == (exit_code, "")
    assert for_people.err.startswith("✗ ")
    assert message in for_people.err
    assert (for_programs.code, for_programs.out) == (exit_code, "")
    assert for_programs.error["code"] == code
    assert message in for_programs.error["message"]
    assert filled("table get {table}", "--json").json["revision"] == 1


@pytest.mark.parametrize(
    ("line", "list"),
    [
        ("search x --project 9999999999", "project list"),
        ("project status 999999", "project list"),
        ("document create 999999 t x", "project list"),
        ("table get 999999", "table list PROJECT"),
        ("document get 999999", "document list PROJECT"),
        ("version diff 999999 1", "document list PROJECT"),
        ("tool call 999999", "tool list PROJECT"),
        ("endpoint tools 999999", "endpoint list PROJECT"),
        ("key revoke {project} 999999", "key list PROJECT"),
    ],
)
def test_not_found_suggests_the_list_command(filled: Filled, line: str, list: str) -> None:
    sentence, advice = filled(line).err.splitlines()
    assert sentence.startswith("✗ There is no such ")
    assert advice == f"  'findspot {list}' lists the ones that exist."


@pytest.mark.parametrize(
    ("line", "field", "option"),
    [
        ("tool create {project} {table} 工具 --pointer /目录", "allow_missing", "set --allow-missing."),
        ("tool create {project} {table} t --pointer a", "json_pointer: ", "✗ --pointer: "),
        ('tool create {project} {table} t --config {"top_k":0}', "search_config.", "✗ --config."),
        ("search x --project {project} --since 2026-02-01 --before 2026-01-01", "updatedAfter", "later than --since"),
    ],
)
def test_people_read_the_options_of_the_command_and_programs_the_fields_of_the_api(
    filled: Filled, line: str, field: str, option: str
) -> None:
    for_people, for_programs = filled(line), filled(line, "--json")
    assert (for_people.code, for_programs.code) == (2, 2)
    assert option in for_people.err
    assert field not in for_people.err
    assert field in for_programs.error["message"]


def test_a_field_that_the_command_has_no_option_for_keeps_its_name(filled: Filled) -> None:
    assert "json_pointer: " in filled("table get {table} a/b").err


def test_a_role_that_is_too_low_ends_with_4(filled: Filled) -> None:
    key = filled("key create {project} reader", "--json").json["key"]
    ended = filled("table set {table} /a 2", "--key", key)
    assert (ended.code, ended.out) == (4, "")
    assert "role 'write'" in ended.err


def test_too_large_a_value_ends_with_6(alone: Command) -> None:
    assert alone("project", "create", "p").code == 0
    value = "[" + "1," * 5000 + "1]"
    ended = alone("table", "create", "1", "t", "-", input=value, FINDSPOT_MAX_BODY="5000")
    assert (ended.code, ended.out) == (6, "")
    assert "over the limit" in ended.err


def test_every_exit_code_is_documented() -> None:
    for kind in KINDS.values():
        assert Failure.from_response(kind.status, {"code": kind.code, "message": "…"}).exit_code in EXIT_CODES


def test_all_invalid_settings_are_named(alone: Command) -> None:
    ended = alone("project", "list", FINDSPOT_PORT="abc", SEARCH_MAX_TOP_K="0")
    assert ended.code == 2
    assert "FINDSPOT_PORT: must be a valid integer" in ended.err
    assert "SEARCH_MAX_TOP_K: " in ended.err
    assert "docs/settings.md" in ended.err


def test_an_impossible_data_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        ended = findspot("project", "list", "--data", str(folder))
        assert (ended.code, ended.out) == (7, "")
        assert f"The data folder {folder} cannot be used: " in ended.err


def test_an_empty_token_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "owner-token").touch()
    ended = findspot("project", "list", "--data", str(tmp_path))
    assert ended.code == 7
    assert f"{tmp_path / 'owner-token'} is empty" in ended.err


def test_a_damaged_database_suggests_the_doctor(alone: Command, tmp_path: Path) -> None:
    assert alone("project", "create", "p").code == 0
    (tmp_path / "data" / "findspot.db").write_bytes(b"no database at all " * 1000)
    ended = alone("project", "list")
    assert (ended.code, ended.out) == (7, "")
    assert "findspot doctor" in ended.err


@pytest.fixture
def other_server() -> Iterator[str]:
    """A web server that is not Findspot."""

    class Page(Handler):
        def do_GET(self) -> None:
            self.send_response(302 if self.path.startswith("/moved") else 200)
            self.end_headers()
            self.wfile.write(b"<html>Welcome!</html>")

    with serving(Page) as url:
        yield url


@pytest.mark.parametrize("path", ["", "/moved"])
def test_a_server_that_is_not_findspot_is_recognised(other_server: str, path: str) -> None:
    ended = findspot("project", "list", "--url", other_server + path, "--key", "k")
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


def test_a_wrong_token_names_the_setting_for_it(served: tuple[Server, Path]) -> None:
    ended = findspot("project", "list", "--data", str(served[1]), FINDSPOT_TOKEN="another-token")
    assert ended.code == 4
    assert "FINDSPOT_TOKEN" in ended.err
