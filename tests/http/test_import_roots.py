"""Paths, dates, renamed and missing files of imports over HTTP, on both databases."""

import io
import tarfile
import unicodedata
import zipfile
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2
import pytest

from tests.archives import tar_of, zip_of
from tests.flows import settle
from tests.http.test_import import listed, send
from tests.http.test_workspace_results import app_of

DATE = datetime(2021, 5, 6, 7, 8, 10, tzinfo=UTC)
FILES = {
    "notes/山海经.md": "---\ntitle: x\n---\n\n# 山海经\n\n南山之首曰**鹊山**。".encode(),
    "notes/plain.txt": b"first line\nthe keeper of the light",
    "data/books.json": b'[{"title": "Mardi"}]',
    "data/log.jsonl": b'{"n":1}\n',
}


@pytest.fixture
async def project(owner: httpx2.AsyncClient) -> int:
    return int((await owner.post("/api/v1/projects", json={"name": "p"})).json()["id"])


def dated_tar(files: Mapping[str, tuple[bytes, float]]) -> bytes:
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w") as archive:
        for name, (data, modified) in files.items():
            info = tarfile.TarInfo(name)
            info.size, info.mtime = len(data), modified
            archive.addfile(info, io.BytesIO(data))
    return target.getvalue()


def result(line: dict[str, Any]) -> dict[str, int]:
    names = ("created", "changed", "renamed", "unchanged", "skipped", "deleted")
    return {name: line[name] for name in names if line[name]}


async def complete(owner: httpx2.AsyncClient, project: int, files: Mapping[str, bytes], **query: str) -> dict[str, Any]:
    lines = await send(owner, project, tar_of(files), **{"root": "notes", "complete": "true", **query})
    return lines[-1]


async def by_path(owner: httpx2.AsyncClient, project: int) -> dict[str, Any]:
    return {each["path"]: each for kind in await listed(owner, project) for each in kind.values()}


async def test_documents_and_tables_keep_the_path_and_date_of_their_files(
    owner: httpx2.AsyncClient, project: int
) -> None:
    await send(owner, project, dated_tar({name: (data, DATE.timestamp()) for name, data in FILES.items()}))
    documents, tables = await listed(owner, project)
    assert {each["path"] for each in (*documents.values(), *tables.values())} == set(FILES)
    assert {each["updatedAt"] for each in documents.values()} == {"2021-05-06T07:08:10Z"}
    assert {each["updated_at"] for each in tables.values()} == {"2021-05-06T07:08:10Z"}
    one = documents["plain"]["id"]
    shown = (await owner.get(f"/api/v1/documents/{one}")).json()
    assert (shown["path"], shown["updatedAt"]) == ("notes/plain.txt", "2021-05-06T07:08:10Z")

    before = datetime.now(UTC)
    await owner.put(f"/api/v1/documents/{one}", json={"content": "edited"})
    saved = (await owner.get(f"/api/v1/documents/{one}")).json()
    assert datetime.fromisoformat(saved["updatedAt"]) >= before
    assert (saved["path"], saved["revision"]) == ("notes/plain.txt", 2)


async def test_a_date_that_cannot_be_true_becomes_the_time_of_the_import(
    owner: httpx2.AsyncClient, project: int
) -> None:
    before = datetime.now(UTC)
    future = (before + timedelta(days=400)).timestamp()
    nonsense = datetime(1980, 1, 1, tzinfo=UTC).timestamp()
    dates = {"zero.md": 0.0, "first.md": nonsense, "future.md": future, "huge.md": 8e10, "data.json": future}
    await send(owner, project, dated_tar({name: (b"[1]", date) for name, date in dates.items()}))
    after = datetime.now(UTC)
    documents, tables = await listed(owner, project)
    found = [each["updatedAt"] for each in documents.values()] + [each["updated_at"] for each in tables.values()]
    assert len(found) == 5
    assert all(before <= datetime.fromisoformat(date) <= after for date in found)


