"""Output on a terminal: questions, colours, progress; and in a pipe."""

import json
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.cli.command import Terminal, findspot, findspot_on_terminal, findspot_process
from tests.servers import Server
from tests.web_servers import Handler, serving


@dataclass(frozen=True, slots=True)
class Project:
    """A new project of the shared server, and the options that select the server."""

    id: str
    target: tuple[str, ...]


@pytest.fixture
def project(served: tuple[Server, Path]) -> Project:
    target = ("--url", served[0].url, "--key", served[0].token)
    return Project(str(findspot("project", "create", "p", "--json", *target).json["id"]), target)


def exists(project: Project) -> bool:
    return findspot("project", "status", project.id, *project.target).code == 0


def test_deleting_asks_for_confirmation_and_yes_deletes(project: Project) -> None:
    with Terminal.running("project", "delete", project.id, *project.target) as terminal:
        terminal.until(f"Delete project {project.id}? [y/N]: ")
        assert exists(project)
        terminal.type("y\n")
        assert terminal.end() == 0
        assert f"✓ Deleted project {project.id}." in terminal.text
    assert not exists(project)


def test_answering_no_or_ctrl_c_deletes_nothing(project: Project) -> None:
    with Terminal.running("project", "delete", project.id, *project.target) as terminal:
        terminal.until("? [y/N]: ")
        terminal.type("n\n")
        assert terminal.end() == 1
        assert "Nothing was deleted." in terminal.text
    with Terminal.running("project", "delete", project.id, *project.target) as terminal:
        terminal.until("? [y/N]: ")
        assert terminal.interrupt() == 130
        assert "Traceback" not in terminal.text
    assert exists(project)


def test_without_a_terminal_deleting_needs_yes(project: Project) -> None:
    ended = findspot("project", "delete", project.id, *project.target, input="y\n")
    assert (ended.code, ended.out) == (2, "")
    assert "Add --yes to do it." in ended.err
    assert exists(project)
    assert findspot("project", "delete", project.id, "--yes", *project.target).code == 0
    assert not exists(project)


def test_ctrl_c_while_reading_standard_input_ends_with_130(project: Project) -> None:
    with Terminal.running("table", "create", project.id, "t", "-", *project.target) as terminal:
        terminal.until("Ctrl-D on a line of its own ends it.")
        assert terminal.interrupt() == 130
        assert "Traceback" not in terminal.text
    assert findspot("table", "list", project.id, "--json", *project.target).json == {"tables": []}


def test_output_has_colours_on_a_terminal_only(project: Project) -> None:
    with Terminal.running("project", "status", project.id, *project.target) as terminal:
        terminal.end()
        assert "\x1b[" in terminal.seen
    for arguments in (("project", "list"), ("project", "status", project.id), ("table", "get", "0")):
        on_terminal = findspot_on_terminal(*arguments, *project.target)
        assert "\x1b[" in on_terminal.out + on_terminal.err
        ended = findspot(*arguments, *project.target)
        assert "\x1b" not in ended.out + ended.err


def test_no_color_switches_colours_off(project: Project) -> None:
    for arguments in (("project", "list"), ("project", "status", project.id), ("table", "get", "0"), ("--help",)):
        target = project.target if len(arguments) > 1 else ()
        ended = findspot_on_terminal(*arguments, *target, NO_COLOR="1")
        assert ended.out + ended.err
        assert "\x1b" not in ended.out + ended.err


