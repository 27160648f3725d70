"""What a person sees who sits at a terminal: questions, colours, patience; and what a pipe gets instead."""

import http.server
import json
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.cli.command import Terminal, findspot, findspot_process
from tests.servers import Server


@dataclass(frozen=True, slots=True)
class Project:
    """A project of the running server, and the options that lead there."""

    id: str
    way: tuple[str, ...]


@pytest.fixture
def project(served: tuple[Server, Path]) -> Project:
    way = ("--url", served[0].url, "--key", served[0].token)
    return Project(str(findspot("project", "create", "p", "--json", *way).json["id"]), way)


def is_there(project: Project) -> bool:
    return findspot("project", "status", project.id, *project.way).code == 0


def test_deleting_asks_and_yes_deletes(project: Project) -> None:
    with Terminal.running("project", "delete", project.id, *project.way) as terminal:
        terminal.until(f"Delete project {project.id} and all its tables and documents? [y/N]: ")
        assert is_there(project)
        terminal.type("y\n")
        assert terminal.end() == 0
        assert f"✓ Deleted project {project.id}." in terminal.text
    assert not is_there(project)


def test_deleting_asks_and_no_leaves_it(project: Project) -> None:
    with Terminal.running("project", "delete", project.id, *project.way) as terminal:
        terminal.until("? [y/N]: ")
        terminal.type("n\n")
        assert terminal.end() == 1
        assert "Nothing was deleted." in terminal.text
    assert is_there(project)


def test_deleting_asks_and_ctrl_c_leaves_it(project: Project) -> None:
    with Terminal.running("project", "delete", project.id, *project.way) as terminal:
        terminal.until("? [y/N]: ")
        assert terminal.interrupt() == 130
        assert "Traceback" not in terminal.text
    assert is_there(project)


def test_without_a_terminal_there_is_no_one_to_ask_so_yes_is_needed(project: Project) -> None:
    ended = findspot("project", "delete", project.id, *project.way, input="y\n")
    assert (ended.code, ended.out) == (2, "")
    assert "Add --yes to do it." in ended.err
    assert is_there(project)
    assert findspot("project", "delete", project.id, "--yes", *project.way).code == 0
    assert not is_there(project)


def test_ctrl_c_while_standard_input_is_read_ends_with_130(project: Project) -> None:
    with Terminal.running("table", "create", project.id, "t", "-", *project.way) as terminal:
        terminal.until("Ctrl-D on a line of its own ends it.")
        assert terminal.interrupt() == 130
        assert "Traceback" not in terminal.text
    assert findspot("table", "list", project.id, "--json", *project.way).json == {"tables": []}


def test_colours_are_for_terminals(project: Project) -> None:
    for arguments in (("project", "list"), ("project", "status", project.id), ("table", "get", "0")):
        with Terminal.running(*arguments, *project.way) as terminal:
            terminal.end()
            assert "\x1b[" in terminal.seen
        ended = findspot(*arguments, *project.way)
        assert "\x1b" not in ended.out + ended.err


@pytest.mark.parametrize("variables", [{}, {"NO_COLOR": "1"}])
def test_no_command_lets_what_is_kept_steer_the_terminal(project: Project, variables: dict[str, str]) -> None:
    text, title = "灯\x1b[31m塔\x9b2J\u202e\x07 \x7f and", "evil\u202etitle"
    table = str(findspot("table", "create", project.id, title, json.dumps({"a\u202e\x7f": text}, ensure_ascii=False),
                         "--json", *project.way).json["id"])  # fmt: skip
    document = findspot("document", "create", project.id, title, text, "--json", *project.way).json["id"]
    findspot("document", "save", str(document), text + " more\x08", *project.way)
    version = findspot("version", "list", str(document), "--json", *project.way).json["versions"][0]["id"]
    tool = ("tool", "create", project.id, table, "everything", "--type", "get_all_data", "--json")
    tool_id = findspot(*tool, *project.way).json["tool_id"]
    for arguments in (
        ("document", "get", str(document)), ("document", "get", str(document), "--source"),
        ("document", "list", project.id), ("version", "get", str(document), str(version)),
        ("version", "diff", str(document), str(version), "--whole"),
        ("table", "get", table), ("table", "get", table, "--raw"), ("table", "list", project.id),
        ("table", "get", table, "/\x1b[31m"), ("table", "create", project.id, "\x1b[31mname", "1"),
        ("tool", "call", str(tool_id)), ("project", "status", "\x1b[31m"),
    ):  # fmt: skip
        with Terminal.running(*arguments, *project.way, **variables) as terminal:
            terminal.end()
        seen = re.sub(r"\x1b\[[0-9;]*m", "", terminal.seen) if not variables else terminal.seen
        assert re.search(r"[␛�␡]|u001b|\\x1b|control characters", seen), (arguments, seen)
        assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202e]", seen), (arguments, seen)
        assert "[31m塔" not in seen.replace("␛[31m塔", "").replace("\\u001b[31m塔", ""), (arguments, seen)


