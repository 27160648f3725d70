"""A `findspot serve` in a process of its own, for tests and benchmarks that need a real one."""

import contextlib
import os
import queue
import re
import secrets
import signal
import socket
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2

_LINK = re.compile(r"(http://\S+)/\?token=")
_DEADLINE_S = 120


def lasting_port() -> str:
    """Return a free port for a server that is restarted: the system does not give it to anyone who takes any port."""
    for _ in range(1000):
        port = secrets.randbelow(10_000) + 12_000
        with socket.socket() as tried, contextlib.suppress(OSError):
            tried.bind(("127.0.0.1", port))
            return str(port)
    raise RuntimeError("no port is free")


def serving_under(process: "subprocess.Popen[str]") -> int | None:
    """Return the API process of this supervisor, or None while there is none."""
    listed = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    if sys.platform == "linux":
        found = listed.read_text()
    else:
        found = subprocess.run(["pgrep", "-P", str(process.pid)], capture_output=True, text=True, check=False).stdout
    return int(found) if found else None


@dataclass
class Server:
    """A running server, its URL and the owner's token."""

    process: "subprocess.Popen[str]"
    url: str
    token: str
    output: list[str] = field(default_factory=list)
    reader: threading.Thread | None = None

    @classmethod
    def start(cls, data: Path, *arguments: str, open_files: int | None = None, **environment: Any) -> "Server":
        """Start and wait until the address is printed, which is when the server answers.

        `open_files` limits the file descriptors of the server.
        """
        command = [sys.executable, "-m", "findspot", "serve", "--port", "0", "--data", str(data), *arguments]
        if open_files is not None:
            command = ["sh", "-c", f'ulimit -n {open_files}; exec "$@"', "sh", *command]
        variables = {**os.environ, "FINDSPOT_LOG_FORMAT": "json", **{k: str(v) for k, v in environment.items()}}
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=variables, start_new_session=True
        )
        lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        server = cls(process, "", "")

        def read() -> None:
            assert process.stdout
            with process.stdout:
                for line in process.stdout:
                    server.output.append(line)
                    lines.put(line)
            lines.put(None)

        server.reader = threading.Thread(target=read, daemon=True)
        server.reader.start()
        while (line := lines.get(timeout=_DEADLINE_S)) is not None:
            if found := _LINK.search(line):
                server.url = found[1]
                server.token = environment.get("FINDSPOT_TOKEN") or (data / "owner-token").read_text().strip()
                return server
        raise RuntimeError("The server ended before it was ready:\n" + "".join(server.output))

    def client(self, key: str | None = None, **options: Any) -> httpx2.Client:
        headers = {"Authorization": f"Bearer {key or self.token}"}
        return httpx2.Client(base_url=self.url, headers=headers, timeout=_DEADLINE_S, trust_env=False, **options)

    def async_client(self, key: str | None = None) -> httpx2.AsyncClient:
        headers = {"Authorization": f"Bearer {key or self.token}"}
        return httpx2.AsyncClient(base_url=self.url, headers=headers, timeout=120, trust_env=False)

    @property
    def serving(self) -> int:
        """The id of the API process; `process` is its supervisor."""
        found = serving_under(self.process)
        assert found is not None, "no process serves"
        return found

    def kill(self) -> None:
        """Kill the server and all its processes with SIGKILL."""
        if self.process.poll() is None or (self.reader and self.reader.is_alive()):  # some may still run
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
        self._ended()

    def _ended(self, timeout: float | None = None) -> int:
        code = self.process.wait(timeout)
        if self.reader is not None:
            self.reader.join(timeout)
        return code

    def stop(self) -> int:
        """Stop the server with SIGTERM and return its exit code."""
        self.process.terminate()
        return self._ended(timeout=_DEADLINE_S)
