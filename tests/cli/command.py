"""Run the `findspot` command in tests: in this process, in a process of its own, or on a real terminal."""

import json
import logging
import os
import pty
import re
import select
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import structlog
from click.testing import CliRunner

from findspot.surfaces.cli.main import run

_DEADLINE_S = 120
_AGAIN_S = 10
# Ctrl-C reaches a process only through its controlling terminal.
_ON_ITS_OWN_TERMINAL = """
import fcntl, runpy, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
runpy.run_module("findspot", run_name="__main__")
"""
_ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


@dataclass(frozen=True, slots=True)
class Outcome:
    """The exit code and output of a command."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def error(self) -> Any:
        return json.loads(self.err)


def findspot(*arguments: str, input: str | bytes = b"", **environment: str) -> Outcome:
    """Run the command in this process, without a terminal."""
    return _run(arguments, input, environment, terminal=False)


def findspot_on_terminal(*arguments: str, **environment: str) -> Outcome:
    """Run the command in this process, with output to streams that claim to be a terminal."""
    return _run(arguments, b"", environment, terminal=True)


def _run(arguments: Sequence[str], input: str | bytes, environment: Mapping[str, str], *, terminal: bool) -> Outcome:
    code: Any = 0
    isolated = CliRunner().isolation(input=input, env=environment, color=terminal)
    with _restored_logging(), isolated as (out, err, _):
        if terminal:
            sys.stdout.isatty = sys.stderr.isatty = lambda: True  # type: ignore[method-assign]
        try:
            run(arguments)
        except SystemExit as end:
            code = end.code or 0
        sys.stdout.flush()
        sys.stderr.flush()
        return Outcome(code, out.getvalue().decode(), err.getvalue().decode())


def findspot_process(*arguments: str, **environment: str) -> Outcome:
    """Run the command in a process of its own."""
    command = [sys.executable, "-m", "findspot", *arguments]
    variables = {**os.environ, **environment}
    ended = subprocess.run(command, env=variables, capture_output=True, stdin=subprocess.DEVNULL, timeout=_DEADLINE_S)
    return Outcome(ended.returncode, ended.stdout.decode(), ended.stderr.decode())


@contextmanager
def _restored_logging() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    try:
        yield
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)
        structlog.reset_defaults()


@dataclass
class Terminal:
    """A command on a real terminal of 100 columns."""

    process: "subprocess.Popen[bytes]"
    screen: int
    seen: str = ""
    _rest: bytes = field(default=b"", repr=False)

    @classmethod
    @contextmanager
    def running(cls, *arguments: str, **environment: str) -> "Iterator[Terminal]":
        screen, keyboard = pty.openpty()
        variables = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "100", **environment}
        process = subprocess.Popen(
            [sys.executable, "-c", _ON_ITS_OWN_TERMINAL, *arguments],
            env=variables, stdin=keyboard, stdout=keyboard, stderr=keyboard, start_new_session=True,
        )  # fmt: skip
        os.close(keyboard)
        try:
            yield cls(process, screen)
        finally:
            process.kill()
            process.wait()
            os.close(screen)

    @property
    def text(self) -> str:
        """Return the output so far, without colours."""
        return _ANSI.sub("", self.seen)

    def until(self, text: str) -> None:
        """Read until the output contains the text."""
        deadline = time.monotonic() + _DEADLINE_S
        while text not in self.text:
            assert time.monotonic() < deadline, f"{text!r} was not printed:\n{self.text}"
            assert self._read(), f"the command ended without {text!r}:\n{self.text}"

    def type(self, text: str) -> None:
        os.write(self.screen, text.encode())

    def interrupt(self) -> int:
        """Press Ctrl-C and return the exit code. Press it again if the command did not handle it yet."""
        for _ in range(_DEADLINE_S // _AGAIN_S):
            self.type("\x03")
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(timeout=_AGAIN_S)
                break
        return self.end()

    def end(self) -> int:
        """Read to the end and return the exit code."""
        while self._read():
            pass
        return self.process.wait(timeout=_DEADLINE_S)

    def _read(self) -> bool:
        ready, _, _ = select.select([self.screen], [], [], _DEADLINE_S)
        try:
            piece = os.read(self.screen, 65536) if ready else b""
        except OSError:  # the other end is closed
            piece = b""
        self._rest += piece
        whole = self._rest.decode(errors="ignore")
        self.seen += whole
        self._rest = self._rest[len(whole.encode()) :]
        return bool(piece)
