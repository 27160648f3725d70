"""Import over HTTP, on both databases."""

import json
from typing import Any

import httpx2
import pytest

from findspot.content import import_batch
from findspot.settings import Settings
from tests.archives import tar_of, zip_of

TREE = {"type": "doc", "content": [{"type": "paragraph", "content": [{"type": "text", "text": "a tree"}]}]}
FILES = {
    "a.md": b"# First\n\nwords here",
    "notes/第三章.md": "林远走进".encode(),
    "notes/readme.txt": b"plain",
    "notes/tree.json": json.dumps(TREE).encode(),
    "data/books.json": b'[{"title": "Mardi", "n": 1.10}]',
    "data/log.jsonl": b'{"n":1}\n{"n":2}\n',
}


@pytest.fixture
async def project(owner: httpx2.AsyncClient) -> int:
    return int((await owner.post("/api/v1/projects", json={"name": "p"})).json()["id"])


async def send(owner: httpx2.AsyncClient, project: int, body: bytes, **query: str) -> list[dict[str, Any]]:
    answer = await owner.post(f"/api/v1/projects/{project}/import", content=body, params=query)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/x-ndjson"
    return [json.loads(line) for line in answer.text.splitlines()]


def counts(line: dict[str, Any]) -> tuple[int, int, int, int]:
    return line["created"], line["changed"], line["unchanged"], line["skipped"]


async def listed(owner: httpx2.AsyncClient, project: int) -> tuple[dict[str, Any], dict[str, Any]]:
    documents = (await owner.get(f"/api/v1/projects/{project}/documents")).json()["documents"]
    tables = (await owner.get(f"/api/v1/projects/{project}/tables")).json()["tables"]
    return {each["title"]: each for each in documents}, {each["name"]: each for each in tables}


@pytest.mark.parametrize("pack", [zip_of, tar_of, lambda files: tar_of(files, pressed=True)])
async def test_an_archive_becomes_documents_and_tables(owner: httpx2.AsyncClient, project: int, pack: Any) -> None:
    *_, last = await send(owner, project, pack(FILES))
    assert counts(last) == (6, 0, 0, 0)
    assert (last["done"], last["total"], last["skipped_files"]) == (6, 6, [])
    documents, tables = await listed(owner, project)
    assert {title: each["format"] for title, each in documents.items()} == {
        "First": "markdown",
        "第三章": "markdown",
        "readme": "text",
        "tree": "tiptap",
    }
    assert documents["First"]["wordCount"] == 3
    content = (await owner.get(f"/api/v1/documents/{documents['tree']['id']}")).json()
    assert (content["content"], content["text"]) == (TREE, "a tree")
    books = (await owner.get(f"/api/v1/tables/{tables['books']['id']}")).text
    assert '"data":[{"title": "Mardi", "n": 1.10}]}' in books
    assert (await owner.get(f"/api/v1/tables/{tables['log']['id']}")).json()["data"] == [{"n": 1}, {"n": 2}]


async def test_a_second_import_changes_only_what_changed(owner: httpx2.AsyncClient, project: int) -> None:
    await send(owner, project, tar_of(FILES))
    before = await listed(owner, project)
    *_, last = await send(owner, project, zip_of(FILES))
    assert counts(last) == (0, 0, 6, 0)
    assert await listed(owner, project) == before

    changed = {
        **FILES,
        "a.md": b"# Second\n\nother",
        "data/log.jsonl": b"3",
        "data/books.json": b'[{"title": "Mardi", "n": 1.1 }]',
        "new.txt": b"new",
    }
    *_, last = await send(owner, project, tar_of(changed))
    assert counts(last) == (1, 3, 3, 0)
    documents, tables = await listed(owner, project)
    assert documents["Second"]["id"] == before[0]["First"]["id"]
    assert [documents[title]["revision"] for title in ("Second", "第三章", "readme", "tree", "new")] == [2, 1, 1, 1, 1]
    assert {name: each["revision"] for name, each in tables.items()} == {"books": 2, "log": 2}
    versions = (await owner.get(f"/api/v1/documents/{documents['Second']['id']}/versions")).json()["versions"]
    assert [(each["reason"], each["actor"], each["wordCount"]) for each in versions] == [("manual", "owner", 3)]
    kept = await owner.get(f"/api/v1/documents/{documents['Second']['id']}/versions/{versions[0]['id']}")
    assert (kept.json()["content"], kept.json()["title"]) == ("# First\n\nwords here", "First")


