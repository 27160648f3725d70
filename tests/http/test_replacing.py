"""Search and replace over HTTP, on both databases: from the first match to the replaced text."""

from typing import Any

import httpx2
import pytest

from findspot.replacing.editor_matches import MAX_RANGES
from tests.http.replaces import add, ask, channel, execute, make_project, preview, refused, save, text, versions

STORIES = (
    "废弃仓库里，废弃仓库外。\n\n那座废弃仓库！",
    "她回到廢棄倉庫，又到废弃仓库 👩‍👩‍👧。",
    "废弃仓库·废弃仓库·废弃仓库",
)


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