async def test_the_local_date_of_a_zip_is_taken_as_utc(owner: httpx2.AsyncClient, project: int) -> None:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        archive.writestr(zipfile.ZipInfo("local.md", (2021, 5, 6, 7, 8, 10)), b"# local")
        exact = zipfile.ZipInfo("exact.md", (2021, 5, 6, 7, 8, 10))
        exact.extra = b"\x55\x54\x05\x00\x01" + int(DATE.timestamp() - 3600).to_bytes(4, "little")
        archive.writestr(exact, b"# exact")
        archive.writestr(zipfile.ZipInfo("none.md"), b"# none")
    before = datetime.now(UTC)
    await send(owner, project, target.getvalue())
    dates = {title: each["updatedAt"] for title, each in (await listed(owner, project))[0].items()}
    assert (dates["local"], dates["exact"]) == ("2021-05-06T07:08:10Z", "2021-05-06T06:08:10Z")
    assert datetime.fromisoformat(dates["none"]) >= before


async def test_a_single_file_has_the_date_that_the_request_names(owner: httpx2.AsyncClient, project: int) -> None:
    await send(owner, project, b"# One", path="一.md", modified="2021-05-06T09:08:10+02:00")
    assert (await listed(owner, project))[0]["One"]["updatedAt"] == "2021-05-06T07:08:10Z"
    refused = await owner.post(
        f"/api/v1/projects/{project}/import", content=b"x", params={"path": "b.md", "modified": "yesterday"}
    )
    assert (refused.status_code, refused.json()["code"]) == (422, "INVALID_ARGUMENT")


async def test_hits_show_the_path_line_and_column_of_the_match(owner: httpx2.AsyncClient, project: int) -> None:
    await send(owner, project, tar_of(FILES), root="notes")
    body = {"title": "typed", "format": "text", "content": "the keeper sleeps"}
    await owner.post(f"/api/v1/projects/{project}/documents", json=body)
    await settle(app_of(owner))

    async def places(query: str) -> list[tuple[Any, ...]]:
        answer = await owner.post(f"/api/v1/projects/{project}/search/fts/query", json={"query": query})
        return [(each["path"], each["line"], each["column"]) for each in answer.json()["results"]]

    assert await places("鹊山") == [("notes/山海经.md", 7, 8)]
    assert set(await places("keeper")) == {("notes/plain.txt", 2, 5), (None, None, None)}


async def test_a_hit_in_a_document_that_the_index_is_behind_has_its_new_line(
    owner: httpx2.AsyncClient, project: int
) -> None:
    await send(owner, project, tar_of(FILES), root="notes")
    app = app_of(owner)
    await settle(app)
    await app.index_worker.close()
    document = (await listed(owner, project))[0]["plain"]["id"]
    content = "new\n新的一行\nfirst line\nthe keeper of the light"
    await owner.put(f"/api/v1/documents/{document}", json={"content": content})
    answer = await owner.post(f"/api/v1/projects/{project}/search/fts/query", json={"query": "keeper"})
    assert [(each["line"], each["column"]) for each in answer.json()["results"]] == [(4, 5)]


async def test_importing_the_same_folder_twice_changes_nothing(owner: httpx2.AsyncClient, project: int) -> None:
    assert result(await complete(owner, project, FILES)) == {"created": 4}
    before = await listed(owner, project)
    last = await complete(owner, project, {unicodedata.normalize("NFD", name): data for name, data in FILES.items()})
    assert (result(last), last["missing_files"]) == ({"unchanged": 4}, [])
    assert await listed(owner, project) == before


