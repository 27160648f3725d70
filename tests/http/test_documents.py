"""Documents and versions over HTTP, on both databases."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2
import pytest

from findspot.store import versions as version_rows

Become = Callable[[httpx2.AsyncClient, str | None], httpx2.AsyncClient]

TREE = {
    "type": "doc",
    "content": [
        {"type": "heading", "attrs": {"level": 1}, "content": [{"type": "text", "text": "第三章"}]},
        {
            "type": "paragraph",
            "content": [
                {"type": "text", "text": "林远 "},
                {"type": "text", "marks": [{"type": "bold"}], "text": "走进 👩‍👩‍👧 e\u0301"},
            ],
        },
    ],
}


async def make_project(owner: httpx2.AsyncClient) -> int:
    return int((await owner.post("/api/v1/projects", json={"name": "p"})).json()["id"])


async def make(owner: httpx2.AsyncClient, content: Any = "one", form: str = "text", **more: Any) -> int:
    project = await make_project(owner)
    body = {"title": "d", "format": form, "content": content, **more}
    answer = await owner.post(f"/api/v1/projects/{project}/documents", json=body)
    assert answer.status_code == 201, answer.text
    assert set(answer.json()) == {"id", "revision", "updatedAt"}
    return int(answer.json()["id"])


async def get(owner: httpx2.AsyncClient, path: str) -> Any:
    answer = await owner.get(f"/api/v1/documents/{path}")
    assert answer.status_code == 200, answer.text
    return answer.json()


async def save(owner: httpx2.AsyncClient, document: int, **body: Any) -> Any:
    answer = await owner.put(f"/api/v1/documents/{document}", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def texts_of_versions(owner: httpx2.AsyncClient, document: int) -> list[str]:
    """The text of every version, newest first."""
    listed = (await get(owner, f"{document}/versions"))["versions"]
    return [(await get(owner, f"{document}/versions/{each['id']}"))["text"] for each in listed]


async def test_a_document_of_each_format_comes_back_with_its_content_and_its_text(owner: httpx2.AsyncClient) -> None:
    for form, content, text in (
        ("tiptap", TREE, "第三章\n\n林远 走进 👩‍👩‍👧 e\u0301"),
        ("markdown", "# 標題\n\nSome *words* &amp; `code`\u2028x\n", "標題\n\nSome words & code\u2028x"),
        ("text", "שלום\r\n\r\nplain\0 text", "שלום\r\n\r\nplain\0 text"),
    ):
        document = await make(owner, content, form, type="chapter")
        found = await get(owner, str(document))
        assert (found["content"], found["text"], found["format"]) == (content, text, form)
        assert (found["id"], found["title"], found["type"], found["revision"]) == (document, "d", "chapter", 1)
        assert set(found) >= {"projectId", "updatedAt"}
        listed = (await owner.get(f"/api/v1/projects/{found['projectId']}/documents")).json()["documents"]
        assert [each["id"] for each in listed] == [document]
        assert not {"content", "text"} & set(listed[0])


async def test_a_tree_is_kept_as_the_text_that_was_sent(owner: httpx2.AsyncClient) -> None:
    project = await make_project(owner)
    leaf = '{"text":"\\u00e9","type":"text"}'
    sent = f'{{"type":"doc", "content":[ {{"type":"paragraph","attrs":{{"n":1.10}},"content":[{leaf}]}}]}}'
    body = f'{{"title":"d","format":"tiptap","content":{sent}}}'
    made = await owner.post(f"/api/v1/projects/{project}/documents", content=body.encode())
    answer = await owner.get(f"/api/v1/documents/{made.json()['id']}")
    assert f'"content":{sent},"text":"é"' in answer.text


async def test_a_change_of_content_keeps_the_old_content_as_a_version(owner: httpx2.AsyncClient) -> None:
    document = await make(owner, "one 一")
    second = await save(owner, document, content="two words 二", baseRevision=1)
    assert second["revision"] == 2
    third = await save(owner, document, content=TREE, format="tiptap", title="e", reason="replace")
    listed = (await get(owner, f"{document}/versions"))["versions"]
    assert [(each["id"], each["parentId"], each["reason"], each["actor"], each["wordCount"]) for each in listed] == [
        (third["versionId"], second["versionId"], "replace", "owner", 3),
        (second["versionId"], None, "manual", "owner", 2),
    ]
    version = await get(owner, f"{document}/versions/{third['versionId']}")
    assert (version["content"], version["text"], version["format"], version["title"]) == (
        "two words 二",
        "two words 二",
        "text",
        "d",
    )


async def test_a_save_without_changes_makes_no_version_and_no_revision(owner: httpx2.AsyncClient) -> None:
    document = await make(owner, "same")
    same = await save(owner, document, content="same", title="d")
    assert (same["revision"], same["versionId"]) == (1, None)
    renamed = await save(owner, document, title="新標題")
    assert (renamed["revision"], renamed["versionId"]) == (2, None)
    assert (await get(owner, f"{document}/versions"))["versions"] == []
    assert (await get(owner, str(document)))["title"] == "新標題"


async def test_a_stale_base_revision_is_refused_and_nothing_is_lost(owner: httpx2.AsyncClient) -> None:
    document = await make(owner, "start")
    await save(owner, document, content="first editor", baseRevision=1)
    refused = await owner.put(f"/api/v1/documents/{document}", json={"content": "second editor", "baseRevision": 1})
    assert (refused.status_code, refused.json()["code"], refused.json()["revision"]) == (409, "VERSION_CONFLICT", 2)
    assert (await get(owner, str(document)))["text"] == "first editor"
    assert await texts_of_versions(owner, document) == ["start"]


async def test_if_match_holds_for_documents_too(owner: httpx2.AsyncClient) -> None:
    document = await make(owner, "one")
    path = f"/api/v1/documents/{document}"
    stale = await owner.put(path, json={"content": "two"}, headers={"If-Match": '"7"'})
    assert (stale.status_code, stale.json()["code"], stale.json()["revision"]) == (412, "PRECONDITION_FAILED", 1)
    etag = (await owner.get(path)).headers["etag"]
    assert (await owner.put(path, json={"content": "two"}, headers={"If-Match": etag})).json()["revision"] == 2


async def test_white_space_around_a_title_is_removed(owner: httpx2.AsyncClient) -> None:
    document = await make(owner, title=" \u3000first\n")
    assert (await get(owner, str(document)))["title"] == "first"
    await save(owner, document, title="\tsecond ")
    assert (await get(owner, str(document)))["title"] == "second"


async def test_titles_may_be_written_as_people_write_them(owner: httpx2.AsyncClient) -> None:
    for title in ("第一章　开端", "Kap.\u00a0I", "🏴\U000e0067\U000e0062\U000e007f", "שלום\u200f", "न\u200dम"):
        document = await make(owner)
        await save(owner, document, title=title)
        assert (await get(owner, str(document)))["title"] == title


async def test_autosaves_of_one_key_within_five_minutes_share_a_version(
    owner: httpx2.AsyncClient, as_key: Become, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = await make(owner, "0")
    project = (await get(owner, str(document)))["projectId"]
    other = (await owner.post(f"/api/v1/projects/{project}/keys", json={"name": "k", "role": "write"})).json()["key"]
    for number in range(1, 20):
        await save(owner, document, content=str(number), reason="autosave")
    assert await texts_of_versions(owner, document) == ["0"]
    async with as_key(owner, other) as someone:
        await save(someone, document, content="20", reason="autosave")
    assert await texts_of_versions(owner, document) == ["19", "0"]
    await save(owner, document, content="21", reason="autosave")
    await save(owner, document, content="22", reason="manual")
    await save(owner, document, content="23", reason="autosave")
    assert await texts_of_versions(owner, document) == ["22", "21", "20", "19", "0"]


@pytest.mark.one_database
async def test_an_hour_of_autosaves_makes_a_handful_of_versions(
    owner: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The clock is moved by hand: one save a minute for an hour."""
    now = datetime(2026, 1, 1, tzinfo=UTC)

    class Clock(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return now

    monkeypatch.setattr("findspot.store.schema.datetime", Clock)
    monkeypatch.setattr("findspot.content.documents.datetime", Clock)
    document = await make(owner, "start")
    for second in range(0, 3600, 60):
        now = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=second)
        await save(owner, document, content=f"at {second}", reason="autosave")
    versions = await texts_of_versions(owner, document)
    assert versions == [*(f"at {minutes * 300 - 60}" for minutes in range(11, 0, -1)), "start"]


