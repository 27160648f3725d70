"""`findspot doctor`: finds problems and prints what to do."""

import contextlib
import socket
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from findspot.runtime import descriptors
from tests.cli.command import Outcome, findspot
from tests.servers import Server

Command = Callable[..., Outcome]


@pytest.fixture
def used(alone: Command, tmp_path: Path) -> Path:
    """A data folder with a project and a table."""
    assert alone("project", "create", "p").code == 0
    assert alone("table", "create", "1", "t", "-", input='["' + "text " * 100_000 + '"]').code == 0
    return tmp_path / "data"


def finding(ended: Outcome, what: str) -> Any:
    (found,) = [each for each in ended.json["findings"] if each["what"] == what]
    return found


def states(ended: Outcome) -> set[str]:
    return {each["state"] for each in ended.json["findings"]}


def test_before_the_first_start_there_are_no_problems_and_nothing_is_created(alone: Command, tmp_path: Path) -> None:
    ended = alone("doctor")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.endswith("\nNo problems found.\n")
    assert "the first start creates it" in ended.out
    assert not (tmp_path / "data").exists()


def test_a_used_folder_has_no_problems(alone: Command, used: Path) -> None:
    ended = alone("doctor", "--json")
    assert (ended.code, ended.json["ok"]) == (0, True)
    assert states(ended) == {"ok", "note"}
    assert finding(ended, "database")["detail"].startswith("SQLite 3.")
    assert finding(ended, "data folder")["detail"] == str(used)
    assert alone("doctor").out.endswith("\nNo problems found.\n")


def test_a_running_server_is_found(served: tuple[Server, Path]) -> None:
    server, folder = served
    ended = findspot("doctor", "--json", "--data", str(folder))
    assert ended.code == 0
    assert finding(ended, "server")["detail"] == f"running at {server.url} (process {server.process.pid})"


def test_a_folder_open_to_others_is_a_warning(alone: Command, used: Path) -> None:
    used.chmod(0o755)
    ended = alone("doctor", "--json")
    assert ended.code == 0
    found = finding(ended, "data folder")
    assert (found["state"], found["advice"]) == ("warn", f"Run: chmod 700 {used}")
    assert alone("doctor").out.endswith("\n1 warning found.\n")


def test_a_token_that_others_can_read_is_a_problem(alone: Command, used: Path) -> None:
    (used / "owner-token").chmod(0o644)
    ended = alone("doctor", "--json")
    assert (ended.code, ended.json["ok"]) == (1, False)
    found = finding(ended, "owner's token")
    assert found["state"] == "bad"
    assert f"chmod 600 {used / 'owner-token'}" in found["advice"]


def test_problems_and_warnings_are_counted(alone: Command, used: Path) -> None:
    used.chmod(0o755)
    (used / "owner-token").chmod(0o644)
    assert alone("doctor").out.endswith("\n1 problem and 1 warning found.\n")