async def test_a_renamed_file_keeps_its_id_and_versions_and_its_title_follows(
    owner: httpx2.AsyncClient, project: int
) -> None:
    await complete(owner, project, {**FILES, "notes/plain.txt": b"first draft"})
    await complete(owner, project, FILES)
    before = await by_path(owner, project)
    names = {
        "notes/山海经.md": "卷一/cafe\u0301山海.md",
        "notes/plain.txt": "notes/光.txt",
        "data/books.json": "books/library.json",
        "data/log.jsonl": "data/log.jsonl",
    }
    last = await complete(owner, project, {names[name]: data for name, data in FILES.items()})
    assert (result(last), last["missing_files"]) == ({"renamed": 3, "unchanged": 1}, [])
    after = await by_path(owner, project)
    assert {unicodedata.normalize("NFC", names[path]): each["id"] for path, each in before.items()} == {
        path: each["id"] for path, each in after.items()
    }
    assert after["notes/光.txt"]["title"] == "光"
    assert after["books/library.json"]["name"] == "library"
    assert after["卷一/caf\u00e9山海.md"]["title"] == "山海经"
    versions = await owner.get(f"/api/v1/documents/{after['notes/光.txt']['id']}/versions")
    assert len(versions.json()["versions"]) == 1
    assert result(await complete(owner, project, {names[name]: data for name, data in FILES.items()})) == {
        "unchanged": 4
    }


async def test_a_copied_file_is_a_new_document_and_a_title_that_people_chose_stays(
    owner: httpx2.AsyncClient, project: int
) -> None:
    await complete(owner, project, {"a.txt": b"same words", "b.txt": b"other words"})
    chosen = (await by_path(owner, project))["b.txt"]["id"]
    await owner.put(f"/api/v1/documents/{chosen}", json={"title": "我的标题"})
    last = await complete(owner, project, {"a.txt": b"same words", "copy.txt": b"same words", "c.txt": b"other words"})
    assert result(last) == {"created": 1, "renamed": 1, "unchanged": 1}
    found = await by_path(owner, project)
    assert (found["c.txt"]["id"], found["c.txt"]["title"]) == (chosen, "我的标题")


async def test_of_equal_files_each_finds_the_one_of_its_own_name(owner: httpx2.AsyncClient, project: int) -> None:
    await complete(owner, project, {"old/x.md": b"todo", "old/y.md": b"todo", "keep.md": b"keep"})
    before = await by_path(owner, project)
    last = await complete(owner, project, {"new/y.md": b"todo", "new/x.md": b"todo", "keep.md": b"keep"})
    assert result(last) == {"renamed": 2, "unchanged": 1}
    after = await by_path(owner, project)
    assert {path: after[f"new/{path[4:]}"]["id"] for path in ("old/x.md", "old/y.md")} == {
        path: before[path]["id"] for path in ("old/x.md", "old/y.md")
    }


async def test_an_edited_document_whose_file_was_renamed_gets_the_file_and_keeps_the_edit(
    owner: httpx2.AsyncClient, project: int
) -> None:
    await complete(owner, project, {"a.txt": b"words", "b.txt": b"b"})
    document = (await by_path(owner, project))["a.txt"]["id"]
    await owner.put(f"/api/v1/documents/{document}", json={"content": "my edit"})
    assert result(await complete(owner, project, {"z.txt": b"words", "b.txt": b"b"})) == {"renamed": 1, "unchanged": 1}
    shown = (await owner.get(f"/api/v1/documents/{document}")).json()
    assert (shown["path"], shown["content"], shown["title"]) == ("z.txt", "words", "z")
    versions = (await owner.get(f"/api/v1/documents/{document}/versions")).json()["versions"]
    newest = await owner.get(f"/api/v1/documents/{document}/versions/{versions[0]['id']}")
    assert newest.json()["content"] == "my edit"


async def test_prune_deletes_what_is_gone_from_its_root_and_nothing_else(
    owner: httpx2.AsyncClient, project: int
) -> None:
    await complete(owner, project, FILES)
    await send(owner, project, tar_of({"elsewhere.md": b"# Elsewhere"}), root="other")
    await send(owner, project, b"# Alone", path="alone.md")
    body = {"title": "typed", "format": "text", "content": "x"}
    await owner.post(f"/api/v1/projects/{project}/documents", json=body)
    kept = {"notes/山海经.md": FILES["notes/山海经.md"]}

    listing = await complete(owner, project, kept)
    assert {each["path"] for each in listing["missing_files"]} == set(FILES) - set(kept)
    assert {each["kind"] for each in listing["missing_files"]} == {"document", "table"}
    assert len(await by_path(owner, project)) == 7

    last = await complete(owner, project, kept, prune="true")
    assert (result(last), len(last["missing_files"])) == ({"unchanged": 1, "deleted": 3}, 3)
    assert set(await by_path(owner, project)) == {"notes/山海经.md", "elsewhere.md", "alone.md", None}
    assert result(await complete(owner, project, FILES)) == {"created": 3, "unchanged": 1}