@pytest.mark.one_database
async def test_autosaves_keep_versions_after_the_clock_was_set_back(
    owner: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    noon = now = datetime(2026, 1, 1, 12, tzinfo=UTC)

    class Clock(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return now

    monkeypatch.setattr("findspot.store.schema.datetime", Clock)
    monkeypatch.setattr("findspot.content.documents.datetime", Clock)
    document = await make(owner, "start")
    for hours, minutes in ((0, 0), (0, -2), (-3, 0), (-3, 1), (-3, 6), (0, 0)):
        now = noon + timedelta(hours=hours, minutes=minutes)
        await save(owner, document, content=f"{hours}:{minutes}", reason="autosave")
    assert await texts_of_versions(owner, document) == ["-3:6", "-3:1", "0:-2", "start"]


async def test_restoring_a_version_keeps_the_replaced_content_as_a_version(owner: httpx2.AsyncClient) -> None:
    document = await make(owner, TREE, "tiptap")
    first = await save(owner, document, content="# later", format="markdown", title="later")
    answer = await owner.post(f"/api/v1/documents/{document}/versions/{first['versionId']}/restore")
    assert answer.status_code == 200, answer.text
    assert answer.json()["revision"] == 3
    found = await get(owner, str(document))
    assert (found["content"], found["format"], found["title"]) == (TREE, "tiptap", "d")
    listed = (await get(owner, f"{document}/versions"))["versions"]
    assert [each["reason"] for each in listed] == ["restore", "manual"]
    assert (await texts_of_versions(owner, document))[0] == "later"
    again = await owner.post(f"/api/v1/documents/{document}/versions/{first['versionId']}/restore")
    assert (again.json()["revision"], again.json()["versionId"]) == (3, None)


async def test_restore_under_concurrent_saves_keeps_every_acknowledged_text(owner: httpx2.AsyncClient) -> None:
    document = await make(owner, "start")
    first = (await save(owner, document, content="0-0"))["versionId"]
    acknowledged = {"start", "0-0"}

    async def write(writer: int) -> None:
        for turn in range(1, 6):
            await save(owner, document, content=f"{writer}-{turn}")
            acknowledged.add(f"{writer}-{turn}")

    async def restore() -> None:
        for _ in range(5):
            answer = await owner.post(f"/api/v1/documents/{document}/versions/{first}/restore")
            assert answer.status_code == 200

    await asyncio.gather(*map(write, range(1, 5)), restore())
    kept = set(await texts_of_versions(owner, document)) | {(await get(owner, str(document)))["text"]}
    assert acknowledged == kept


async def test_two_editors_who_name_their_base_take_turns_and_lose_nothing(owner: httpx2.AsyncClient) -> None:
    document = await make(owner, "")

    async def write(writer: str) -> None:
        for turn in range(5):
            for _ in range(15):  # each failed attempt means that another writer saved
                now = await get(owner, str(document))
                body = {"content": now["text"] + f"{writer}{turn} ", "baseRevision": now["revision"]}
                answer = await owner.put(f"/api/v1/documents/{document}", json=body)
                if answer.status_code == 200:
                    break
                assert answer.json()["code"] == "VERSION_CONFLICT"
            else:
                pytest.fail("more attempts failed than the others have saved")

    await asyncio.gather(*map(write, "ab甲"))
    words = (await get(owner, str(document)))["text"].split()
    assert sorted(words) == sorted(f"{writer}{turn}" for writer in "ab甲" for turn in range(5))


async def test_a_diff_shows_the_changes_since_a_version_by_word(owner: httpx2.AsyncClient) -> None:
    document = await make(owner, "The old warehouse stood there.\n\n林远走进了仓库。")
    first = (await save(owner, document, content="The new warehouse stood there.\n\n林远走进了工厂。"))["versionId"]
    second = (await save(owner, document, content="All new."))["versionId"]
    between = (await owner.get(f"/api/v1/documents/{document}/versions/{first}/diff?against={second}")).json()
    assert (between["from"], between["to"]) == (first, second)
    changes = [(each["op"], each["text"]) for each in between["changes"]]
    assert ("delete", "old") in changes
    assert ("insert", "new") in changes
    assert "".join(text for op, text in changes if op != "insert").endswith("林远走进了仓库。")
    now = (await owner.get(f"/api/v1/documents/{document}/versions/{second}/diff")).json()
    assert now["to"] is None
    assert "".join(each["text"] for each in now["changes"] if each["op"] != "delete") == "All new."


async def test_a_diff_of_more_than_two_megabytes_is_refused_with_a_sentence(owner: httpx2.AsyncClient) -> None:
    document = await make(owner, "long " * 400_001)
    version = (await save(owner, document, content="short"))["versionId"]
    answer = await owner.get(f"/api/v1/documents/{document}/versions/{version}/diff")
    assert (answer.status_code, answer.json()["code"]) == (413, "CONTENT_TOO_LARGE")
    assert "2,000,000" in answer.json()["message"]


async def test_bad_documents_get_a_clear_error_and_change_nothing(owner: httpx2.AsyncClient) -> None:
    document = await make(owner, "kept", "markdown")
    project = (await get(owner, str(document)))["projectId"]
    here, there = f"/api/v1/documents/{document}", f"/api/v1/projects/{project}/documents"
    good = {"title": "t", "format": "text", "content": "x"}
    cases: list[tuple[str, str, Any, str]] = [
        ("POST", there, {**good, "title": None}, "title"),
        ("POST", there, {**good, "title": "\0"}, "title"),
        ("POST", there, {"title": "t", "content": "x"}, "format"),
        ("POST", there, {"title": "t", "format": "text"}, "content"),
        ("POST", there, {**good, "format": "docx"}, "format"),
        ("POST", there, {**good, "content": 7}, "content"),
        ("POST", there, {**good, "content": None}, "content"),
        ("POST", there, {**good, "format": "tiptap"}, "content"),
        ("POST", there, {**good, "format": "tiptap", "content": {"type": "paragraph"}}, "content"),
        (
            "POST",
            there,
            {**good, "format": "tiptap", "content": {"type": "doc", "content": [{"type": "text", "text": 1}]}},
            "content",
        ),
        ("POST", there, {**good, "baseRevision": 1}, "baseRevision"),
        ("POST", there, {**good, "tittle": "t"}, "tittle"),
        ("POST", there, [], "body"),
        ("PUT", here, {"content": ["x"]}, "content"),
        ("PUT", here, {"content": "x", "baseRevision": "1"}, "baseRevision"),
        ("PUT", here, {"content": "x", "reason": "whim"}, "reason"),
        ("PUT", here, {"format": "text"}, "format"),
        ("PUT", here, {"title": ""}, "title"),
        ("PUT", here, {"type": "other"}, "type"),
    ]
    for method, path, body, field in cases:
        answer = await owner.request(method, path, json=body)
        assert (answer.status_code, answer.json().get("field")) == (422, field), (body, answer.text)
    for path in (f"{document}/versions/999", f"{document}/versions/999/diff", f"{document}/versions/{'9' * 30}"):
        assert (await owner.get(f"/api/v1/documents/{path}")).status_code == 404, path
    found = await get(owner, str(document))
    assert (found["revision"], found["content"]) == (1, "kept")
    assert len((await owner.get(there)).json()["documents"]) == 1


async def test_a_version_of_another_document_is_not_found_here(owner: httpx2.AsyncClient) -> None:
    one, other = await make(owner), await make(owner)
    version = (await save(owner, other, content="changed"))["versionId"]
    for answer in (
        await owner.get(f"/api/v1/documents/{one}/versions/{version}"),
        await owner.get(f"/api/v1/documents/{one}/versions/{version}/diff"),
        await owner.post(f"/api/v1/documents/{one}/versions/{version}/restore"),
    ):
        assert answer.status_code == 404


async def test_a_document_over_the_limit_is_refused(owner: httpx2.AsyncClient) -> None:
    document = await make(owner)
    answer = await owner.put(f"/api/v1/documents/{document}", json={"content": "x" * (16 * 1024 * 1024 + 1)})
    assert (answer.status_code, answer.json()["code"]) == (413, "CONTENT_TOO_LARGE")


async def test_deleting_a_document_deletes_its_versions(owner: httpx2.AsyncClient) -> None:
    document = await make(owner)
    version = (await save(owner, document, content="changed"))["versionId"]
    assert (await owner.delete(f"/api/v1/documents/{document}")).status_code == 204
    assert (await owner.get(f"/api/v1/documents/{document}/versions/{version}")).status_code == 404
    assert (await owner.delete(f"/api/v1/documents/{document}")).status_code == 404


def test_versions_can_only_be_added() -> None:
    assert {name for name in vars(version_rows) if name in ("update", "change", "delete", "save")} == set()
