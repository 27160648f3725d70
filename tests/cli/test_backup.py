"""`findspot backup` and `findspot restore`, by each way that leads to the API, and when something stands in the way."""

import json
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest

from findspot.surfaces.cli.progress import show_progress
from tests.cli.command import Outcome, findspot
from tests.servers import Server

VALUE = '{"书": "红楼梦 📕", "n": 1.10, "nul": "\\u0000"}'


def done(*arguments: str, code: int = 0, **environment: str) -> Outcome:
    ended = findspot(*arguments, **environment)
    assert ended.code == code, ended
    return ended


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A data folder with a project and two tables."""
    at = ("--data", str(tmp_path / "source"))
    done("project", "create", "图书馆", *at)
    done("table", "create", "1", "books", VALUE, *at)
    (tmp_path / "big.json").write_text(json.dumps(["语言 " * 100_000] * 4, ensure_ascii=False))
    done("table", "create", "1", "big", f"@{tmp_path / 'big.json'}", *at)
    (tmp_path / "big.json").unlink()
    return tmp_path / "source"


@pytest.fixture
def made(source: Path, tmp_path: Path) -> Path:
    done("backup", str(tmp_path / "made.backup"), "--data", str(source))
    return tmp_path / "made.backup"


@pytest.mark.parametrize("way", ["no server", "a server on the folder", "a server elsewhere"])
def test_a_backup_is_made_by_each_way_and_restored_elsewhere(
    way: str, source: Path, tmp_path: Path, start_server: Callable[..., Server]
) -> None:
    file = tmp_path / "all.backup"
    how: tuple[str, ...] = ("--data", str(source))
    if way != "no server":
        server = start_server(data=source)
    if way == "a server elsewhere":
        how = ("--url", server.url, "--key", server.token)
    said = done("backup", str(file), *how)
    assert said.out.startswith(f"✓ {file} contains everything saved until now")
    assert said.err == ""
    assert file.stat().st_mode & 0o777 == 0o600
    assert sorted(each.name for each in tmp_path.iterdir()) == ["all.backup", "source"]
    new = ("--data", str(tmp_path / "new"))
    assert done("restore", str(file), *new).out.startswith(f"✓ {file} is restored into {tmp_path / 'new'}.")
    assert done("table", "get", "1", "--raw", *new).out == VALUE + "\n"
    assert done("table", "list", "1", "--json", *new).json == done("table", "list", "1", "--json", *how).json
    assert done("project", "create", "next", "--json", *new).json["id"] == 2
    tokens = [(folder / "owner-token").read_text() for folder in (source, tmp_path / "new")]
    assert tokens[0] != tokens[1]


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


def test_both_give_json(source: Path, tmp_path: Path) -> None:
    file = str(tmp_path / "all.backup")
    made = done("backup", file, "--json", "--data", str(source)).json
    assert (made["file"], made["database"], made["rows"]["tables"]) == (file, "sqlite", 2)
    assert made["bytes"] == Path(file).stat().st_size
    checked = done("restore", "--check", file, "--json").json
    assert checked == {**made, "restored": False}
    restored = done("restore", file, "--json", "--data", str(tmp_path / "new")).json
    assert restored == {**made, "restored": True}
    refused = done("restore", file, "--json", "--data", str(tmp_path / "new"), code=5)
    assert "only restored into an empty one" in refused.error["message"]


def test_embeddings_can_be_left_out(source: Path, tmp_path: Path) -> None:
    file = str(tmp_path / "all.backup")
    made = done("backup", file, "--without-embeddings", "--json", "--data", str(source)).json
    assert "embedding_cache" not in made["rows"]
    done("restore", file, "--data", str(tmp_path / "new"))


def test_a_file_is_only_replaced_when_told_to(made: Path, source: Path) -> None:
    before = made.read_bytes()
    refused = done("backup", str(made), "--data", str(source), code=5)
    assert "exists already" in refused.err
    assert made.read_bytes() == before
    (made.parent / "made.backup.partial").write_text("left by one that was killed")
    done("backup", str(made), "--force", "--data", str(source))
    assert made.read_bytes() != before  # it knows when it was made
    assert not (made.parent / "made.backup.partial").exists()
    assert "is a folder" in done("backup", str(source), "--force", "--data", str(source), code=2).err
    assert "cannot be written" in done("backup", "/dev/null/x", "--data", str(source), code=2).err


def test_standard_output_takes_a_backup_too_but_a_terminal_or_json_does_not(source: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "findspot", "backup", "-", "--data", str(source)]
    piped = subprocess.run(command, capture_output=True, timeout=60, check=True)
    (tmp_path / "piped").write_bytes(piped.stdout)
    done("restore", "--check", str(tmp_path / "piped"))
    assert "cannot be printed" in done("backup", "-", "--json", "--data", str(source), code=2).error["message"]


def test_only_the_owner_may_and_a_refusal_leaves_no_file(
    source: Path, tmp_path: Path, start_server: Callable[..., Server]
) -> None:
    key = done("key", "create", "1", "k", "--role", "admin", "--json", "--data", str(source)).json["key"]
    file = str(tmp_path / "all.backup")
    assert "needs the role 'owner'" in done("backup", file, "--key", key, "--data", str(source), code=4).err
    server = start_server(data=source)
    done("backup", file, "--key", key, "--url", server.url, code=4)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["source"]


@pytest.mark.parametrize("harm", ["cut off", "altered", "followed", "no backup", "not there"])
def test_what_is_not_whole_is_refused_and_nothing_is_touched(harm: str, made: Path, tmp_path: Path) -> None:
    data = made.read_bytes()
    wrong, file = {
        "cut off": data[:-1],
        "altered": data[:500] + bytes([data[500] ^ 1]) + data[501:],
        "followed": data + b"x",
        "no backup": b"PK not one of ours",
        "not there": b"",
    }, tmp_path / "wrong.backup"  # fmt: skip
    if harm != "not there":
        file.write_bytes(wrong[harm])
    for target in (tmp_path / "new", tmp_path / "source"):
        before = {each: each.read_bytes() for each in tmp_path.rglob("*") if each.is_file()}
        ended = done("restore", str(file), "--data", str(target), code=2)
        assert ended.out == ""
        assert {each: each.read_bytes() for each in tmp_path.rglob("*") if each.is_file()} == before
        assert not (tmp_path / "new").exists()
    done("restore", "--check", str(file), code=2)


def test_a_folder_that_a_server_has_is_left_to_it(
    made: Path, tmp_path: Path, start_server: Callable[..., Server]
) -> None:
    start_server(data=tmp_path / "busy")
    ended = done("restore", str(made), "--data", str(tmp_path / "busy"), code=7)
    assert "is in use by another Findspot" in ended.err
    assert done("project", "list", "--json", "--data", str(tmp_path / "busy")).json == {"projects": []}


def test_a_check_touches_nothing(made: Path, tmp_path: Path) -> None:
    before = sorted(map(str, tmp_path.rglob("*")))
    said = done("restore", "--check", str(made), "--data", str(tmp_path / "new")).out
    assert said.startswith(f"✓ {made} is complete.")
    assert "projects  1" in said
    assert sorted(map(str, tmp_path.rglob("*"))) == before


def test_a_backup_of_a_server_under_load_is_one_moment(tmp_path: Path, start_server: Callable[..., Server]) -> None:
    """Two tables are set to the same number, one after the other, by several writers while backups are made."""
    server = start_server()
    with server.client() as client:
        client.post("/api/v1/projects", json={"name": "p"})
        for name in ("first", "second") * 3:
            client.post("/api/v1/projects/1/tables", json={"name": name, "data": {"n": 0}})
    with _writing(server, [(1, 2), (3, 4), (5, 6)]) as progress:
        for number in range(3):
            done("backup", str(tmp_path / f"{number}"), "--url", server.url, "--key", server.token)
            progress.wait()
    seen = []
    for number in range(3):
        at = ("--data", str(tmp_path / f"restored {number}"))
        done("restore", str(tmp_path / f"{number}"), *at)
        for pair in ((1, 2), (3, 4), (5, 6)):
            first, second = (done("table", "get", str(table), "/n", "--json", *at).json["data"] for table in pair)
            assert 0 <= first - second <= 1
            seen.append(first)
    assert seen[-1] > seen[2] >= 0


class _Progress:
    """Counts what the writers have done, and waits for each of them to have done more."""

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
                lambda: all(now > then for now, then in zip(self.counts, before, strict=True)), timeout=60
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
                    value = {"n": number, "text": f"{number}字" * (1, 10_000, 300_000)[writer]}
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


# ── a server that does not do as it should ──


@contextmanager
def _answering(answer: bytes) -> Iterator[str]:
    """Something that listens and gives the same answer to everyone, then hangs up."""
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
def test_what_arrives_broken_is_not_kept(body: bytes, announced: int, code: int, sentence: str, tmp_path: Path) -> None:
    head = f"HTTP/1.1 200 OK\r\nContent-Length: {announced}\r\nConnection: close\r\n\r\n"
    with _answering(head.encode() + body) as url:
        ended = done("backup", str(tmp_path / "x"), "--url", url, "--key", "k", code=code)
    assert sentence in ended.err
    assert list(tmp_path.iterdir()) == []


def test_the_backup_route_streams_and_breaks_off_when_its_reader_goes(
    source: Path, start_server: Callable[..., Server]
) -> None:
    server = start_server(data=source)
    with server.client() as client:
        for _ in range(20):  # more than there are readers
            with client.stream("GET", "/internal/backup") as answer:
                assert answer.headers["content-disposition"].endswith('.backup"')
                next(answer.iter_raw(10))
        assert client.get("/api/v1/projects").status_code == 200
        assert client.post("/api/v1/projects", json={"name": "p"}).status_code == 201
        with pytest.raises(httpx2.HTTPStatusError):
            client.get("/internal/backup", params={"embeddings": "perhaps"}).raise_for_status()


def test_progress_is_told_in_bytes_now_and_then_and_not_to_machines(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(*, silent: bool) -> str:
        clock = iter((0.0, 1.0, 6.0, 6.0))
        monkeypatch.setattr("time.monotonic", lambda: next(clock))
        with show_progress("Checking", 8_000_000, unit="bytes", silent=silent) as moved:
            moved(10)
            moved(4_000_000)
        monkeypatch.undo()
        return capsys.readouterr().err

    assert run(silent=False) == "Checking: 4.0 MB of 8.0 MB\n"
    assert run(silent=True) == ""