def test_the_limit_on_open_files_is_reported(alone: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    found = finding(alone("doctor", "--json"), "open files")
    assert (found["state"], "for client connections" in found["detail"]) == ("ok", True)
    monkeypatch.setattr(descriptors, "current", lambda: descriptors.DescriptorLimit(256, 512))
    found = finding(alone("doctor", "--json"), "open files")
    assert (found["state"], found["detail"]) == ("warn", "up to 512, of these 256 for client connections")
    assert "Raise the hard limit to 1,024" in found["advice"]


def test_an_empty_token_file_is_a_problem(alone: Command, used: Path) -> None:
    (used / "owner-token").write_text("")
    found = finding(alone("doctor", "--json"), "owner's token")
    assert (found["state"], "Remove it" in found["advice"]) == ("bad", True)


def test_a_file_in_place_of_the_folder_is_a_problem(alone: Command, tmp_path: Path) -> None:
    (tmp_path / "data").touch()
    ended = alone("doctor", "--json")
    assert (ended.code, finding(ended, "data folder")["state"]) == (1, "bad")


@pytest.mark.parametrize("place", ["middle", "beginning"])
def test_a_damaged_database_is_a_problem(alone: Command, used: Path, place: str) -> None:
    file = used / "findspot.db"
    length = file.stat().st_size
    with file.open("r+b") as stream:
        stream.seek(length // 3 if place == "middle" else 0)
        stream.write(b"\xff\x00garbage" * (length // 3 // 9))
    ended = alone("doctor", "--json")
    assert (ended.code, ended.err) == (1, "")
    found = finding(ended, "database")
    assert found["state"] == "bad"
    assert f"{file} is damaged: " in found["detail"]
    assert "restore a backup" in found["advice"]
    assert "\n" not in found["detail"]


def test_an_unreachable_postgresql_is_a_problem_and_its_password_is_not_printed(alone: Command) -> None:
    address = "postgresql://me:s3cret%21@127.0.0.1:1/findspot"
    for options in ((), ("--json",)):
        ended = alone("doctor", *options, FINDSPOT_DATABASE_URL=address)
        assert ended.code == 1
        assert "s3cret" not in ended.out + ended.err
    found = finding(ended, "database")
    assert found["state"] == "bad"
    assert "refused" in found["detail"]
    assert "FINDSPOT_DATABASE_URL" in found["advice"]


def test_a_reachable_postgresql_is_ok(alone: Command, new_postgres_database: Callable[[], str]) -> None:
    address = new_postgres_database()
    fresh = finding(alone("doctor", "--json", FINDSPOT_DATABASE_URL=address), "database")
    assert (fresh["state"], "the next start migrates it" in fresh["detail"]) == ("note", True)
    assert alone("project", "create", "p", FINDSPOT_DATABASE_URL=address).code == 0
    found = finding(alone("doctor", "--json", FINDSPOT_DATABASE_URL=address), "database")
    assert (found["state"], found["detail"].split()[0]) == ("ok", "PostgreSQL")


def test_a_database_of_a_newer_findspot_is_a_problem(alone: Command, used: Path) -> None:
    with contextlib.closing(sqlite3.connect(used / "findspot.db")) as database, database:
        database.execute("UPDATE alembic_version SET version_num = '9999'")
    ended = alone("doctor", "--json")
    found = finding(ended, "database")
    assert (ended.code, found["state"], "newer Findspot" in found["detail"]) == (1, "bad", True)
    refused = alone("project", "list")
    assert (refused.code, "Start that version, or a later one." in refused.err) == (7, True)


def test_the_owner_of_the_index_is_shown(
    alone: Command, used: Path, start_server: Callable[..., Server], new_postgres_database: Callable[[], str]
) -> None:
    assert (
        finding(alone("doctor", "--json"), "index owner")["detail"] == "embedded, for the database in this data folder"
    )
    other, address = used.with_name("other"), new_postgres_database()
    assert findspot("project", "create", "p", "--data", str(other), FINDSPOT_DATABASE_URL=address).code == 0
    found = finding(findspot("doctor", "--json", "--data", str(other), FINDSPOT_DATABASE_URL=address), "index owner")
    assert (found["state"], found["detail"]) == ("note", "none yet; the first server becomes it")
    start_server(data=other, FINDSPOT_DATABASE_URL=address).stop()
    ended = findspot("doctor", "--json", "--data", str(other), FINDSPOT_DATABASE_URL=address)
    found = finding(ended, "index owner")
    assert (ended.code, found["state"]) == (0, "ok")
    assert found["detail"].startswith(f"embedded, {other} on {socket.gethostname()}, installation ")
    elsewhere = finding(alone("doctor", "--json", FINDSPOT_DATABASE_URL=address), "index owner")
    assert (elsewhere["state"], str(other) in elsewhere["detail"]) == ("bad", True)
    (other / "installation.json").write_text("{")
    damaged = finding(findspot("doctor", "--json", "--data", str(other), FINDSPOT_DATABASE_URL=address), "index owner")
    assert (damaged["state"], "is damaged" in damaged["detail"]) == ("bad", True)
    (other / "installation.json").write_text('{"id": "a", "previous_id": null, "database": "d at h"}')
    without = findspot("doctor", "--json", "--data", str(other))
    assert (without.code, "FINDSPOT_DATABASE_URL is not set" in finding(without, "index owner")["detail"]) == (1, True)


def test_changed_settings_are_listed_without_their_secrets(alone: Command) -> None:
    secrets = {
        "FINDSPOT_TOKEN": "fsk_hidden-1-0123",
        "FINDSPOT_EMBEDDER_API_KEY": "hidden-2",
        "TURBOPUFFER_API_KEY": "hidden-3",
        "FINDSPOT_EMBEDDER_BASE_URL": "https://me:hidden-4@example.org/v1",
    }
    ended = alone("doctor", "--json", SEARCH_DEFAULT_TOP_K="7", **secrets)
    detail = finding(ended, "settings")["detail"]
    assert "SEARCH_DEFAULT_TOP_K=7" in detail
    assert "FINDSPOT_TOKEN=(set)" in detail
    assert "FINDSPOT_EMBEDDER_BASE_URL=https://…@example.org/v1" in detail
    assert "hidden" not in ended.out
    assert "hidden" not in alone("doctor", **secrets).out


def test_the_owners_token_is_never_printed(alone: Command, used: Path) -> None:
    token = (used / "owner-token").read_text().strip()
    assert token not in alone("doctor").out + alone("doctor", "--json").out


def test_an_invalid_setting_is_named(alone: Command) -> None:
    ended = alone("doctor", FINDSPOT_PORT="x")
    assert (ended.code, "FINDSPOT_PORT: " in ended.err) == (2, True)


def test_an_unknown_variable_is_named_with_the_nearest_setting(alone: Command) -> None:
    ended = alone("doctor", "--json", FINDSPOT_MAX_BODDY="1")
    found = finding(ended, "unknown setting")
    assert (ended.code, found["state"], found["advice"]) == (0, "warn", "Did you mean FINDSPOT_MAX_BODY?")
    assert found["detail"] == "FINDSPOT_MAX_BODDY is not a setting and is ignored."


def test_the_embedder_is_tried(alone: Command) -> None:
    assert finding(alone("doctor", "--json"), "embedder")["state"] == "ok"
    unreachable = {"FINDSPOT_EMBEDDER": "openai/m", "FINDSPOT_EMBEDDER_BASE_URL": "http://127.0.0.1:9/v1"}
    ended = alone("doctor", "--json", FINDSPOT_EMBEDDER_API_KEY="hidden", **unreachable)
    assert (ended.code, finding(ended, "embedder")["state"]) == (1, "bad")
    assert "answer by keywords" in finding(ended, "embedder")["advice"]
    assert "hidden" not in ended.out


def test_engine_and_index_are_checked(alone: Command, used: Path) -> None:
    assert alone("document", "create", "1", "t", "The lighthouse 灯塔").code == 0
    ended = alone("doctor", "--json")
    assert finding(ended, "engine")["detail"].startswith("embedded, ")
    assert finding(ended, "index")["state"] == "note"
    assert "not up to date; project_1_documents: 0 %, cutting texts into chunks" in finding(ended, "index")["detail"]
    assert alone("reindex", "--documents", "1").code == 0
    assert finding(alone("doctor", "--json"), "engine")["state"] == "ok"
    for manifest in (used / "index").rglob("manifest*"):
        manifest.write_bytes(b"damaged")
    ended = alone("doctor", "--json")
    found = finding(ended, "index")
    assert (ended.code, found["state"], "The index is damaged" in found["detail"]) == (1, "bad", True)
