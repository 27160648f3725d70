"""Search and replace over HTTP, on both databases."""

import asyncio
import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import httpx2
import pytest
import sqlalchemy as sa

from findspot.replacing import preview as previews
from findspot.replacing.editor_matches import MAX_RANGES
from findspot.store.schema import documents, replaces
from tests.http.world import app_behind

Become = Callable[[httpx2.AsyncClient, str | None], httpx2.AsyncClient]

TREE = (
    '{"type":"doc", "content":[ {"type":"paragraph","attrs":{"n":1.10},"content":[{"text":"废弃仓库","type":"text"}]}]}'
)
STORIES = (
    "废弃仓库里，废弃仓库外。\n\n那座废弃仓库！",
    "她回到廢棄倉庫，又到废弃仓库 👩‍👩‍👧。",
    "废弃仓库·废弃仓库·废弃仓库",
)


async def make_project(owner: httpx2.AsyncClient) -> int:
    return int((await owner.post("/api/v1/projects", json={"name": "p"})).json()["id"])


async def add(owner: httpx2.AsyncClient, project: int, content: Any, title: str = "d", form: str = "text") -> int:
    body = {"title": title, "format": form, "content": content}
    answer = await owner.post(f"/api/v1/projects/{project}/documents", json=body)
    assert answer.status_code == 201, answer.text
    return int(answer.json()["id"])


async def channel(client: httpx2.AsyncClient, project: int, name: str, **body: Any) -> httpx2.Response:
    return await client.post(f"/api/v1/projects/{project}/search/{name.replace(':', '/')}", json=body)


async def ask(client: httpx2.AsyncClient, project: int, name: str, **body: Any) -> Any:
    answer = await channel(client, project, name, **body)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def refused(client: httpx2.AsyncClient, project: int, name: str, **body: Any) -> tuple[str, str | None]:
    """Call a channel that must fail. Return the code, and the field that is wrong."""
    answer = await channel(client, project, name, **body)
    assert answer.is_error, answer.text
    return answer.json()["code"], answer.json().get("field")


async def preview(client: httpx2.AsyncClient, project: int, search: str, replace: str, **more: Any) -> Any:
    return await ask(
        client, project, "replace:preview", **{"search": search, "replace": replace, "scope": "project"} | more
    )


async def execute(client: httpx2.AsyncClient, project: int, preview_id: int, **more: Any) -> Any:
    return await ask(client, project, "replace:execute", previewId=preview_id, confirmed=True, **more)


async def text(client: httpx2.AsyncClient, document: int) -> str:
    return str((await client.get(f"/api/v1/documents/{document}")).json()["text"])


async def save(client: httpx2.AsyncClient, document: int, content: Any, **more: Any) -> None:
    answer = await client.put(f"/api/v1/documents/{document}", json={"content": content, **more})
    assert answer.status_code == 200, answer.text


async def versions(client: httpx2.AsyncClient, document: int) -> list[dict[str, Any]]:
    """The versions of a document with their contents, newest first."""
    path = f"/api/v1/documents/{document}/versions"
    listed = (await client.get(path)).json()["versions"]
    return [(await client.get(f"{path}/{each['id']}")).json() for each in listed]


# ── the requirement's scenarios ──


@pytest.mark.scenario("004.replace", "004.replace.one-document")
async def test_all_matches_in_the_open_document_are_marked_and_replaced(owner: httpx2.AsyncClient) -> None:
    project = await make_project(owner)
    opened = await add(owner, project, "林小雨抬头，林小雨笑了。\n\n小雨，林小雨！")
    other = await add(owner, project, "林小雨在别处。")
    marked = await ask(owner, project, "match", documentId=opened, search="林小雨")
    assert marked == {
        "matches": [{"start": 0, "end": 3}, {"start": 6, "end": 9}, {"start": 17, "end": 20}],
        "truncated": False,
    }
    found = await preview(owner, project, "林小雨", "林小溪", scope="document", documentId=opened)
    assert (found["affectedDocuments"], found["totalMatches"]) == (1, 3)
    assert [{"start": each["start"], "end": each["end"]} for each in found["items"][0]["matches"]] == marked["matches"]
    done = await execute(owner, project, found["previewId"])
    assert (done["replacedCount"], done["affectedDocumentCount"], done["skipped"]) == (3, 1, [])
    assert await text(owner, opened) == "林小溪抬头，林小溪笑了。\n\n小雨，林小溪！"
    assert await text(owner, other) == "林小雨在别处。"


