"""Runs every command of docs/agents.md and compares its output with the page."""

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
_PRINTED = {"URL": re.compile(r"url +(http://\S+)"), "KEY": re.compile(r"key +(fse_\S+)")}


@dataclass
class Reader:
    """Follows the page: types its commands, and inserts values that were printed before."""

    folder: Path
    start_server: Callable[..., Server]
    typed: list[str] = field(default_factory=list)
    seen: str = ""

    def does(self, kind: str, text: str, before: str) -> None:
        if kind == "python":
            named = _SAVED_AS.findall(before)
            (self.folder / named[-1]).write_text(text, encoding="utf-8")
        elif kind == "text":
            self.compares(text)
        else:
            assert kind == "sh"
            self.seen = "".join(self.types(line) for line in text.splitlines())

    def types(self, line: str) -> str:
        self.typed.append(line)
        words = [os.path.expandvars(word) for word in shlex.split(line)]
        match words:
            case ["export", assignment]:
                name, shown = assignment.split("=")
                (printed,) = _PRINTED[name].findall(self.seen)
                assert alike(shown.replace("8321", "…"), printed)
                os.environ[name] = printed
                return self.seen
            case ["findspot", "serve"]:
                return "".join(self.start_server(data=self.folder / ".findspot").output)
            case ["findspot", *arguments]:
                ended = findspot(*arguments)
                assert (ended.code, ended.err) == (0, ""), line
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
    page = (DOCS / "agents.md").read_text(encoding="utf-8")
    for box in _BOX.finditer(page):
        reader.does(box[1], box[2], page[: box.start()])
    assert {"findspot serve", "python agent.py"} <= set(reader.typed)
    assert not (reader.folder / ".claude.json").exists()


def test_output_that_differs_from_the_page_is_detected(tmp_path: Path) -> None:
    reader = Reader(tmp_path, start_server=lambda: pytest.fail("nothing starts here"), seen="one\ntwo 2\nthree\n")
    reader.compares("one\ntwo …\n")
    for wrong in ("two …\none\n", "four", "two 3"):
        with pytest.raises(AssertionError):
            reader.compares(wrong)
