"""`findspot backup` and `findspot restore`: with a server and without, and their failures."""

import json
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from findspot.surfaces.cli.progress import show_progress
from tests.cli.command import Outcome, findspot
from tests.servers import Server

VALUE = '{"书": "红楼梦 📕", "n": 1.10, "nul": "\\u0000"}'


def done(*arguments: str, code: int = 0, input: str = "", **environment: str) -> Outcome:
    """Run a command and assert its exit code."""
    ended = findspot(*arguments, input=input, **environment)
    assert ended.code == code, ended
    return ended


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with a project and two tables. Tests only read it."""
    folder = tmp_path_factory.mktemp("backup")
    at = ("--data", str(folder / "source"))
    done("project", "create", "图书馆", *at)
    done("table", "create", "1", "books", VALUE, *at)
    big = json.dumps(["语言 " * 100_000] * 4, ensure_ascii=False)
    done("table", "create", "1", "big", "-", *at, input=big)
    return folder / "source"


@pytest.fixture(scope="module")
def made(source: Path) -> Path:
    """A backup of the data folder. Tests only read it."""
    done("backup", str(source.with_name("made.backup")), "--data", str(source))
    return source.with_name("made.backup")


def test_a_backup_of_a_folder_or_a_running_server_can_be_restored(
    source: Path, tmp_path: Path, start_server: Callable[..., Server]
) -> None:
    shutil.copytree(source, tmp_path / "copy")
    at = ("--data", str(tmp_path / "copy"))
    backup_and_restore(tmp_path / "alone", *at)
    server = start_server(data=tmp_path / "copy")
    backup_and_restore(tmp_path / "served", *at)
    backup_and_restore(tmp_path / "remote", "--url", server.url, "--key", server.token)


def backup_and_restore(folder: Path, *target: str) -> None:
    folder.mkdir()
    file, new = folder / "all.backup", ("--data", str(folder / "new"))
    ended = done("backup", str(file), *target)
    assert ended.out.startswith(f"✓ {file} contains everything saved until now")
    assert ended.err == ""
    assert file.stat().st_mode & 0o777 == 0o600
    assert [each.name for each in folder.iterdir()] == ["all.backup"]
    assert done("restore", str(file), *new).out.startswith(f"✓ {file} is restored into {folder / 'new'}.")
    assert done("table", "get", "1", "--raw", *new).out == VALUE + "\n"
    assert done("table", "list", "1", "--json", *new).json == done("table", "list", "1", "--json", *target).json
    assert done("project", "create", "next", "--json", *new).json["id"] == 2


def test_a_restored_folder_gets_a_token_of_its_own(source: Path, made: Path, tmp_path: Path) -> None:
    done("restore", str(made), "--data", str(tmp_path / "new"))
    done("project", "list", "--data", str(tmp_path / "new"))
    tokens = {(folder / "owner-token").read_text() for folder in (source, tmp_path / "new")}
    assert len(tokens) == 2


def test_a_backup_goes_from_a_folder_to_postgresql_and_back(
    made: Path, tmp_path: Path, new_postgres_database: Callable[[], str]
) -> None:
    url, at = new_postgres_database(), ("--data", str(tmp_path / "pg"))
    assert "restored into PostgreSQL" in done("restore", str(made), *at, FINDSPOT_DATABASE_URL=url).out
    assert done("table", "get", "1", "--raw", *at, FINDSPOT_DATABASE_URL=url).out == VALUE + "\n"
    done("restore", str(made), *at, FINDSPOT_DATABASE_URL=url, code=5)
    again = tmp_path / "again.backup"
    assert done("backup", str(again), "--json", *at, FINDSPOT_DATABASE_URL=url).json["database"] == "postgresql"
    done("restore", str(again), "--data", str(tmp_path / "back"))
    assert done("table", "get", "1", "--raw", "--data", str(tmp_path / "back")).out == VALUE + "\n"


def test_backup_and_restore_print_json(source: Path, tmp_path: Path) -> None:
    file = str(tmp_path / "all.backup")
    made = done("backup", file, "--json", "--data", str(source)).json
    assert (made["file"], made["database"], made["rows"]["tables"]) == (file, "sqlite", 2)
    assert made["bytes"] == Path(file).stat().st_size
    checked = done("restore", "--check", file, "--json").json
    assert checked == {**made, "restored": False}
    restored = done("restore", file, "--json", "--data", str(tmp_path / "new")).json
    assert restored == {**made, "restored": True}
    refused = done("restore", file, "--json", "--data", str(tmp_path / "new"), code=5)
    assert "only be restored into an empty store" in refused.error["message"]


def test_people_see_the_size_and_what_they_made_but_no_tables_of_the_database(tmp_path: Path) -> None:
    at, file = ("--data", str(tmp_path / "source")), str(tmp_path / "all.backup")
    done("project", "create", "图书馆", *at)
    done("table", "create", "1", "books", VALUE, *at)
    for text in ("The tide.", "潮汐。"):
        done("document", "create", "1", text, text, *at)
    done("document", "save", "2", "月亮。", *at)
    for report in (done("backup", file, *at).out, done("restore", "--check", file).out):
        _, created, size, *rows = report.splitlines()
        assert (created.split()[0], size.split()[0]) == ("created", "size")
        assert " ".join(" ".join(rows).split()) == "projects 1 tables 1 documents 2 versions 1"


def test_embeddings_can_be_omitted(source: Path, tmp_path: Path) -> None:
    file = str(tmp_path / "all.backup")
    made = done("backup", file, "--without-embeddings", "--json", "--data", str(source)).json
    assert "embedding_cache" not in made["rows"]
    done("restore", file, "--data", str(tmp_path / "new"))


def test_an_existing_file_is_replaced_only_with_force(made: Path, source: Path, tmp_path: Path) -> None:
    file = tmp_path / "old.backup"
    shutil.copy(made, file)
    before = file.read_bytes()
    refused = done("backup", str(file), "--data", str(source), code=5)
    assert "exists already" in refused.err
    assert file.read_bytes() == before
    (tmp_path / "old.backup.partial").write_text("left by a command that was killed")
    done("backup", str(file), "--force", "--data", str(source))
    assert file.read_bytes() != before  # it contains its time of creation
    assert not (tmp_path / "old.backup.partial").exists()
    assert "is a folder" in done("backup", str(source), "--force", "--data", str(source), code=2).err
    assert "cannot be written" in done("backup", "/dev/null/x", "--data", str(source), code=2).err


def test_a_backup_can_go_to_a_pipe_but_not_with_json(source: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "findspot", "backup", "-", "--data", str(source)]
    piped = subprocess.run(command, capture_output=True, timeout=120, check=True)
    (tmp_path / "piped").write_bytes(piped.stdout)
    done("restore", "--check", str(tmp_path / "piped"))
    assert "cannot be printed" in done("backup", "-", "--json", "--data", str(source), code=2).error["message"]


def test_only_the_owner_may_and_a_refusal_leaves_no_file(
    tmp_path: Path, served: tuple[Server, Path], remote: Callable[..., Outcome]
) -> None:
    project = str(remote("project", "create", "p", "--json").json["id"])
    key = remote("key", "create", project, "k", "--role", "admin", "--json").json["key"]
    ended = done("backup", str(tmp_path / "all.backup"), "--url", served[0].url, "--key", key, code=4)
    assert "needs the role 'owner'" in ended.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("harm", ["truncated", "altered", "appended to", "not a backup", "missing"])
def test_a_damaged_backup_is_refused_and_nothing_is_changed(harm: str, made: Path, tmp_path: Path) -> None:
    data = made.read_bytes()
    wrong, file = {
        "truncated": data[:-1],
        "altered": data[:500] + bytes([data[500] ^ 1]) + data[501:],
        "appended to": data + b"x",
        "not a backup": b"PK not one of ours",
    }, tmp_path / "wrong.backup"  # fmt: skip
    if harm in wrong:
        file.write_bytes(wrong[harm])
    (tmp_path / "used").mkdir()
    (tmp_path / "used" / "file").touch()
    before = sorted(tmp_path.rglob("*"))
    for target in ("new", "used"):
        assert done("restore", str(file), "--data", str(tmp_path / target), code=2).out == ""
    done("restore", "--check", str(file), code=2)
    assert sorted(tmp_path.rglob("*")) == before


def test_a_backup_is_not_restored_into_the_folder_of_a_running_server(made: Path, served: tuple[Server, Path]) -> None:
    ended = done("restore", str(made), "--data", str(served[1]), code=7)
    assert "is in use by another Findspot" in ended.err


def test_a_check_changes_nothing(made: Path, tmp_path: Path) -> None:
    report = done("restore", "--check", str(made), "--data", str(tmp_path / "new")).out
    assert report.startswith(f"✓ {made} is complete.")
    assert list(tmp_path.iterdir()) == []


def test_a_backup_of_a_busy_server_is_a_snapshot(tmp_path: Path, served: tuple[Server, Path]) -> None:
    """Writers set two tables to the same number, one after the other, while backups are created."""
    server, _ = served
    with server.client() as client:
        project = client.post("/api/v1/projects", json={"name": "p"}).json()["id"]
        path = f"/api/v1/projects/{project}/tables"
        tables = [client.post(path, json={"name": "t", "data": {"n": 0}}).json()["id"] for _ in range(6)]
    pairs = list(zip(tables[::2], tables[1::2], strict=True))
    with _writing(server, pairs) as progress:
        for number in range(2):
            done("backup", str(tmp_path / f"{number}"), "--url", server.url, "--key", server.token)
            progress.wait()
    seen = []
    for number in range(2):
        at = ("--data", str(tmp_path / f"restored {number}"))
        done("restore", str(tmp_path / f"{number}"), *at)
        for pair in pairs:
            first, second = (done("table", "get", str(table), "/n", "--json", *at).json["data"] for table in pair)
            assert 0 <= first - second <= 1
            seen.append(first)
    assert seen[-1] > seen[2] >= 0


class _Progress:
    """Counts the rounds of each writer, and waits until each has done one more."""

    def __init__(self, writers: int) -> None:
        self.stop = threading.Event()
        self.counts = [0] * writers
        self.changed = threading.Condition()

    def note(self, writer: int) -> None:
        with self.changed:
            self.counts[writer] += 1
            self.changed.notify_all()

    def wait(self) -> None:
        with self.changed:
            before = list(self.counts)
            assert self.changed.wait_for(
                lambda: all(now > then for now, then in zip(self.counts, before, strict=True)), timeout=120
            )


@contextmanager
def _writing(server: Server, pairs: list[tuple[int, int]]) -> Iterator[_Progress]:
    progress = _Progress(len(pairs))

    def write(writer: int) -> None:
        with server.client() as client:
            number = 0
            while not progress.stop.is_set():
                number += 1
                for table in pairs[writer]:
                    value = {"n": number, "text": f"{number}字" * (1, 1_000, 30_000)[writer]}
                    answer = client.put(f"/api/v1/tables/{table}/data", json=value)
                    assert answer.status_code == 200, answer.text
                progress.note(writer)

    threads = [threading.Thread(target=write, args=(writer,)) for writer in range(len(pairs))]
    for thread in threads:
        thread.start()
    try:
        progress.wait()
        yield progress
    finally:
        progress.stop.set()
        for thread in threads:
            thread.join()


# ── a faulty server ──


@contextmanager
def _answering(answer: bytes) -> Iterator[str]:
    """A server that sends the same response to every request and closes the connection."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        thread.join()


