"""A running server whose database is removed, locked, or without room, and whose lock file is deleted."""

import contextlib
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import httpx2
import pytest

from findspot.runtime.data_folder import DataFolder, FolderInUse
from tests.cli.command import findspot
from tests.servers import Server

Start = Callable[..., Server]
_END_S = 120
_LESS_THAN_THE_WAIT_FOR_A_LOCK_S = 25


def findings(folder: Path) -> dict[str, tuple[str, str]]:
    ended = findspot("doctor", "--json", "--data", str(folder))
    return {each["what"]: (each["state"], each["detail"]) for each in ended.json["findings"]}


@pytest.mark.parametrize("replaced", [False, True])
def test_a_removed_or_replaced_database_stops_writes_and_is_reported(
    start_server: Start, tmp_path: Path, replaced: bool
) -> None:
    server, file = start_server(data=tmp_path / "data"), tmp_path / "data" / "findspot.db"
    with server.client() as client:
        project = client.post("/api/v1/projects", json={"name": "p"}).json()["id"]
        assert client.get("/readyz").status_code == 200
        if replaced:
            shutil.copy(file, tmp_path / "copy")
            (tmp_path / "copy").replace(file)
        else:
            file.rename(tmp_path / "elsewhere")
        document = {"title": "t", "content": "文 c", "format": "text"}
        refused = client.post(f"/api/v1/projects/{project}/documents", json=document)
        assert (refused.status_code, refused.json()["code"]) == (503, "STORE_REPLACED")
        ready = client.get("/readyz")
        assert (ready.status_code, ready.json()["code"], ready.json()["writes"]) == (503, "STORE_REPLACED", False)
    state, detail = findings(file.parent)["server"]
    assert state == "bad"
    assert "removed or replaced" in detail


def test_deleting_the_lock_file_lets_no_second_server_start(start_server: Start, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    server = start_server(data=folder)
    (folder / "lock").unlink()
    with pytest.raises(FolderInUse):
        DataFolder(folder).claim()
    second = findspot("serve", "--port", "0", "--data", str(folder))
    assert second.code == 7
    assert "in use by another Findspot" in second.err
    state, detail = findings(folder)["server"]
    assert (state, "'lock' was deleted" in detail) == ("bad", True)
    with server.client() as client:
        assert client.get("/readyz").status_code == 200


def test_sigterm_ends_the_server_while_another_process_locks_the_database(start_server: Start, tmp_path: Path) -> None:
    server = start_server(data=tmp_path / "data")
    with server.client() as client:
        assert client.post("/api/v1/projects", json={"name": "p"}).status_code == 201
    other = sqlite3.connect(tmp_path / "data" / "findspot.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    state, detail = findings(tmp_path / "data")["database"]
    assert (state, "is locked" in detail) == ("bad", True)
    saving = threading.Thread(target=save, args=(server,))
    saving.start()
    server.process.terminate()
    server.process.wait(_LESS_THAN_THE_WAIT_FOR_A_LOCK_S)
    saving.join()
    other.close()


def save(server: Server) -> None:
    with server.client() as client, contextlib.suppress(httpx2.TransportError):
        assert client.post("/api/v1/projects", json={"name": "q"}).status_code == 503


_DEAF = """
import signal, socket
from findspot.server.supervisor import Supervisor
listener = socket.socket()
link = Supervisor({1: "The server"}, [listener]).run()
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("deaf", flush=True)
while True:
    signal.pause()
"""


def test_an_api_process_that_does_not_stop_is_killed() -> None:
    process = subprocess.Popen([sys.executable, "-c", _DEAF], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout
    assert process.stdout.readline() == "deaf\n"
    process.terminate()
    _, errors = process.communicate(timeout=_END_S)
    assert "did not stop in time and was killed" in errors
    assert process.returncode == -signal.SIGTERM
