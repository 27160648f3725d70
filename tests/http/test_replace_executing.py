"""Executing a previewed replace over HTTP: confirmations, exclusions, conflicts and progress."""

import asyncio
import json
from collections.abc import Callable
from datetime import UTC, datetime

import httpx2
import pytest
import sqlalchemy as sa

from findspot.store.schema import replaces
from tests.http.replaces import add, ask, channel, execute, make_project, preview, refused, save, text, versions
from tests.http.world import app_behind

Become = Callable[[httpx2.AsyncClient, str | None], httpx2.AsyncClient]


@pytest.mark.scenario("004.replace.preview-first")
async def test_nothing_is_replaced_without_a_preview_and_a_confirmation(owner: httpx2.AsyncClient) -> None:
    project = await make_project(owner)
    document = await add(owner, project, "old")
    id = (await preview(owner, project, "old", "new"))["previewId"]
    for wrong, field in (
        ({"previewId": id}, "confirmed"),
        *(({"previewId": id, "confirmed": wrong}, "confirmed") for wrong in (False, 1, 1.0, "true", None)),
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