@pytest.mark.scenario(
    "004.replace.whole-project",
    "004.replace.channel-preview",
    "004.replace.channel-execute",
    "004.replace.snapshots",
)
async def test_seven_matches_in_three_documents_are_previewed_versioned_and_replaced(owner: httpx2.AsyncClient) -> None:
    project = await make_project(owner)
    ids = [await add(owner, project, story, f"第{number}章") for number, story in enumerate(STORIES)]
    quiet = await add(owner, project, "没有别的。")
    found = await preview(owner, project, "废弃仓库", "荒废工厂")
    assert (found["affectedDocuments"], found["totalMatches"]) == (3, 7)
    assert [(each["documentId"], each["documentTitle"], each["matchCount"]) for each in found["items"]] == [
        (ids[0], "第0章", 3),
        (ids[1], "第1章", 1),
        (ids[2], "第2章", 3),
    ]
    assert {(each["before"], each["after"]) for item in found["items"] for each in item["matches"]} == {
        ("废弃仓库", "荒废工厂")
    }
    assert found["items"][0]["matches"][1] | {"start": 0, "end": 0} == {
        "start": 0, "end": 0, "before": "废弃仓库", "after": "荒废工厂", "leading": "废弃仓库里，", "trailing": "外。",
    }  # fmt: skip
    assert [await text(owner, id) for id in ids] == list(STORIES)  # a preview changes nothing
    done = await execute(owner, project, found["previewId"])
    assert (done["replacedCount"], done["affectedDocumentCount"], done["skipped"]) == (7, 3, [])
    assert [await text(owner, id) for id in ids] == [each.replace("废弃仓库", "荒废工厂") for each in STORIES]
    kept = [(await versions(owner, id)) for id in ids]
    assert [[(each["reason"], each["text"], each["actor"]) for each in some] for some in kept] == [
        [("replace", story, "owner")] for story in STORIES
    ]
    assert done["versionIds"] == [some[0]["id"] for some in kept]
    assert await versions(owner, quiet) == []


async def test_notices_count_in_the_language_of_the_caller(owner: httpx2.AsyncClient) -> None:
    project = await make_project(owner)
    one, *_ = [await add(owner, project, story) for story in STORIES]
    owner.headers["Accept-Language"] = "zh-CN"
    found = await preview(owner, project, "废弃仓库", "荒废工厂")
    assert found["notice"] == "3 个文档中有 7 处匹配"
    done = await execute(owner, project, found["previewId"])
    assert done["notice"] == "已替换 7 处"
    await save(owner, one, "别的")
    undone = await ask(owner, project, "replace:undo", previewId=found["previewId"])
    assert undone["notice"] == "已恢复 2 个文档，跳过 1 个文档"
    owner.headers["Accept-Language"] = "en"
    one_match = await preview(owner, project, "别", "x")
    assert one_match["notice"] == "1 match in 1 document."
    assert (await execute(owner, project, one_match["previewId"]))["notice"] == "Replaced 1 match."


@pytest.mark.scenario("004.replace.rollback")
async def test_each_document_goes_back_to_its_version_before_a_mistaken_replace(owner: httpx2.AsyncClient) -> None:
    project = await make_project(owner)
    ids = [await add(owner, project, story) for story in STORIES]
    done = await execute(owner, project, (await preview(owner, project, "废弃仓库", "荒废工厂"))["previewId"])
    for id, version in zip(ids, done["versionIds"], strict=True):
        assert (await owner.post(f"/api/v1/documents/{id}/versions/{version}/restore")).status_code == 200
    assert [await text(owner, id) for id in ids] == list(STORIES)


# ── previews ──


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


# ── executing ──


@pytest.mark.scenario("004.replace.preview-first")
async def test_nothing_is_replaced_without_a_preview_and_a_confirmation(owner: httpx2.AsyncClient) -> None:
    project = await make_project(owner)
    document = await add(owner, project, "old")
    id = (await preview(owner, project, "old", "new"))["previewId"]
    for wrong, field in (
        ({"previewId": id}, "confirmed"),
        ({"previewId": id, "confirmed": False}, "confirmed"),
        ({"confirmed": True}, "previewId"),
        ({"search": "old", "replace": "new", "confirmed": True}, "previewId"),
    ):
        assert await refused(owner, project, "replace:execute", **wrong) == ("INVALID_ARGUMENT", field)
    assert await text(owner, document) == "old"
    assert (await execute(owner, project, id))["replacedCount"] == 1


