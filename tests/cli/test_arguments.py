"""Arguments of commands: JSON, text, URLs and keys."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.command import Outcome, findspot, findspot_process
from tests.servers import Server

Command = Callable[..., Outcome]


_UNREACHABLE = ("--url", "http://127.0.0.1:1", "--key", "k")  # exit code 7 if anything were sent


def test_json_is_read_from_a_file_standard_input_or_the_argument(remote: Command, tmp_path: Path) -> None:
    project = str(remote("project", "create", "p", "--json").json["id"])
    table = str(remote("table", "create", project, "t", "{}", "--json").json["id"])
    file = tmp_path / "数据 file.json"
    file.write_text(' {"书": "📕"}\n', encoding="utf-8")
    for given, input in ((f"@{file}", ""), ("-", ' {"书": "📕"}\n'), (' {"书": "📕"}\n', "")):
        assert remote("table", "set", table, "", given, input=input).code == 0
        assert remote("table", "get", table, "--raw").out == '{"书": "📕"}\n'


@pytest.mark.parametrize("given", ["", " ", "{", "1,2", '1},"x":{', '1,"data":2', "hello", "'1'", "[1,]", "NaN"])
def test_an_argument_that_is_not_one_json_value_is_never_sent(given: str) -> None:
    for arguments in (("table", "create", "1", "x", given), ("table", "set", "1", "", given)):
        ended = findspot(*arguments, *_UNREACHABLE)
        assert ended.code == 2
        assert ended.err.startswith("✗ JSON is ")


def test_a_file_name_without_an_at_sign_gets_a_hint(tmp_path: Path) -> None:
    file = tmp_path / "value.json"
    file.write_text("1")
    assert f"write @{file}" in findspot("table", "set", "1", "", str(file), *_UNREACHABLE).err


def test_invalid_json_in_a_file_is_reported_with_the_file_name(tmp_path: Path) -> None:
    file = tmp_path / "value.json"
    file.write_text('{"a": }')
    assert f"✗ {file} is not valid: " in findspot("table", "set", "1", "", f"@{file}", *_UNREACHABLE).err


def test_bytes_that_are_not_utf8_are_refused(remote: Command, tmp_path: Path) -> None:
    (tmp_path / "latin1.json").write_bytes(b'"\xe9"')
    project = str(remote("project", "create", "p", "--json").json["id"])
    assert remote("project", "create", "\udcff").code == 2
    for given in ('"\udcff"', f"@{tmp_path / 'latin1.json'}"):
        assert remote("table", "create", project, "t", given).code == 2


def test_url_and_key_can_come_from_the_environment() -> None:
    ended = findspot("project", "list", FINDSPOT_URL="http://127.0.0.1:1", FINDSPOT_KEY="k")
    assert ended.code == 7
    assert "http://127.0.0.1:1" in ended.err


def test_the_url_of_an_endpoint_is_refused_with_that_of_its_server() -> None:
    ended = findspot("project", "list", "--url", "http://127.0.0.1:8321/mcp/3")
    assert ended.code == 2
    assert "The URL of its server is http://127.0.0.1:8321\n" in ended.err


def test_a_terminal_with_another_encoding_gets_question_marks_and_json_stays_utf8(
    served: tuple[Server, Path],
) -> None:
    at = ("--url", served[0].url, "--key", served[0].token)
    western = {"PYTHONIOENCODING": "latin-1", "PYTHONUTF8": "0"}
    assert findspot_process("project", "create", "书", *at, **western).out.endswith(", ?.\n")
    assert findspot_process("project", "list", "--json", *at, **western).json["projects"][-1]["name"] == "书"
