"""`findspot import` and `findspot export`, with a server and without."""

import json
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from findspot.surfaces.cli import upload
from tests.archives import tar_of, zip_of
from tests.cli.command import Outcome, Terminal, findspot
from tests.servers import Server

Command = Callable[..., Outcome]

FILES = {
    "a.md": b"# First\n\nwords",
    "notes/第三章.md": "林远 👩‍👩‍👧".encode(),
    "notes/deep/list.txt": b"plain",
    "data.json": b'{"n": 1.10}',
    "log.jsonl": b"1\n2\n",
}


def write(folder: Path, files: dict[str, bytes]) -> Path:
    for name, data in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    return folder


@pytest.fixture(params=["alone", "served"])
def command(request: pytest.FixtureRequest, served: tuple[Server, Path]) -> Command:
    """The command on a data folder of its own, and over a server."""
    if request.param == "alone":
        alone: Command = request.getfixturevalue("alone")
        return alone
    server, _ = served
    return lambda *arguments, **options: findspot(*arguments, "--url", server.url, "--key", server.token, **options)


@pytest.fixture
def project(command: Command) -> str:
    return str(command("project", "create", "p", "--json").json["id"])


def counts(outcome: Outcome) -> tuple[int, ...]:
    assert outcome.code == 0, outcome.err
    return tuple(outcome.json[fate] for fate in ("created", "changed", "unchanged", "skipped"))


def test_a_folder_is_imported_and_a_second_time_only_what_changed(
    command: Command, project: str, tmp_path: Path
) -> None:
    folder = write(tmp_path / "in", FILES)
    assert counts(command("import", project, str(folder), "--json")) == (5, 0, 0, 0)
    assert counts(command("import", project, f"{folder}/", "--json")) == (0, 0, 5, 0)
    write(folder, {"a.md": b"# New", "log.jsonl": b"1\n", "b.md": b"b"})
    told = command("import", project, str(folder))
    assert "1 created, 2 changed, 3 unchanged, 0 skipped" in told.out
    listed = command("table", "list", project, "--json").json["tables"]
    assert {each["name"]: each["revision"] for each in listed} == {"data": 1, "log": 2}


def test_what_is_skipped_is_listed_with_its_reason(command: Command, project: str, tmp_path: Path) -> None:
    folder = write(
        tmp_path / "in", {**FILES, "x.pdf": b"%PDF", "gbk.txt": "山海经，".encode("gb18030"), ".git/c.md": b"c"}
    )
    (folder / "out.md").symlink_to("/etc/passwd")
    (folder / "loop").symlink_to(folder, target_is_directory=True)
    outcome = command("import", project, str(folder))
    assert outcome.code == 0
    for name, why in (
        ("x.pdf", ".pdf files"),
        ("gbk.txt", "iconv"),
        (".git", "hidden"),
        ("out.md", "link"),
        ("loop", "link"),
    ):
        assert any(line.strip().startswith(f"{name}: ") and why in line for line in outcome.out.splitlines()), (
            outcome.out
        )
    many = write(tmp_path / "many", {f"{number}.exe": b"x" for number in range(30)})
    told = command("import", project, str(many)).out
    assert "and 10 more files" in told
    assert len(command("import", project, str(many), "--json").json["skipped_files"]) == 30


@pytest.mark.parametrize("name", ["a.zip", "a.tar", "a.tar.gz", "a.tgz"])
def test_archives_and_single_files_and_standard_input(
    command: Command, project: str, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upload, "PACKET_FILES", 2)
    data = zip_of(FILES) if name == "a.zip" else tar_of(FILES, pressed=name != "a.tar")
    (tmp_path / name).write_bytes(data)
    assert counts(command("import", project, str(tmp_path / name), "--json")) == (5, 0, 0, 0)
    assert counts(command("import", project, "-", "--json", input=data)) == (0, 0, 5, 0)
    single = write(tmp_path, {"a.md": b"# First\n\nwords"}) / "a.md"
    assert counts(command("import", project, str(single), "--json")) == (0, 0, 1, 0)
    assert counts(command("import", project, "-", "--name", "b.md", "--json", input=b"b")) == (1, 0, 0, 0)