def test_what_is_kept_leaves_a_pipe_as_it_is(project: Project) -> None:
    text = "灯\x1b[31m塔\x9b\u202e\x07\r\n"
    document = findspot("document", "create", project.id, "t", text, "--json", *project.way).json["id"]
    ended = findspot_process("document", "get", str(document), *project.way)
    assert ended.out == findspot("document", "get", str(document), "--json", *project.way).json["text"] + "\n"
    assert "\x1b[31m塔\x9b\u202e\x07" in ended.out


def test_no_color_is_heeded(project: Project) -> None:
    for arguments in (("project", "list"), ("project", "status", project.id), ("table", "get", "0"), ("--help",)):
        with Terminal.running(*arguments, *(project.way if len(arguments) > 1 else ()), NO_COLOR="1") as terminal:
            terminal.end()
            assert terminal.seen
            assert "\x1b" not in terminal.seen


def test_a_line_stays_a_line_in_a_pipe_and_fits_on_a_terminal(project: Project) -> None:
    name = "a name that is quite long " * 7 + "."
    assert findspot("project", "create", name, *project.way).code == 0
    assert any(name in line for line in findspot("project", "list", *project.way).out.splitlines())
    with Terminal.running("project", "list", *project.way) as terminal:
        assert terminal.end() == 0
        assert max(map(len, terminal.text.splitlines())) <= 100


@dataclass
class SlowServer:
    """Answers every request only when told to."""

    url: str = ""
    go: threading.Event = field(default_factory=threading.Event)


@pytest.fixture
def slow() -> Iterator[SlowServer]:
    waiting = SlowServer()

    class Answer(http.server.BaseHTTPRequestHandler):
        def do_PUT(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            assert waiting.go.wait(60)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b'{"revision": 2}')

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    waiting.url = f"http://127.0.0.1:{server.server_port}"
    yield waiting
    waiting.go.set()
    server.shutdown()
    server.server_close()


def test_what_takes_longer_than_a_second_gets_a_word_that_goes_away_again(slow: SlowServer) -> None:
    value = '"' + "x" * 3_000 + '"'
    with Terminal.running("table", "set", "1", "", value, "--url", slow.url) as terminal:
        terminal.until("… Sending 3.0 kB (1 s)")
        slow.go.set()
        assert terminal.end() == 0
        assert terminal.seen.replace("\r\n", "\n").endswith("\x1b[K\x1b[32m✓ \x1b[0mTable 1 is at revision 2.\n")


def test_lines_stand_above_a_bar_and_the_bar_goes_away(project: Project) -> None:
    findspot("document", "create", project.id, "t", "The lighthouse keeper.", *project.way)
    with Terminal.running("reindex", "--documents", project.id, *project.way) as terminal:
        assert terminal.end() == 0
        assert "Reindexing" in terminal.text
        assert f"\r\n✓ Documents of project {project.id} (p): 1 chunk.\r\n" in re.sub("\r(?!\n)", "\r\n", terminal.text)
        last = terminal.seen.replace("\r\n", "\n").rstrip("\n").split("\n")[-1]
        assert last.endswith("Rebuilt the index of the documents of 1 project: 1 chunk.")
        assert "\x1b[2K" in terminal.seen  # what a bar has drawn is wiped out


def test_a_reader_that_has_seen_enough_is_no_failure(project: Project) -> None:
    value = "[" + ",".join(["1"] * 400_000) + "]"
    table = findspot("table", "create", project.id, "long", "-", "--json", *project.way, input=value).json["id"]
    get = f"{sys.executable} -m findspot table get {table} {' '.join(project.way)}"
    ended = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {get} | head -1"], capture_output=True, text=True, timeout=60
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "[\n", "")