async def test_an_edited_document_is_put_back_and_the_edit_is_kept(owner: httpx2.AsyncClient, project: int) -> None:
    await send(owner, project, tar_of(FILES))
    document = (await listed(owner, project))[0]["readme"]["id"]
    await owner.put(f"/api/v1/documents/{document}", json={"content": "edited here", "title": "renamed"})
    *_, last = await send(owner, project, tar_of(FILES))
    assert counts(last) == (0, 1, 5, 0)
    versions = (await owner.get(f"/api/v1/documents/{document}/versions")).json()["versions"]
    kept = (await owner.get(f"/api/v1/documents/{document}/versions/{versions[0]['id']}")).json()
    assert (kept["content"], kept["title"]) == ("edited here", "renamed")


async def test_two_projects_have_the_same_files_each(owner: httpx2.AsyncClient, project: int) -> None:
    other = (await owner.post("/api/v1/projects", json={"name": "q"})).json()["id"]
    await send(owner, project, tar_of(FILES))
    *_, last = await send(owner, other, tar_of(FILES))
    assert counts(last) == (6, 0, 0, 0)


async def test_a_single_file_is_named_by_its_path(owner: httpx2.AsyncClient, project: int) -> None:
    *_, last = await send(owner, project, "第三章".encode("utf-16"), path="notes/三.md")
    assert counts(last) == (1, 0, 0, 0)
    *_, last = await send(owner, project, "第三章".encode(), path="notes/三.md")
    assert counts(last) == (0, 0, 1, 0)
    *_, last = await send(owner, project, zip_of({"inner.json": b"[1]"}), path="report.docx")
    assert counts(last) == (0, 0, 0, 1)
    *_, last = await send(owner, project, zip_of({"inner.json": b"[1]"}), path="inner.zip")
    assert counts(last) == (1, 0, 0, 0)
    *_, last = await send(owner, project, b"\x89PNG", path="a.png")
    assert last["skipped_files"][0]["path"] == "a.png"
    assert ".png files" in last["skipped_files"][0]["reason"]


async def test_unreadable_files_are_listed_and_the_rest_is_imported(owner: httpx2.AsyncClient, project: int) -> None:
    bad = {
        "../up.md": b"x",
        "gbk.txt": "山海经，中文".encode("gb18030"),
        "bad.jsonl": b"1\n{",
        "empty.md": b"",
        ".git/x.md": b"x",
    }
    *_, last = await send(owner, project, zip_of({**bad, **FILES}))
    assert counts(last) == (6, 0, 0, 5)
    reasons = {each["path"]: each["reason"] for each in last["skipped_files"]}
    assert set(reasons) == {"../up.md", "gbk.txt", "bad.jsonl", "empty.md", ".git/"}
    assert "iconv" in reasons["gbk.txt"]
    assert "line 2" in reasons["bad.jsonl"]


async def test_a_file_that_becomes_another_kind_is_left_alone(owner: httpx2.AsyncClient, project: int) -> None:
    await send(owner, project, b"[1]", path="x.json")
    *_, last = await send(owner, project, json.dumps(TREE).encode(), path="x.json")
    assert counts(last) == (0, 0, 0, 1)
    assert "was imported as a table" in last["skipped_files"][0]["reason"]
    assert (await listed(owner, project))[0] == {}


async def test_an_import_reports_its_progress_with_one_line_per_batch(owner: httpx2.AsyncClient, project: int) -> None:
    files = {f"{number}.md": b"# %d" % number for number in range(import_batch.BATCH_FILES * 2 + 10)}
    for body, total in ((zip_of(files), len(files)), (tar_of(files), None)):
        lines = await send(owner, project, body)
        assert [line["done"] for line in lines] == [256, 512, 522, 522]
        assert [line["total"] for line in lines[:-1]] == [total] * 3
        assert ["skipped_files" in line for line in lines] == [False, False, False, True]
    assert counts(lines[-1]) == (0, 0, 522, 0)