def test_a_damaged_archive_is_told(command: Command, project: str, tmp_path: Path) -> None:
    (tmp_path / "cut.zip").write_bytes(zip_of(FILES)[:-40])
    (tmp_path / "none.tar").write_bytes(b"hello")
    for name in ("cut.zip", "none.tar"):
        outcome = command("import", project, str(tmp_path / name))
        assert (outcome.code, name in outcome.err) == (2, True)
    assert command("import", project, str(tmp_path / "missing")).code == 2
    assert command("import", project, "-", input=b"# text").code == 2
    assert command("import", "999999", str(write(tmp_path / "in", FILES))).code == 3


def test_two_folders_with_a_file_of_the_same_path(command: Command, project: str, tmp_path: Path) -> None:
    one, two = write(tmp_path / "one", {"a.md": b"1"}), write(tmp_path / "two", {"a.md": b"2", "b.md": b"b"})
    outcome = command("import", project, str(one), str(two), "--json")
    assert counts(outcome) == (2, 0, 0, 1)
    assert outcome.json["skipped_files"][0]["path"] == "a.md"


def test_a_file_larger_than_a_packet_arrives(command: Command, project: str, tmp_path: Path) -> None:
    large = json.dumps(["word " * 20] * 100_000).encode()
    assert counts(command("import", project, str(write(tmp_path / "in", {"l.json": large})), "--json")) == (1, 0, 0, 0)


def test_a_server_with_small_requests_gets_smaller_ones(alone: Command, tmp_path: Path) -> None:
    project = str(alone("project", "create", "p", "--json").json["id"])
    files = {f"{number}.txt": b"x" * 1000 for number in range(40)} | {"big.txt": b"y" * 30_000}
    folder = write(tmp_path / "in", files)
    outcome = alone("import", project, str(folder), "--json", FINDSPOT_MAX_BODY="20000")
    assert counts(outcome) == (40, 0, 0, 1)
    assert outcome.json["skipped_files"][0]["path"] == "big.txt"


def test_an_export_is_a_folder_or_an_archive_and_imports_again(command: Command, project: str, tmp_path: Path) -> None:
    command("import", project, str(write(tmp_path / "in", FILES)))
    folder, pressed, plain = tmp_path / "out", tmp_path / "out.tar.gz", tmp_path / "out.tar"
    for target in (folder, pressed, plain):
        outcome = command("export", project, str(target))
        assert (outcome.code, outcome.err) == (0, ""), outcome.err
        refused = command("export", project, str(target))
        assert (refused.code, "already" in refused.err) == (5, True)
    assert (folder / "documents/notes/第三章.md").read_bytes() == FILES["notes/第三章.md"]
    assert (folder / "tables/data.json").read_bytes() == FILES["data.json"]
    with tarfile.open(pressed) as one, tarfile.open(plain) as other:
        assert sorted(one.getnames()) == sorted(other.getnames())
    assert not list(tmp_path.glob(".*partial"))
    for source in (folder, pressed, plain):
        copy = str(command("project", "create", "copy", "--json").json["id"])
        outcome = command("import", copy, str(source), "--json")
        assert counts(outcome)[0] == 5, outcome.out
        assert counts(command("import", copy, str(tmp_path / "in"), "--json")) == (0, 0, 5, 0)
    assert command("export", "999999", str(tmp_path / "none")).code == 3
    assert not (tmp_path / "none").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="terminals differ")
def test_ctrl_c_stops_an_import_and_says_how_far_it_came(tmp_path: Path, served: tuple[Server, Path]) -> None:
    server, _ = served
    way = {"FINDSPOT_URL": server.url, "FINDSPOT_KEY": server.token}
    project = str(findspot("project", "create", "p", "--json", **way).json["id"])
    folder = write(
        tmp_path / "in", {f"{number}.md": b"# note %d\n" % number + b"words " * 300 for number in range(6000)}
    )
    with Terminal.running("import", project, str(folder), **way) as terminal:
        terminal.until("Importing")
        assert terminal.interrupt() == 130
        assert "Traceback" not in terminal.text
    assert counts(findspot("import", project, str(folder), "--json", **way))[3] == 0