async def test_a_preview_that_is_unknown_used_expired_or_of_another_project_is_refused(
    owner: httpx2.AsyncClient,
) -> None:
    project, other = await make_project(owner), await make_project(owner)
    document = await add(owner, project, "old old")
    used, expired, mine = [(await preview(owner, project, "old", "older"))["previewId"] for _ in range(3)]
    await execute(owner, project, used)
    async with app_behind(owner).store.write() as connection:
        now = {"expires_at": datetime.now(UTC)}
        await connection.execute(sa.update(replaces).where(replaces.c.id == expired).values(now))
    before = await text(owner, document)
    for where, id in ((project, used), (project, expired), (project, 999), (other, mine)):
        body = {"previewId": id, "confirmed": True}
        assert await refused(owner, where, "replace:execute", **body) == ("REPLACE_PREVIEW_STALE", None)
        assert await refused(owner, where, "replace:preview", previewId=id) == ("REPLACE_PREVIEW_STALE", None)
    assert await text(owner, document) == before


async def test_a_preview_that_is_executed_many_times_at_once_is_executed_once(owner: httpx2.AsyncClient) -> None:
    project = await make_project(owner)
    document = await add(owner, project, "ab 字" * 20)
    id = (await preview(owner, project, "a", "aa"))["previewId"]
    excludes = [[], [{"documentId": document, "start": 0}]] * 4
    calls = [
        channel(owner, project, "replace:execute", previewId=id, confirmed=True, exclude=exclude)
        for exclude in excludes
    ]
    answers = await asyncio.gather(*calls)
    assert sorted(each.status_code for each in answers) == [200] + [409] * 7
    winner = next(number for number, each in enumerate(answers) if each.status_code == 200)
    whole = "aab 字" * 20
    assert await text(owner, document) == (whole[1:] if excludes[winner] else whole)
    assert len(await versions(owner, document)) == 1


async def test_excluded_matches_and_documents_stay_as_they_are(owner: httpx2.AsyncClient) -> None:
    project = await make_project(owner)
    one, two, three = [await add(owner, project, "old, old 旧 old") for _ in range(3)]
    id = (await preview(owner, project, "old", "new"))["previewId"]
    wrong = (
        [{"documentId": one, "start": 1}],
        [{"documentId": 999}],
        [{"documentId": two}, {"documentId": 999, "start": 0}],
    )
    for exclude in wrong:
        body = {"previewId": id, "confirmed": True, "exclude": exclude}
        assert await refused(owner, project, "replace:execute", **body) == ("INVALID_ARGUMENT", "exclude")
    assert [await text(owner, each) for each in (one, two, three)] == ["old, old 旧 old"] * 3
    exclude = [{"documentId": one, "start": 5}, {"documentId": two, "start": 0}, {"documentId": two}]
    done = await execute(owner, project, id, exclude=exclude)
    assert (done["replacedCount"], done["affectedDocumentCount"], done["skipped"]) == (5, 2, [])
    assert [await text(owner, each) for each in (one, two, three)] == [
        "new, old 旧 new",
        "old, old 旧 old",
        "new, new 旧 new",
    ]
    assert await versions(owner, two) == []


@pytest.mark.scenario("004.matrix.replace-during-autosave")
async def test_a_document_saved_or_deleted_since_the_preview_is_skipped_and_the_others_are_done(
    owner: httpx2.AsyncClient,
) -> None:
    project = await make_project(owner)
    same, saved, gone, renamed = [await add(owner, project, "old 林小雨") for _ in range(4)]
    id = (await preview(owner, project, "old", "new"))["previewId"]
    await save(owner, saved, "old 林小雨 typed on", reason="autosave")
    await owner.delete(f"/api/v1/documents/{gone}")
    await owner.put(f"/api/v1/documents/{renamed}", json={"title": "another"})
    done = await execute(owner, project, id)
    assert (done["replacedCount"], done["affectedDocumentCount"], len(done["versionIds"])) == (1, 1, 1)
    assert done["skipped"] == [
        {"documentId": saved, "reason": "changed"},
        {"documentId": gone, "reason": "deleted"},
        {"documentId": renamed, "reason": "changed"},
    ]
    assert [await text(owner, each) for each in (same, saved)] == ["new 林小雨", "old 林小雨 typed on"]


