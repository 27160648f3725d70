"""Export over HTTP, on both databases: readable without Findspot, and imported again it is the same."""

import io
import json
import tarfile
from typing import Any

import httpx2
import pytest

from tests.archives import tar_of

TREE = {"type": "doc", "content": [{"type": "paragraph", "content": [{"type": "text", "text": "字"}]}]}


async def new_project(owner: httpx2.AsyncClient) -> int:
    return int((await owner.post("/api/v1/projects", json={"name": "山海經"})).json()["id"])


async def fill(owner: httpx2.AsyncClient, project: int) -> None:
    """Documents and tables from files and by hand, with names that clash and lead elsewhere."""
    files = {"notes/第三章.md": b"# Title\n\ntext", "data/log.jsonl": b"1\n2", "a.txt": b"a\r\n"}
    await owner.post(f"/api/v1/projects/{project}/import", content=tar_of(files))
    for title, form, content, kind in (
        ("a", "text", "by hand", "document"),
        ("A", "text", "upper case", "chapter"),
        ("../../etc/passwd", "markdown", "# other heading", "document"),
        ("空", "markdown", "", "document"),
        ("👩‍👩‍👧: tree?", "tiptap", TREE, "chapter"),
    ):
        body = {"title": title, "format": form, "content": content, "type": kind}
        made = (await owner.post(f"/api/v1/projects/{project}/documents", json=body)).json()["id"]
        if title == "a":
            await owner.put(f"/api/v1/documents/{made}", json={"content": "changed", "reason": "replace"})
    await owner.post(f"/api/v1/projects/{project}/tables", json={"name": "a/b", "data": {"n": 1}})
    await owner.post(f"/api/v1/projects/{project}/tables", json={"name": "looks like a tree", "data": TREE})


async def export(owner: httpx2.AsyncClient, project: int) -> bytes:
    answer = await owner.get(f"/api/v1/projects/{project}/export")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/x-tar")
    return answer.content


async def holds(owner: httpx2.AsyncClient, project: int) -> tuple[list[Any], list[Any]]:
    """Documents and tables as values, without ids, revisions and times."""
    documents, tables = [], []
    for each in (await owner.get(f"/api/v1/projects/{project}/documents")).json()["documents"]:
        found = (await owner.get(f"/api/v1/documents/{each['id']}")).json()
        documents.append([found[key] for key in ("title", "type", "format", "content", "text", "wordCount")])
    for each in (await owner.get(f"/api/v1/projects/{project}/tables")).json()["tables"]:
        found = (await owner.get(f"/api/v1/tables/{each['id']}")).json()
        tables.append([found["name"], found["data"]])
    return sorted(documents, key=str), sorted(tables, key=str)


async def test_an_export_is_a_plain_tar_with_a_manifest_of_its_files(owner: httpx2.AsyncClient) -> None:
    project = await new_project(owner)
    await fill(owner, project)
    with tarfile.open(fileobj=io.BytesIO(await export(owner, project))) as archive:
        files = {}
        for member in archive.getmembers():
            assert member.isfile()
            file = archive.extractfile(member)
            assert file is not None
            files[member.name] = file.read()
    manifest = json.loads(files["manifest.json"])
    assert manifest["findspot_export"] == 1
    assert manifest["project"]["name"] == "山海經"
    entries = [*manifest["documents"], *manifest["tables"], *manifest["versions"]]
    assert sorted(each["file"] for each in entries) == sorted(set(files) - {"manifest.json"})
    by_title = {each["title"]: each for each in manifest["documents"]}
    assert by_title["Title"]["path"] == "notes/第三章.md"
    assert files["documents/notes/第三章.md"] == b"# Title\n\ntext"
    assert files[by_title["A"]["file"]] == b"upper case"
    assert json.loads(files[by_title["👩‍👩‍👧: tree?"]["file"]]) == TREE
    assert files["tables/data/log.jsonl.json"] == b"[1,2]"
    (version,) = manifest["versions"]
    assert files[version["file"]] == b"by hand"
    assert version["file"].startswith("versions/a")
    assert version["file"].endswith(f"{version['id']}-replace.txt")
    assert len({name.casefold() for name in files}) == len(files)
    assert not [name for name in files if ".." in name.split("/") or name.startswith("/")]


async def test_an_export_imported_into_a_new_project_is_the_same(owner: httpx2.AsyncClient) -> None:
    project, copy = await new_project(owner), await new_project(owner)
    await fill(owner, project)
    archive = await export(owner, project)
    for expected in ((12 - 2, 0), (0, 10)):
        answer = await owner.post(f"/api/v1/projects/{copy}/import", content=archive)
        last = json.loads(answer.text.splitlines()[-1])
        assert (last["created"], last["unchanged"]) == expected, last
        assert {each["path"] for each in last["skipped_files"]} == {"versions/", "manifest.json"}
    assert await holds(owner, copy) == await holds(owner, project)


async def test_an_empty_project_exports_to_a_manifest(owner: httpx2.AsyncClient) -> None:
    with tarfile.open(fileobj=io.BytesIO(await export(owner, await new_project(owner)))) as archive:
        assert archive.getnames() == ["manifest.json"]


@pytest.mark.one_database
async def test_a_large_table_and_many_documents_are_exported_completely(owner: httpx2.AsyncClient) -> None:
    project = await new_project(owner)
    files = {f"{number:03}.md": b"# %d\n" % number + b"x" * (number * 100) for number in range(700)}
    files["big.json"] = b'["' + b"x" * 1_500_000 + b'"]'
    await owner.post(f"/api/v1/projects/{project}/import", content=tar_of(files))
    with tarfile.open(fileobj=io.BytesIO(await export(owner, project))) as archive:
        for name, data in files.items():
            file = archive.extractfile(f"{'tables' if name == 'big.json' else 'documents'}/{name}")
            assert file is not None
            assert file.read() == data
