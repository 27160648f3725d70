"""Runs every command of docs/agents.md and of the README, and compares the output with the pages."""

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.cli.command import findspot
from tests.servers import Server

DOCS = Path(__file__).resolve().parent.parent.parent / "docs"
_BOX = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_SAVED_AS = re.compile(r"Save it as `([\w.]+)`")
_DEFAULT = re.compile(r"Project \d, library: the one used last\.\n")  # the README leaves the project out
_PRINTED = {"URL": re.compile(r"url +(http://\S+)"), "KEY": re.compile(r"key +(fse_\S+)")}


@dataclass
class Reader:
    """Follows the page: types its commands, and inserts values that were printed before."""

    folder: Path
    start_server: Callable[..., Server]
    typed: list[str] = field(default_factory=list)
    seen: str = ""
    server: Server | None = None

    def reads(self, page: Path) -> None:
        text = page.read_text(encoding="utf-8")
        for box in _BOX.finditer(text):
            self.does(box[1], box[2], text[: box.start()])

    def does(self, kind: str, text: str, before: str) -> None:
        if kind == "python":
            named = _SAVED_AS.findall(before)
            (self.folder / named[-1]).write_text(text, encoding="utf-8")
        elif kind == "text":
            self.compares(text)
        else:
            assert kind == "sh"
            lines = text.replace("\\\n", "").splitlines()
            self.seen = "".join(self.types(line) for line in lines)

    def types(self, line: str) -> str:
        self.typed.append(line)
        words = [os.path.expandvars(word) for word in shlex.split(line, comments=True)]
        match words:
            case ["make", "run" | "test"]:
                return ""
            case ["export", path] if path.startswith("PATH="):
                return ""
            case ["curl", "-H", _, url]:
                assert self.server
                with self.server.client() as owner:
                    answer = owner.get(url.removeprefix("http://127.0.0.1:8321"))
                assert answer.status_code == 200, line
                return answer.text
            case ["export", assignment]:
                name, shown = assignment.split("=")
                (printed,) = _PRINTED[name].findall(self.seen)
                assert alike(shown.replace("8321", "…"), printed)
                os.environ[name] = printed
                return self.seen
            case ["findspot", "serve"]:
                self.server = self.server or self.start_server(data=self.folder / ".findspot")
                return "".join(self.server.output)
            case ["findspot", *arguments]:
                ended = findspot(*arguments)
                assert (ended.code, _DEFAULT.sub("", ended.err)) == (0, ""), line
                return ended.out
            case ["python", *arguments]:
                return subprocess.run(
                    [sys.executable, *arguments], capture_output=True, text=True, check=True, timeout=120
                ).stdout
        pytest.fail(f"unknown command on the page: {line!r}")

    def compares(self, shown: str) -> None:
        """Check that the lines of the page were printed in that order. '…' matches anything."""
        done = 0
        for line in filter(str.strip, shown.splitlines()):
            found = pattern(line).search(self.seen, done)
            assert found, f"{line!r} is not in:\n{self.seen[done:]}"
            done = found.end()


def pattern(shown: str) -> re.Pattern[str]:
    return re.compile(re.escape(shown).replace("…", ".*?"))


def alike(shown: str, printed: str) -> bool:
    return pattern(shown).match(printed) is not None


@pytest.fixture
def reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, start_server: Callable[..., Server]) -> Reader:
    (tmp_path / "docs").symlink_to(DOCS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    for name in ("XDG_CONFIG_HOME", "CODEX_HOME", "CLAUDE_CONFIG_DIR", "URL", "KEY"):
        monkeypatch.setenv(name, "")  # and put back afterwards
    return Reader(tmp_path, start_server)


def test_every_command_of_the_page_prints_what_the_page_shows(reader: Reader) -> None:
    reader.reads(DOCS / "agents.md")
    assert {"findspot serve", "python agent.py"} <= set(reader.typed)
    assert not (reader.folder / ".claude.json").exists()


@pytest.mark.parametrize("order", [("README.md", "docs/agents.md"), ("docs/agents.md", "README.md")])
def test_both_pages_work_in_any_order_on_an_installation_that_is_not_empty(
    reader: Reader, order: tuple[str, str]
) -> None:
    reader.types("findspot serve")
    for project in ("other", "another"):  # with the names that the pages use
        findspot("project", "create", project)
        for table in ("books", "rules"):
            findspot("table", "create", project, table, '{"no": "list"}')
            findspot("tool", "create", project, table, f"find_{table}", "--type", "get_all_data")
        findspot("document", "create", project, "Chapter one", "another text")
        findspot("endpoint", "create", project, "my agent", "find_rules")
    (reader.folder / ".claude.json").write_text('{"mcpServers": {"findspot": {"url": "http://127.0.0.1:1/mcp/1"}}}')
    for page in order:
        reader.reads(DOCS.parent / page)
    assert "The old «warehouse»" in findspot("search", "warehouse", "--project", "library").out
    assert json.loads((reader.folder / ".claude.json").read_text())["mcpServers"].keys() == {"findspot"}


def test_output_that_differs_from_the_page_is_detected(tmp_path: Path) -> None:
    reader = Reader(tmp_path, start_server=lambda: pytest.fail("nothing starts here"), seen="one\ntwo 2\nthree\n")
    reader.compares("one\ntwo …\n")
    for wrong in ("two …\none\n", "four", "two 3"):
        with pytest.raises(AssertionError):
            reader.compares(wrong)
