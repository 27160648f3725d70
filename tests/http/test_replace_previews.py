"""Previews of a replace over HTTP: pages, options and what is refused."""

from collections.abc import Callable

import httpx2
import pytest
import sqlalchemy as sa

from findspot.replacing import preview as previews
from findspot.store.schema import documents
from tests.http.replaces import add, ask, execute, make_project, preview, refused, save, text
from tests.http.world import app_behind

Become = Callable[[httpx2.AsyncClient, str | None], httpx2.AsyncClient]


async def test_the_pages_of_a_preview_have_every_match_once_and_the_totals_of_all_pages(
    owner: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(previews, "PAGE", 7)
    project = await make_project(owner)
    counts = [3, 0, 20, 1, 1, 4]
    ids = [await add(owner, project, "鱼 fish " * count + "end") for count in counts]
    expected = [(id, 2 + 7 * number) for id, count in zip(ids, counts, strict=True) for number in range(count)]
    first = await preview(owner, project, "fish", "bird")
    seen, page = [], first
    while True:
        assert (page["affectedDocuments"], page["totalMatches"]) == (5, 29)
        assert page["previewId"] == first["previewId"]
        seen += [(item["documentId"], match["start"]) for item in page["items"] for match in item["matches"]]
        assert sum(len(item["matches"]) for item in page["items"]) == min(7, 29 - (page["page"] - 1) * 7)
        if not page["hasMore"]:
            break
        page = await ask(owner, project, "replace:preview", previewId=first["previewId"], page=page["page"] + 1)
    assert seen == expected
    beyond = await ask(owner, project, "replace:preview", previewId=first["previewId"], page=9)
    assert (beyond["items"], beyond["totalMatches"], beyond["hasMore"]) == ([], 29, False)
    third = await preview(owner, project, "fish", "bird", page=3)
    assert third["previewId"] != first["previewId"]
    assert [each["matchCount"] for each in third["items"]] == [20]


async def test_options_decide_what_matches_and_what_it_becomes(owner: httpx2.AsyncClient) -> None:
    project = await make_project(owner)
    document = await add(owner, project, "Old gold, old OLD 山海经 山海。")
    for options, expected in (
        ({}, ["Old", "old", "old", "OLD"]),
        ({"caseSensitive": True}, ["old", "old"]),
        ({"wholeWord": True}, ["Old", "old", "OLD"]),
        ({"caseSensitive": True, "wholeWord": True}, ["old"]),
        ({"search": "o(l)d", "regex": True, "caseSensitive": True}, ["old", "old"]),
        ({"search": "山海", "wholeWord": True}, ["山海"]),
        ({"search": "o.d"}, []),
    ):
        rule = {"search": "old", "replace": "new"} | options
        items = (await preview(owner, project, **rule))["items"]
        assert [match["before"] for item in items for match in item["matches"]] == expected, options
        marked = await ask(owner, project, "match", documentId=document, **{"search": "old"} | options)
        ranges = [(match["start"], match["end"]) for item in items for match in item["matches"]]
        assert [(each["start"], each["end"]) for each in marked["matches"]] == ranges
    for options, expected in (
        ({"preserveCase": True}, ["New", "new", "new", "NEW"]),
        ({"replace": "$1$&"}, ["$1$&"] * 4),
        ({"search": "o(?<x>l)d", "replace": "[$<x>$1$&]", "regex": True}, ["[llOld]", "[llold]", "[llold]", "[LLOLD]"]),
    ):
        items = (await preview(owner, project, **{"search": "old", "replace": "new"} | options))["items"]
        assert [match["after"] for item in items for match in item["matches"]] == expected, options


async def test_a_preview_with_far_too_many_matches_is_refused(
    owner: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(previews, "MAX_MATCHES", 9)
    project = await make_project(owner)
    await add(owner, project, "鱼" * 10)
    body = {"search": "鱼", "replace": "鸟", "scope": "project"}
    assert await refused(owner, project, "replace:preview", **body) == ("CONTENT_TOO_LARGE", None)


async def test_a_page_shows_no_matches_of_a_document_that_changed_since(owner: httpx2.AsyncClient) -> None:
    project = await make_project(owner)
    one, two = await add(owner, project, "old"), await add(owner, project, "old 旧")
    found = await preview(owner, project, "old", "new")
    await save(owner, one, "much older")
    page = await ask(owner, project, "replace:preview", previewId=found["previewId"])
    assert [(each["documentId"], each["changed"], len(each["matches"])) for each in page["items"]] == [
        (one, True, 0),
        (two, False, 1),
    ]


async def test_a_preview_names_what_is_wrong_with_its_request(owner: httpx2.AsyncClient) -> None:
    project = await make_project(owner)
    document = await add(owner, project, "x")
    whole = {"search": "a", "replace": "b", "scope": "project"}
    for wrong, field in (
        ({"search": ""}, "search"),
        ({"search": None}, "search"),
        ({"replace": None}, "replace"),
        ({"scope": None}, "scope"),
        ({"scope": "folder"}, "scope"),
        ({"scope": "document"}, "documentId"),
        ({"documentId": document}, "documentId"),
        ({"page": 0}, "page"),
        ({"previewId": 1}, "replace"),
        ({"search": "x" * 10_001}, "search"),
        ({"regex": True, "search": "("}, "search"),
    ):
        assert await refused(owner, project, "replace:preview", **whole | wrong) == ("INVALID_ARGUMENT", field), wrong


async def test_a_damaged_document_is_reported_and_does_not_stop_the_others(owner: httpx2.AsyncClient) -> None:
    project = await make_project(owner)
    whole, broken = await add(owner, project, "old"), await add(owner, project, "old")
    async with app_behind(owner).store.write() as connection:
        await connection.execute(sa.update(documents).where(documents.c.id == broken).values(content=b"old \xff"))
    found = await preview(owner, project, "old", "new")
    assert (found["affectedDocuments"], found["totalMatches"]) == (1, 1)
    assert found["skipped"] == [{"documentId": broken, "reason": "unreadable"}]
    done = await execute(owner, project, found["previewId"])
    assert (done["replacedCount"], done["skipped"]) == (1, found["skipped"])
    assert await text(owner, whole) == "new"


async def test_only_the_newest_previews_of_a_key_are_kept(
    owner: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch, as_key: Become
) -> None:
    monkeypatch.setattr(previews, "KEPT", 2)
    project = await make_project(owner)
    await add(owner, project, "old")
    key = (await owner.post(f"/api/v1/projects/{project}/keys", json={"name": "k", "role": "read"})).json()["key"]
    async with as_key(owner, key) as reader:
        theirs = (await preview(reader, project, "old", "new"))["previewId"]
    mine = [(await preview(owner, project, "old", "new"))["previewId"] for _ in range(3)]
    assert await refused(owner, project, "replace:preview", previewId=mine[0]) == ("REPLACE_PREVIEW_STALE", None)
    for kept in (*mine[1:], theirs):
        await ask(owner, project, "replace:preview", previewId=kept)
