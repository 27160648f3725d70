"""`findspot worker`: where it runs, how it is listed, and how it stops."""

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from tests.cli.command import findspot, findspot_process
from tests.servers import Server

_END_S = 120
_SHARED = {
    "FINDSPOT_ENGINE": "turbopuffer",
    "TURBOPUFFER_API_KEY": "k",
    "TURBOPUFFER_BASE_URL": "http://127.0.0.1:1",
    "FINDSPOT_TOKEN": "a-token-of-all-processes",
}


@contextlib.contextmanager
def working(data: Path, **environment: str) -> "Iterator[tuple[subprocess.Popen[str], str]]":
    """A worker in a process of its own, and the id under which it is listed."""
    command = [sys.executable, "-m", "findspot", "worker", "--data", str(data)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**os.environ, **environment}
    ) as process:
        assert process.stdout is not None
        line = next((line for line in process.stdout if "indexes as the process" in line), "")
        try:
            yield process, line.partition("the process ")[2].partition(".")[0]
        finally:
            process.kill()


@pytest.mark.parametrize("more", [{}, {"FINDSPOT_DATABASE_URL": "postgresql://x"}, {"FINDSPOT_ENGINE": "turbopuffer"}])
def test_a_worker_needs_shared_services(more: dict[str, str], tmp_path: Path) -> None:
    refused = findspot("worker", "--data", str(tmp_path / "data"), **more)
    assert (refused.code, refused.out) == (2, "")
    assert "cannot be used here" in refused.err
    assert "FINDSPOT_ENGINE=turbopuffer" in refused.err
    assert not (tmp_path / "data").exists()


def test_workers_are_listed_until_they_stop(
    start_server: Callable[..., Server], tmp_path: Path, new_postgres_database: Callable[[], str]
) -> None:
    variables = _SHARED | {"FINDSPOT_DATABASE_URL": new_postgres_database()}
    server = start_server("--no-worker", data=tmp_path / "api", **variables)
    with (
        working(tmp_path / "one", **variables) as (one, first),
        working(tmp_path / "two", **variables) as (two, second),
        server.client() as client,
    ):
        found = client.get("/internal/processes").json()["processes"]
        assert {(each["id"], each["role"], each["pid"]) for each in found if each["role"] == "worker"} == {
            (first, "worker", one.pid),
            (second, "worker", two.pid),
        }
        assert [(each["role"], each["serves"]) for each in found if each["role"] != "worker"] == [("api", server.url)]
        one.terminate()
        output, _ = one.communicate(timeout=_END_S)
        assert one.returncode == 0
        assert output.endswith("The index worker has stopped.\n")
        assert "Traceback" not in output
        two.kill()
        two.communicate(timeout=_END_S)
        shown = findspot_process("status", "--processes", "--json", "--data", str(tmp_path / "api"), **variables)
        assert {each["id"] for each in json.loads(shown.out)["processes"] if each["role"] == "worker"} == {second}
    with psycopg.connect(variables["FINDSPOT_DATABASE_URL"]) as connection:  # a killed worker leaves its row to expire
        assert connection.execute("SELECT id FROM processes WHERE role = 'worker'").fetchall() == [(second,)]
