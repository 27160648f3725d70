"""`findspot import` and `findspot export`."""

import json
import os
import sys
import tarfile
import threading
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from findspot.surfaces.cli import upload
from tests.archives import tar_of, zip_of
from tests.cli.command import Outcome, Terminal
from tests.web_servers import Handler, serving

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


@pytest.fixture
def project(remote: Command) -> str:
    """A new project of the shared server."""
    return str(remote("project", "create", "p", "--json").json["id"])


def counts(outcome: Outcome) -> tuple[int, ...]:
    assert outcome.code == 0, outcome.err
    return tuple(outcome.json[result] for result in ("created", "changed", "unchanged", "skipped"))


def test_importing_a_folder_again_updates_only_changed_files(remote: Command, project: str, tmp_path: Path) -> None:
    folder = write(tmp_path / "in", FILES)
    assert counts(remote("import", project, str(folder), "--json")) == (5, 0, 0, 0)
    assert counts(remote("import", project, f"{folder}/", "--json")) == (0, 0, 5, 0)
    write(folder, {"a.md": b"# New", "log.jsonl": b"1\n", "b.md": b"b"})
    report = remote("import", project, str(folder))
    assert "1 created, 2 changed, 3 unchanged, 0 skipped" in report.out
    listed = remote("table", "list", project, "--json").json["tables"]
    assert {each["name"]: each["revision"] for each in listed} == {"data": 1, "log": 2}


def test_skipped_files_are_listed_with_their_reason(remote: Command, project: str, tmp_path: Path) -> None:
    folder = write(
        tmp_path / "in", {**FILES, "x.pdf": b"%PDF", "gbk.txt": "山海经，".encode("gb18030"), ".git/c.md": b"c"}
    )
    (folder / "out.md").symlink_to("/etc/passwd")
    (folder / "loop").symlink_to(folder, target_is_directory=True)
    outcome = remote("import", project, str(folder))
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


def test_many_files_that_are_skipped_for_one_reason_share_a_line(remote: Command, project: str, tmp_path: Path) -> None:
    alike = {f"图/{number:02}.png": b"x" for number in range(30)}
    many = write(tmp_path / "many", {**alike, "empty.md": b"", **{f"{number}.x{number}": b"x" for number in range(25)}})
    report = remote("import", project, str(many)).out.splitlines()
    assert report[1].startswith("  30 files, such as 图/00.png: .png files are not imported;")
    assert report[-2:] == ["  and 6 more files skipped.", "  '--json' lists all skipped files."]
    assert len(report) == 1 + 1 + 20 + 2
    assert len(remote("import", project, str(many), "--json").json["skipped_files"]) == 56


def test_archives_single_files_and_standard_input_are_imported(
    remote: Command, project: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upload, "PACKET_FILES", 2)
    archives = {
        "a.zip": zip_of(FILES),
        "a.tar": tar_of(FILES),
        "a.tar.gz": tar_of(FILES, pressed=True),
        "a.tgz": tar_of(FILES, pressed=True),
    }
    for number, (name, data) in enumerate(archives.items()):
        (tmp_path / name).write_bytes(data)
        expected = (0, 0, 5, 0) if number else (5, 0, 0, 0)
        assert counts(remote("import", project, str(tmp_path / name), "--json")) == expected
        assert counts(remote("import", project, "-", "--json", input=data)) == (0, 0, 5, 0)
    single = write(tmp_path, {"a.md": b"# First\n\nwords"}) / "a.md"
    assert counts(remote("import", project, str(single), "--json")) == (0, 0, 1, 0)
    assert counts(remote("import", project, "-", "--name", "b.md", "--json", input=b"b")) == (1, 0, 0, 0)


def test_a_damaged_archive_or_missing_file_is_reported(remote: Command, project: str, tmp_path: Path) -> None:
    (tmp_path / "cut.zip").write_bytes(zip_of(FILES)[:-40])
    (tmp_path / "none.tar").write_bytes(b"hello")
    for name in ("cut.zip", "none.tar"):
        outcome = remote("import", project, str(tmp_path / name))
        assert (outcome.code, name in outcome.err) == (2, True)
    assert remote("import", project, str(tmp_path / "missing")).code == 2
    assert remote("import", project, "-", input=b"# text").code == 2
    assert remote("import", "999999", str(write(tmp_path / "in", FILES))).code == 3


def test_a_second_file_with_the_same_path_is_skipped(remote: Command, project: str, tmp_path: Path) -> None:
    one, two = write(tmp_path / "one", {"a.md": b"1"}), write(tmp_path / "two", {"a.md": b"2", "b.md": b"b"})
    outcome = remote("import", project, str(one), str(two), "--json")
    assert counts(outcome) == (2, 0, 0, 1)
    assert outcome.json["skipped_files"][0]["path"] == "a.md"


