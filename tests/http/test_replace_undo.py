"""Undoing a replace over HTTP, and the list of past replaces."""

import httpx2
import pytest

from tests.http.replaces import add, ask, execute, make_project, preview, refused, save, text, versions

TREE = (
    '{"type":"doc", "content":[ {"type":"paragraph","attrs":{"n":1.10},"content":[{"text":"废弃仓库","type":"text"}]}]}'
)


async def test_undo_puts_back_every_document_byte_for_byte(owner: httpx2.AsyncClient) -> None:
    project = await make_project(owner)
    body = f'{{"title":"d","format":"tiptap","content":{TREE}}}'
    tree = (await owner.post(f"/api/v1/projects/{project}/documents", content=body)).json()["id"]
    plain = await add(owner, project, "\r\n废弃仓库\0\r\n")
    id = (await preview(owner, project, "废弃仓库", "荒废工厂"))["previewId"]
    await execute(owner, project, id)
    assert "荒废工厂" in await text(owner, tree)
    undone = await ask(owner, project, "replace:undo", previewId=id)
    assert (undone["restoredCount"], undone["restoredDocumentCount"], undone["skipped"]) == (2, 2, [])
    assert f'"content":{TREE},' in (await owner.get(f"/api/v1/documents/{tree}")).text
    assert await text(owner, plain) == "\r\n废弃仓库\0\r\n"
    kept = await versions(owner, plain)
    assert [(each["reason"], each["text"]) for each in kept] == [
        ("restore", "\r\n荒废工厂\0\r\n"),
        ("replace", "\r\n废弃仓库\0\r\n"),
    ]
    assert undone["versionIds"][1] == kept[0]["id"]
    assert (await owner.get(f"/api/v1/documents/{plain}")).json()["wordCount"] == 4


async def test_undo_leaves_later_edits_alone_and_reports_them(owner: httpx2.AsyncClient) -> None:
    project = await make_project(owner)
    same, edited, gone, excluded = [await add(owner, project, "old") for _ in range(4)]
    id = (await preview(owner, project, "old", "new"))["previewId"]
    await execute(owner, project, id, exclude=[{"documentId": excluded}])
    await save(owner, edited, "new and more 更多")
    await owner.delete(f"/api/v1/documents/{gone}")
    (listed,) = (await ask(owner, project, "replace:list"))["replaces"]
    assert (listed["affectedDocumentCount"], listed["undoableDocumentCount"], listed["undoneAt"]) == (3, 1, None)
    undone = await ask(owner, project, "replace:undo", previewId=id)
    assert undone["restoredDocumentCount"] == 1
    assert undone["skipped"] == [
        {"documentId": edited, "reason": "changed"},
        {"documentId": gone, "reason": "deleted"},
    ]
    assert [await text(owner, each) for each in (same, edited, excluded)] == ["old", "new and more 更多", "old"]


async def test_an_undo_is_recorded_and_repeating_it_changes_nothing(owner: httpx2.AsyncClient) -> None:
    project = await make_project(owner)
    document = await add(owner, project, "old")
    id = (await preview(owner, project, "old", "new"))["previewId"]
    assert await refused(owner, project, "replace:undo", previewId=id) == ("NOT_FOUND", None)
    await execute(owner, project, id)
    first = await ask(owner, project, "replace:undo", previewId=id)
    await save(owner, document, "new again")
    assert await ask(owner, project, "replace:undo", previewId=id) == first
    assert await text(owner, document) == "new again"
    (listed,) = (await ask(owner, project, "replace:list"))["replaces"]
    assert (listed["undoneBy"], listed["undoableDocumentCount"], listed["replacedCount"]) == ("owner", 0, 1)
    other = await make_project(owner)
    assert await refused(owner, other, "replace:undo", previewId=id) == ("NOT_FOUND", None)
    assert await refused(owner, project, "replace:undo", previewId=999) == ("NOT_FOUND", None)


async def test_past_replaces_are_listed_newest_first_in_pages(
    owner: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("findspot.surfaces.http.replacing.LISTED", 2)
    project = await make_project(owner)
    document = await add(owner, project, "a 甲")
    await preview(owner, project, "a", "never executed")
    for old, new in (("a", "b"), ("b", "c"), ("c", "\0d")):
        id = (await preview(owner, project, old, new, scope="document", documentId=document))["previewId"]
        await execute(owner, project, id)
    first = await ask(owner, project, "replace:list")
    assert [(each["search"], each["replace"], each["undoableDocumentCount"]) for each in first["replaces"]] == [
        ("c", "\0d", 1),
        ("b", "c", 0),
    ]
    rest = await ask(owner, project, "replace:list", before=first["before"])
    assert [(each["search"], each["scope"], each["documentId"]) for each in rest["replaces"]] == [
        ("a", "document", document)
    ]
    assert rest["before"] is None