@pytest.mark.parametrize("variables", [{}, {"NO_COLOR": "1"}])
def test_no_command_sends_control_characters_of_content_to_the_terminal(
    project: Project, variables: dict[str, str]
) -> None:
    text, title = "灯\x1b[31m塔\x9b2J\u202e\x07 \x7f and", "evil\u202etitle"
    table = str(findspot("table", "create", project.id, title, json.dumps({"a\u202e\x7f": text}, ensure_ascii=False),
                         "--json", *project.target).json["id"])  # fmt: skip
    document = str(findspot("document", "create", project.id, title, text, "--json", *project.target).json["id"])
    findspot("document", "save", document, text + " more\x08", *project.target)
    version = str(findspot("version", "list", document, "--json", *project.target).json["versions"][0]["id"])
    tool = ("tool", "create", project.id, table, "everything", "--type", "get_all_data", "--json")
    tool_id = str(findspot(*tool, *project.target).json["tool_id"])
    for arguments in (
        ("document", "get", document), ("document", "get", document, "--source"),
        ("document", "list", project.id), ("version", "get", document, version),
        ("version", "diff", document, version, "--whole"),
        ("table", "get", table), ("table", "get", table, "--raw"), ("table", "list", project.id),
        ("table", "get", table, "/\x1b[31m"), ("table", "create", project.id, "\x1b[31mname", "1"),
        ("tool", "call", tool_id), ("project", "status", "\x1b[31m"),
    ):  # fmt: skip
        ended = findspot_on_terminal(*arguments, *project.target, **variables)
        seen = ended.out + ended.err
        seen = seen if variables else re.sub(r"\x1b\[[0-9;]*m", "", seen)
        assert re.search(r"[␛�␡]|u001b|\\x1b|control characters", seen), (arguments, seen)
        assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202e]", seen), (arguments, seen)
        assert "[31m塔" not in seen.replace("␛[31m塔", "").replace("\\u001b[31m塔", ""), (arguments, seen)


def test_content_is_written_to_a_pipe_unchanged(project: Project) -> None:
    text = "灯\x1b[31m塔\x9b\u202e\x07\r\n"
    document = str(findspot("document", "create", project.id, "t", text, "--json", *project.target).json["id"])
    ended = findspot_process("document", "get", document, *project.target)
    assert ended.out == findspot("document", "get", document, "--json", *project.target).json["text"] + "\n"
    assert "\x1b[31m塔\x9b\u202e\x07" in ended.out


def test_long_lines_are_wrapped_on_a_terminal_and_not_in_a_pipe(project: Project) -> None:
    name = "a name that is quite long " * 7 + "."
    assert findspot("project", "create", name, *project.target).code == 0
    assert any(name in line for line in findspot("project", "list", *project.target).out.splitlines())
    shown = findspot_on_terminal("project", "list", *project.target, COLUMNS="100", NO_COLOR="1").out
    assert max(map(len, shown.splitlines())) <= 100


@dataclass
class SlowServer:
    """Answers a request only after `go` is set."""

    url: str = ""
    go: threading.Event = field(default_factory=threading.Event)


@pytest.fixture
def slow() -> Iterator[SlowServer]:
    waiting = SlowServer()

    class Answer(Handler):
        def do_PUT(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            assert waiting.go.wait(120)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b'{"revision": 2}')

    with serving(Answer) as waiting.url:
        yield waiting
        waiting.go.set()


def test_after_a_second_the_elapsed_time_is_shown_and_removed_at_the_end(slow: SlowServer) -> None:
    value = '"' + "x" * 3_000 + '"'
    with Terminal.running("table", "set", "1", "", value, "--url", slow.url) as terminal:
        terminal.until("… Sending 3.0 kB (1 s)")
        slow.go.set()
        assert terminal.end() == 0
        assert terminal.seen.replace("\r\n", "\n").endswith("\x1b[K\x1b[32m✓ \x1b[0mTable 1 is at revision 2.\n")


def test_lines_are_printed_above_the_progress_bar_and_the_bar_is_removed(project: Project) -> None:
    findspot("document", "create", project.id, "t", "The lighthouse keeper.", *project.target)
    with Terminal.running("reindex", "--documents", project.id, *project.target) as terminal:
        assert terminal.end() == 0
        assert "Reindexing" in terminal.text
        assert f"\r\n✓ Documents of project {project.id} (p): 1 chunk.\r\n" in re.sub("\r(?!\n)", "\r\n", terminal.text)
        last = terminal.seen.replace("\r\n", "\n").rstrip("\n").split("\n")[-1]
        assert last.endswith("Rebuilt the index of the documents of 1 project: 1 chunk.")
        assert "\x1b[2K" in terminal.seen  # the bar is erased


def test_a_closed_pipe_is_not_a_failure(project: Project) -> None:
    value = "[" + ",".join(["1"] * 400_000) + "]"
    table = findspot("table", "create", project.id, "long", "-", "--json", *project.target, input=value).json["id"]
    get = f"{sys.executable} -m findspot table get {table} {' '.join(project.target)}"
    ended = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {get} | head -1"], capture_output=True, text=True, timeout=120
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "[\n", "")