def test_a_file_larger_than_a_packet_is_imported(remote: Command, project: str, tmp_path: Path) -> None:
    large = json.dumps(["word " * 20] * 100_000).encode()
    assert counts(remote("import", project, str(write(tmp_path / "in", {"l.json": large})), "--json")) == (1, 0, 0, 0)


def test_packets_are_split_if_the_server_accepts_only_small_requests(alone: Command, tmp_path: Path) -> None:
    project = str(alone("project", "create", "p", "--json").json["id"])
    files = {f"{number}.txt": b"x" * 1000 for number in range(40)} | {"big.txt": b"y" * 30_000}
    folder = write(tmp_path / "in", files)
    outcome = alone("import", project, str(folder), "--json", FINDSPOT_MAX_BODY="20000")
    assert counts(outcome) == (40, 0, 0, 1)
    assert outcome.json["skipped_files"][0]["path"] == "big.txt"


def test_an_export_to_a_folder_or_an_archive_can_be_imported_again(
    remote: Command, project: str, tmp_path: Path
) -> None:
    remote("import", project, str(write(tmp_path / "in", FILES)))
    folder, pressed, plain = tmp_path / "out", tmp_path / "out.tar.gz", tmp_path / "out.tar"
    for target in (folder, pressed, plain):
        outcome = remote("export", project, str(target))
        assert (outcome.code, outcome.err) == (0, ""), outcome.err
        refused = remote("export", project, str(target))
        assert (refused.code, "already" in refused.err) == (5, True)
    assert (folder / "documents/notes/第三章.md").read_bytes() == FILES["notes/第三章.md"]
    assert (folder / "tables/data.json").read_bytes() == FILES["data.json"]
    with tarfile.open(pressed) as one, tarfile.open(plain) as other:
        assert sorted(one.getnames()) == sorted(other.getnames())
    assert not list(tmp_path.glob(".*partial"))
    for source in (folder, pressed, plain):
        copy = str(remote("project", "create", "copy", "--json").json["id"])
        outcome = remote("import", copy, str(source), "--json")
        assert counts(outcome)[0] == 5, outcome.out
        assert counts(remote("import", copy, str(tmp_path / "in"), "--json")) == (0, 0, 5, 0)
    zipped = remote("export", project, str(tmp_path / "out.zip"))
    assert (zipped.code, "End it in .tar or .tar.gz." in zipped.err) == (2, True)
    assert not (tmp_path / "out.zip").exists()
    assert remote("export", "999999", str(tmp_path / "none")).code == 3
    assert not (tmp_path / "none").exists()


def test_without_a_server_import_and_export_work_on_the_data_folder(alone: Command, tmp_path: Path) -> None:
    assert alone("project", "create", "p").code == 0
    assert counts(alone("import", "1", str(write(tmp_path / "in", FILES)), "--json")) == (5, 0, 0, 0)
    assert alone("export", "1", str(tmp_path / "out")).code == 0
    assert (tmp_path / "out/tables/data.json").read_bytes() == FILES["data.json"]


