"""The processes of an installation. One of them is killed at random; what has ended is started again."""

import os
import random
import re
import secrets
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import httpx2

PATIENCE_S = 120.0
_MARK = "KILLS_START"
_LINK = re.compile(r"(http://\S+)/\?token=")


@dataclass
class Member:
    """A command that is to run. Each start has a mark in its environment, by which all its processes are known."""

    name: str
    arguments: list[str]
    environment: dict[str, str]
    folder: Path  # of its logs
    serves: bool = True  # an API
    process: "subprocess.Popen[bytes] | None" = None
    marks: list[str] = field(default_factory=list)  # of all its starts

    def start(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        mark = secrets.token_hex(8)
        with (self.folder / f"{len(self.marks)}.log").open("wb") as output:
            self.process = subprocess.Popen(
                [sys.executable, *self.arguments],
                stdout=output,
                stderr=output,
                env={**os.environ, **self.environment, _MARK: mark},
                start_new_session=True,
            )
        self.marks.append(mark)

    @property
    def log(self) -> str:
        """What it has printed since its last start."""
        return (self.folder / f"{len(self.marks) - 1}.log").read_text(errors="replace")

    @property
    def url(self) -> str | None:
        """The address of its API. The port changes with every start: another process may take one that is free."""
        found = _LINK.search(self.log) if self.serves and self.exit_code is None else None
        return found[1] if found else None

    @property
    def exit_code(self) -> int | None:
        return self.process.poll() if self.process else None


class Fleet:
    """The processes of an installation. `killed` counts those that were killed; `odd_ends` lists other ends."""

    def __init__(self, members: list[Member]) -> None:
        self.members = members
        self.killed: Counter[str] = Counter()
        self.odd_ends: list[str] = []
        self._is_stopped = False

    def start(self) -> None:
        for member in self.members:
            member.start()

    def kill_one(self, chance: random.Random) -> None:
        """Kill the first process of a member, or one that it has started."""
        member = chance.choice(self.members)
        found = sorted(processes(member.marks[-1:]))
        if found:
            pid, name = chance.choice(found)
            self.killed[f"{member.name.partition(' ')[0]}: {name}"] += 1
            _kill(pid)

    def revive(self) -> None:
        """Start what has ended."""
        for member in self.members:
            code = member.exit_code
            if code is not None:
                if code != -signal.SIGKILL and not self._is_stopped:
                    self.odd_ends.append(f"{member.name} {len(member.marks) - 1}: {code}")
                member.start()
        self._is_stopped = False

    def revive_until_ready(self) -> None:
        """Wait until every API answers, and workers run."""
        until = time.monotonic() + PATIENCE_S
        waiting = self.members
        with httpx2.Client(timeout=PATIENCE_S, trust_env=False) as client:
            while waiting:
                assert time.monotonic() < until, f"{[member.name for member in waiting]} are not ready"
                self.revive()
                time.sleep(0.1)
                waiting = [member for member in waiting if not _is_ready(client, member)]

    def urls(self) -> list[str]:
        """Return the addresses of the APIs that run."""
        return [url for member in self.members if (url := member.url)]

    def stop(self) -> None:
        """Stop all members with SIGTERM. `revive` starts them again."""
        self._is_stopped = True
        running = [member.process for member in self.members if member.process is not None]
        for process in running:
            process.terminate()
        for process in running:
            process.wait(PATIENCE_S)

    def close(self) -> None:
        """Kill every process that is left."""
        for member in self.members:
            for pid, _ in processes(member.marks):
                _kill(pid)
            if member.process is not None:
                member.process.wait()

    def require_no_remains(self) -> None:
        """Require that nothing is left of members that have ended: processes end with the one that started them."""
        until = time.monotonic() + PATIENCE_S
        ended = [
            mark
            for member in self.members
            for mark in member.marks
            if member.exit_code is not None or mark != member.marks[-1]
        ]
        while left := processes(ended):
            assert time.monotonic() < until, f"these processes are left: {left}"
            time.sleep(0.1)

    def logs(self) -> str:
        """Return the end of every log, for the report of a failure."""
        return "\n".join(
            f"── {path}\n{_tail(path)}"
            for member in self.members
            for path in sorted(member.folder.iterdir(), key=lambda path: path.stat().st_mtime)[-3:]
        )


def processes(marks: list[str]) -> set[tuple[int, str]]:
    """Return the running processes that have one of the marks, with their names."""
    wanted, found = {f"{_MARK}={mark}".encode() for mark in marks}, set()
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                if wanted.intersection(folder.joinpath("environ").read_bytes().split(b"\0")):
                    found.add((int(folder.name), folder.joinpath("comm").read_text().strip()))
            except (FileNotFoundError, ProcessLookupError, PermissionError):  # it has just ended, or is another user's
                continue
    return found


def _is_ready(client: httpx2.Client, member: Member) -> bool:
    if not member.serves:
        return "indexes as the process" in member.log
    try:
        url = member.url
        return url is not None and client.get(f"{url}/readyz").status_code == 200
    except httpx2.TransportError:
        return False


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return  # it has just ended by itself


def _tail(log: Path) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-40:])