async def test_an_empty_replacement_and_very_many_matches_need_a_second_confirmation(owner: httpx2.AsyncClient) -> None:
    project = await make_project(owner)
    many, few = await add(owner, project, "鱼" * 1000), await add(owner, project, "鱼x")
    found = await preview(owner, project, "鱼", "鸟")
    assert (found["totalMatches"], found["needsConfirmedRisk"]) == (1001, True)
    body = {"previewId": found["previewId"], "confirmed": True}
    assert await refused(owner, project, "replace:execute", **body) == ("INVALID_ARGUMENT", "confirmedRisk")
    done = await execute(owner, project, found["previewId"], exclude=[{"documentId": few}])
    assert done["replacedCount"] == 1000
    removal = await preview(owner, project, "鸟", "", scope="document", documentId=many)
    body = {"previewId": removal["previewId"], "confirmed": True}
    assert removal["needsConfirmedRisk"]
    assert await refused(owner, project, "replace:execute", **body) == ("INVALID_ARGUMENT", "confirmedRisk")
    assert (await execute(owner, project, removal["previewId"], confirmedRisk=True))["replacedCount"] == 1000
    assert await text(owner, many) == ""


async def test_a_reader_previews_and_a_writer_executes(owner: httpx2.AsyncClient, as_key: Become) -> None:
    project = await make_project(owner)
    document = await add(owner, project, "old")
    keys = {}
    for role in ("read", "write"):
        body = {"name": role, "role": role}
        keys[role] = (await owner.post(f"/api/v1/projects/{project}/keys", json=body)).json()["key"]
    async with as_key(owner, keys["read"]) as reader, as_key(owner, keys["write"]) as writer:
        id = (await preview(reader, project, "old", "new"))["previewId"]
        assert await refused(reader, project, "replace:execute", previewId=id, confirmed=True) == ("FORBIDDEN", None)
        await execute(writer, project, id)
        assert await refused(reader, project, "replace:undo", previewId=id) == ("FORBIDDEN", None)
        (listed,) = (await ask(reader, project, "replace:list"))["replaces"]
    assert listed["executedBy"] == "write"
    assert [each["actor"] for each in await versions(owner, document)] == ["write"]


async def test_progress_comes_in_lines_and_the_outcome_in_the_last_one(owner: httpx2.AsyncClient) -> None:
    project = await make_project(owner)
    for _ in range(70):  # more than one batch
        await add(owner, project, "old 旧")
    id = (await preview(owner, project, "old", "new"))["previewId"]
    path, lines = f"/api/v1/projects/{project}/search/replace/execute", {"Accept": "application/x-ndjson"}
    answer = await owner.post(path, json={"previewId": id, "confirmed": True}, headers=lines)
    assert answer.headers["content-type"] == "application/x-ndjson"
    *steps, last = map(json.loads, answer.text.splitlines())
    assert [(each["done"], each["total"]) for each in steps] == [(32, 70), (64, 70), (70, 70)]
    assert (last["outcome"]["replacedCount"], len(last["outcome"]["versionIds"])) == (70, 70)
    again = await owner.post(path, json={"previewId": id, "confirmed": True}, headers=lines)
    assert (again.status_code, again.json()["code"]) == (409, "REPLACE_PREVIEW_STALE")


# ── undo ──


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


# ── the editor's own find ──


async def test_an_editor_gets_at_most_ten_thousand_ranges(owner: httpx2.AsyncClient) -> None:
    project, other = await make_project(owner), await make_project(owner)
    document = await add(owner, project, "鱼" * (MAX_RANGES + 1))
    found = await ask(owner, project, "match", documentId=document, search="鱼")
    assert (len(found["matches"]), found["truncated"]) == (MAX_RANGES, True)
    assert await refused(owner, other, "match", documentId=document, search="鱼") == ("NOT_FOUND", None)
    assert await refused(owner, project, "match", documentId=document, search="") == ("INVALID_ARGUMENT", "search")


async def test_limits_are_named_in_characters_and_elements(owner: httpx2.AsyncClient) -> None:
    project = await make_project(owner)
    search: dict[str, Any] = {"search": "a", "replace": "b", "scope": "project"}
    many = [{"documentId": 1}] * 20_001
    for name, body, message in (
        ("replace:preview", search | {"search": ""}, "search: must have at least 1 character"),
        ("replace:preview", search | {"replace": "仓" * 10_001}, "replace: must have at most 10,000 characters"),
        ("replace:execute", {"previewId": 1, "confirmed": False}, "confirmed: must be true"),
        (
            "replace:execute",
            {"previewId": 1, "confirmed": True, "exclude": many},
            "exclude: must have at most 20,000 elements",
        ),
    ):
        assert (await channel(owner, project, name, **body)).json()["message"] == message