async def test_a_folder_in_parts_is_compared_first_and_pruned_last(owner: httpx2.AsyncClient, project: int) -> None:
    await send(owner, project, tar_of({"一.md": b"# One", "two.md": b"# Two", "three.md": b"# Three"}), root="文件夹")
    url = f"/api/v1/projects/{project}/import"
    listing = {"root": "文件夹", "paths": ["一.md", "zwei.md"]}
    missing = (await owner.post(f"{url}/compare", json=listing)).json()["missing"]
    assert [each["path"] for each in missing] == ["three.md", "two.md"]
    *_, last = await send(owner, project, tar_of({"zwei.md": b"# Two"}), root="文件夹")
    assert result(last) == {"renamed": 1}
    missing = (await owner.post(f"{url}/compare", json=listing)).json()["missing"]
    assert [each["path"] for each in missing] == ["three.md"]
    wanted = {"root": "文件夹", "paths": ["three.md", "一.md", "unknown.md"]}
    assert (await owner.post(f"{url}/prune", json={**wanted, "root": "other"})).json() == {"deleted": 0}
    assert (await owner.post(f"{url}/prune", json=wanted)).json() == {"deleted": 1}
    assert set(await by_path(owner, project)) == {"一.md", "zwei.md"}


async def test_a_file_that_comes_back_is_not_missing_any_more(owner: httpx2.AsyncClient, project: int) -> None:
    await complete(owner, project, {"a.md": b"# A", "b.md": b"# B"})
    await complete(owner, project, {"a.md": b"# A"})
    await send(owner, project, tar_of({"b.md": b"# B"}), root="notes")
    url = f"/api/v1/projects/{project}/import/prune"
    assert (await owner.post(url, json={"root": "notes", "paths": ["b.md"]})).json() == {"deleted": 0}


@pytest.mark.parametrize(
    ("query", "body", "field"),
    [
        ({"complete": "true"}, zip_of({"a.md": b"a"}), "root"),
        ({"prune": "true"}, zip_of({"a.md": b"a"}), "root"),
        ({"prune": "true", "root": "r", "path": "a.md"}, b"# A", "body"),
        ({"prune": "true", "root": "r"}, zip_of({"a.pdf": b"a"}), "body"),
        ({"prune": "true", "root": "r"}, tar_of({"a.md": b"a" * 2000})[:1024], "body"),
        ({"root": " "}, zip_of({"a.md": b"a"}), "root"),
    ],
)
@pytest.mark.one_database
async def test_an_incomplete_or_nameless_folder_is_refused_and_changes_nothing(
    owner: httpx2.AsyncClient, project: int, query: dict[str, str], body: bytes, field: str
) -> None:
    await send(owner, project, tar_of({"b.md": b"# B"}), root="r")
    refused = await owner.post(f"/api/v1/projects/{project}/import", content=body, params=query)
    assert (refused.status_code, refused.json()["field"]) == (422, field), refused.text
    assert set(await by_path(owner, project)) == {"b.md"}


@pytest.mark.parametrize(
    "body", [{"root": "r", "paths": []}, {"root": "r", "paths": ["../a"]}, {"paths": ["a"]}, {"root": "r", "paths": 1}]
)
@pytest.mark.parametrize("route", ["compare", "prune"])
@pytest.mark.one_database
async def test_an_invalid_listing_is_refused(owner: httpx2.AsyncClient, project: int, body: Any, route: str) -> None:
    refused = await owner.post(f"/api/v1/projects/{project}/import/{route}", json=body)
    assert (refused.status_code, refused.json()["code"]) == (422, "INVALID_ARGUMENT")
