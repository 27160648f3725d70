"""What can be given to a command, and how."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.command import Outcome, findspot, findspot_process
from tests.servers import Server

Command = Callable[..., Outcome]


@pytest.fixture
def table(alone: Command) -> Command:
    """A data folder with project 1 and table 1 in it."""
    assert alone("project", "create", "p").code == 0
    assert alone("table", "create", "1", "t", "{}").code == 0
    return alone


def test_json_comes_from_a_file_from_standard_input_or_as_it_is(table: Command, tmp_path: Path) -> None:
    file = tmp_path / "数据 file.json"
    file.write_text(' {"书": "📕"}\n', encoding="utf-8")
    for given, input in ((f"@{file}", ""), ("-", ' {"书": "📕"}\n'), (' {"书": "📕"}\n', "")):
        assert table("table", "set", "1", "", given, input=input).code == 0
        assert table("table", "get", "1", "--raw").out == '{"书": "📕"}\n'


@pytest.mark.parametrize("given", ["", " ", "{", "1,2", '1},"x":{', '1,"data":2', "hello", "'1'", "[1,]", "NaN"])
def test_what_is_not_one_json_value_is_refused_before_it_is_sent(table: Command, given: str) -> None:
    for arguments in (("table", "create", "1", "x", given), ("table", "set", "1", "", given)):
        ended = table(*arguments)
        assert ended.code == 2
        assert ended.err.startswith("✗ JSON is ")
    assert len(table("table", "list", "1", "--json").json["tables"]) == 1


def test_the_name_of_a_file_without_an_at_sign_is_understood(table: Command, tmp_path: Path) -> None:
    file = tmp_path / "value.json"
    file.write_text("1")
    assert f"write @{file}" in table("table", "set", "1", "", str(file)).err


def test_bad_json_in_a_file_is_told_with_the_files_name(table: Command, tmp_path: Path) -> None:
    file = tmp_path / "value.json"
    file.write_text('{"a": }')
    assert f"✗ {file} is not valid: " in table("table", "set", "1", "", f"@{file}").err


def test_bytes_that_are_no_utf8_are_refused(table: Command, tmp_path: Path) -> None:
    assert table("project", "create", "\udcff").code == 2
    assert table("table", "set", "1", "", '"\udcff"').code == 2
    (tmp_path / "latin1.json").write_bytes(b'"\xe9"')
    assert table("table", "set", "1", "", f"@{tmp_path / 'latin1.json'}").code == 2
    assert table("table", "get", "1", "--json").json["revision"] == 1


def test_url_and_key_come_from_the_environment_too() -> None:
    ended = findspot("project", "list", FINDSPOT_URL="http://127.0.0.1:1", FINDSPOT_KEY="k")
    assert ended.code == 7
    assert "http://127.0.0.1:1" in ended.err


def test_a_terminal_that_knows_few_characters_gets_question_marks_and_machines_get_utf8(
    served: tuple[Server, Path],
) -> None:
    at = ("--url", served[0].url, "--key", served[0].token)
    western = {"PYTHONIOENCODING": "latin-1", "PYTHONUTF8": "0"}
    assert findspot_process("project", "create", "书", *at, **western).out.endswith(", ?.\n")
    assert findspot_process("project", "list", "--json", *at, **western).json["projects"][-1]["name"] == "书"