async def test_the_reasons_are_many_but_not_without_end(
    owner: httpx2.AsyncClient, project: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("findspot.content.importing.REASONS_KEPT", 5)
    *_, last = await send(owner, project, zip_of({f"{number}.exe": b"x" for number in range(9)}))
    assert (last["skipped"], len(last["skipped_files"])) == (9, 5)


async def test_a_large_table_is_imported_changed_and_recognised(owner: httpx2.AsyncClient, project: int) -> None:
    large = b'["' + b"x" * 3_000_000 + b'"]'
    for body, expected in ((large, (1, 0, 0, 0)), (large, (0, 0, 1, 0)), (large + b" ", (0, 0, 1, 0))):
        *_, last = await send(owner, project, body, path="big.json")
        assert counts(last) == expected
    for body in (large.replace(b"x", b"y"), b"[1]", large):
        *_, last = await send(owner, project, body, path="big.json")
        assert counts(last) == (0, 1, 0, 0)
    (table,) = (await listed(owner, project))[1].values()
    assert (table["name"], table["revision"], table["size"]) == ("big", 4, len(large))


@pytest.mark.parametrize(
    ("body", "path", "field"),
    [
        (b"# text", None, "path"),
        (b"", "a.md", "body"),
        (zip_of(FILES)[:-30], None, "body"),
        (b"\x1f\x8b" + bytes(50), None, "body"),
    ],
)
async def test_a_body_that_is_no_archive_is_an_ordinary_error(
    owner: httpx2.AsyncClient, project: int, body: bytes, path: str | None, field: str
) -> None:
    query = {"path": path} if path else {}
    answer = await owner.post(f"/api/v1/projects/{project}/import", content=body, params=query)
    assert (answer.status_code, answer.json()["code"], answer.json()["field"]) == (422, "INVALID_ARGUMENT", field)


async def test_a_body_past_the_limit_is_refused(settings: Settings, owner: httpx2.AsyncClient, project: int) -> None:
    body = bytes(settings.max_body + 1)
    answer = await owner.post(f"/api/v1/projects/{project}/import", content=body)
    assert (answer.status_code, answer.json()["code"]) == (413, "CONTENT_TOO_LARGE")


async def test_a_file_that_crashes_its_helper_process_is_skipped_alone(
    owner: httpx2.AsyncClient, project: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    from findspot.errors import FindspotError
    from findspot.runtime.helpers import Helpers

    run: Any = Helpers.run

    async def fragile(self: Helpers, project_id: int, function: Any, *arguments: Any) -> Any:
        if any(isinstance(each, list) and b"poison" in each for each in arguments):
            raise FindspotError("INTERNAL", "A helper process ended early.")
        return await run(self, project_id, function, *arguments)

    monkeypatch.setattr(Helpers, "run", fragile)
    *_, last = await send(owner, project, tar_of({"a.md": b"a", "b.md": b"poison", "c.md": b"c"}))
    assert counts(last) == (2, 0, 0, 1)
    assert last["skipped_files"][0]["path"] == "b.md"


async def test_a_project_deleted_meanwhile_ends_the_import_with_an_error_line(
    owner: httpx2.AsyncClient, project: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    from findspot.runtime.helpers import Helpers

    run: Any = Helpers.run

    async def delete_project_after(self: Helpers, project_id: int, function: Any, *arguments: Any) -> Any:
        converted = await run(self, project_id, function, *arguments)
        await owner.delete(f"/api/v1/projects/{project}")
        return converted

    monkeypatch.setattr(Helpers, "run", delete_project_after)
    *_, last = await send(owner, project, tar_of(FILES))
    assert last["error"]["code"] == "NOT_FOUND"
    assert last["created"] == 0


async def test_two_imports_of_the_same_files_at_once_make_each_once(owner: httpx2.AsyncClient, project: int) -> None:
    import asyncio

    files = {f"{number}.md": b"# %d" % number for number in range(600)}
    ends = await asyncio.gather(*(send(owner, project, pack(files)) for pack in (tar_of, zip_of)))
    assert sum(end[-1]["created"] for end in ends) == 600
    assert sum(end[-1]["created"] + end[-1]["unchanged"] for end in ends) == 1200
    assert len((await listed(owner, project))[0]) == 600