@pytest.mark.parametrize(
    ("body", "announced", "code", "sentence"),
    [
        (b"half of it", 1000, 7, "does not answer"),
        (b"something else", 14, 2, "not a Findspot backup"),
        (b"", 0, 2, "not a Findspot backup"),
    ],
)
def test_an_incomplete_response_leaves_no_file(
    body: bytes, announced: int, code: int, sentence: str, tmp_path: Path
) -> None:
    head = f"HTTP/1.1 200 OK\r\nContent-Length: {announced}\r\nConnection: close\r\n\r\n"
    with _answering(head.encode() + body) as url:
        ended = done("backup", str(tmp_path / "x"), "--url", url, "--key", "k", code=code)
    assert sentence in ended.err
    assert list(tmp_path.iterdir()) == []


def test_the_backup_route_stops_when_its_reader_goes_away(served: tuple[Server, Path]) -> None:
    server, _ = served
    with server.client() as client:
        for _ in range(20):  # more than there are database readers
            with client.stream("GET", "/internal/backup") as response:
                assert response.headers["content-disposition"].endswith('.backup"')
                next(response.iter_raw(10))
        assert client.get("/api/v1/projects").status_code == 200
        assert client.post("/api/v1/projects", json={"name": "p"}).status_code == 201
        assert client.get("/internal/backup", params={"embeddings": "perhaps"}).status_code == 422


def test_progress_is_printed_every_few_seconds_and_not_with_json(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(*, silent: bool) -> str:
        clock = iter((0.0, 1.0, 6.0, 6.0))
        monkeypatch.setattr("time.monotonic", lambda: next(clock))
        with show_progress("Checking", 8_000_000, unit="bytes", silent=silent) as progress:
            progress(10)
            progress(4_000_000)
        monkeypatch.undo()
        return capsys.readouterr().err

    assert run(silent=False) == "Checking: 4.0 MB of 8.0 MB\n"
    assert run(silent=True) == ""