@pytest.fixture
def stalled() -> Iterator[str]:
    """A server that reports one imported file and then stalls until the test ends."""
    done = threading.Event()

    class Import(Handler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.end_headers()
            if self.path.endswith("/compare"):
                self.wfile.write(b'{"missing": []}')
                return
            self.wfile.write(b'{"created": 1, "changed": 0, "renamed": 0, "unchanged": 0, "skipped": 0}\n')
            self.wfile.flush()
            assert done.wait(120)

    with serving(Import) as url:
        yield url
        done.set()


@pytest.mark.skipif(sys.platform != "linux", reason="terminals differ")
def test_ctrl_c_stops_an_import_and_prints_how_far_it_came(tmp_path: Path, stalled: str) -> None:
    folder = write(tmp_path / "in", {f"{number}.md": b"words" for number in range(3)})
    with Terminal.running("import", "1", str(folder), "--url", stalled, "--key", "k") as terminal:
        terminal.until("1/3")
        assert terminal.interrupt() == 130
        assert "Stopped: 1 created, 0 changed, 0 unchanged, 0 skipped. Run it again to continue." in terminal.text
        assert "Traceback" not in terminal.text


def paths(remote: Command, project: str) -> set[str]:
    return {
        each["path"]
        for kind in ("document", "table")
        for each in remote(kind, "list", project, "--json").json[f"{kind}s"]
    }


def test_a_renamed_file_is_recognised_and_a_folder_keeps_its_dates(
    remote: Command, project: str, tmp_path: Path
) -> None:
    folder = write(tmp_path / "笔记", FILES)
    os.utime(folder / "a.md", (1_500_000_000, 1_500_000_000))
    remote("import", project, str(folder))
    before = {each["path"]: each for each in remote("document", "list", project, "--json").json["documents"]}
    assert before["a.md"]["updatedAt"] == "2017-07-14T02:40:00Z"
    (folder / "a.md").rename(folder / "notes" / "第一章.md")
    (folder / "notes" / "第三章.md").rename(folder / unicodedata.normalize("NFD", "é第三章.md"))
    outcome = remote("import", project, str(folder), "--json").json
    assert (outcome["renamed"], outcome["unchanged"], outcome["missing_files"]) == (2, 3, [])
    after = {each["path"]: each for each in remote("document", "list", project, "--json").json["documents"]}
    assert after["notes/第一章.md"]["id"] == before["a.md"]["id"]
    assert after["notes/第一章.md"]["updatedAt"] == "2017-07-14T02:40:00Z"
    assert after["\u00e9第三章.md"]["id"] == before["notes/第三章.md"]["id"]
    assert after["\u00e9第三章.md"]["title"] == "\u00e9第三章"


def test_prune_deletes_only_after_it_was_confirmed(remote: Command, project: str, tmp_path: Path) -> None:
    folder = write(tmp_path / "in", FILES)
    write(tmp_path / "other", {"o.md": b"# Other"})
    remote("import", project, str(folder), str(tmp_path / "other"))
    for gone in ("a.md", "log.jsonl"):
        (folder / gone).unlink()
    report = remote("import", project, str(folder))
    assert "2 files no longer in the folder; '--prune' deletes" in report.out
    refused = remote("import", project, str(folder), "--prune")
    assert refused.code == 2
    assert "a.md (document " in refused.err
    assert "log.jsonl (table " in refused.err
    assert "--yes" in refused.err
    assert paths(remote, project) == {*FILES, "o.md"}
    done = remote("import", project, str(folder), "--prune", "--yes", "--json").json
    assert (done["deleted"], {each["path"] for each in done["missing_files"]}) == (2, {"a.md", "log.jsonl"})
    assert paths(remote, project) == {*FILES, "o.md"} - {"a.md", "log.jsonl"}
    assert "0 changed, 3 unchanged, 0 skipped." in remote("import", project, str(folder), "--prune").out


def test_prune_is_refused_where_missing_files_are_not_known(remote: Command, project: str, tmp_path: Path) -> None:
    folder = write(tmp_path / "in", FILES)
    remote("import", project, str(folder))
    empty = tmp_path / "empty" / "in"
    empty.mkdir(parents=True)
    broken = tmp_path / "in.tar"
    broken.write_bytes(tar_of({"a.md": b"x" * 3000})[:2048])
    for target, why in ((folder / "a.md", "which folder"), (empty, "no file"), (broken, "completely")):
        outcome = remote("import", project, str(target), "--prune", "--yes")
        assert outcome.code == 2
        assert why in outcome.err
    assert paths(remote, project) == set(FILES)


def test_folders_of_one_root_are_compared_together(remote: Command, project: str, tmp_path: Path) -> None:
    first, second = write(tmp_path / "1" / "docs", {"a.md": b"# A"}), write(tmp_path / "2" / "docs", {"b.md": b"# B"})
    for _ in range(2):
        outcome = remote("import", project, str(first), str(second), "--prune", "--yes", "--json").json
        assert (outcome["missing_files"], outcome["deleted"]) == ([], 0)
    renamed = (tmp_path / "2").rename(tmp_path / "3") / "docs"
    (renamed / "b.md").unlink()
    write(renamed, {"c.md": b"# C"})
    done = remote("import", project, str(first), str(renamed), "--prune", "--yes", "--json").json
    assert [each["path"] for each in done["missing_files"]] == ["b.md"]
    assert paths(remote, project) == {"a.md", "c.md"}


def test_an_export_keeps_the_dates_of_its_files(remote: Command, project: str, tmp_path: Path) -> None:
    folder = write(tmp_path / "in", FILES)
    for name in FILES:
        os.utime(folder / name, (1_500_000_000, 1_500_000_000))
    remote("import", project, str(folder))
    remote("export", project, str(tmp_path / "out"))
    assert (tmp_path / "out" / "documents" / "a.md").stat().st_mtime == 1_500_000_000
    other = str(remote("project", "create", "q", "--json").json["id"])
    remote("import", other, str(tmp_path / "out"))
    assert paths(remote, other) == set(FILES)
    dates = {each["updatedAt"] for each in remote("document", "list", other, "--json").json["documents"]}
    assert dates == {"2017-07-14T02:40:00Z"}
