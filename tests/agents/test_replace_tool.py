"""The replace tool: a preview first, then the replace by its id; only in the documents that the tool may use."""

import json
from typing import Any

import pytest

from findspot.agents.schemas import NewTool, ToolChange
from findspot.app import App
from findspot.errors import FindspotError
from findspot.models import OWNER, Caller, Role, Tool
from findspot.replacing.execute import Confirmed
from findspot.store import documents as document_rows
from tests.flows import text_of


async def make(app: App, project: int, **scope: Any) -> Tool:
    spec = NewTool.model_validate({"project_id": project, "type": "replace", "name": "rename", **scope})
    return (await app.tools.create(project, spec)).tool


async def add(app: App, project: int, content: str, type: str = "note") -> int:
    body = {"title": "标题", "format": "text", "content": content, "type": type}
    return (await app.documents.create(project, json.dumps(body).encode())).id


async def call(app: App, tool: Tool, language: str = "en", **arguments: Any) -> dict[str, Any]:
    return await app.tool_calls.call(tool, arguments, OWNER, language)


async def refused(app: App, tool: Tool, caller: Caller = OWNER, **arguments: Any) -> tuple[str, str | None]:
    with pytest.raises(FindspotError) as error:
        await app.tool_calls.call(tool, arguments, caller)
    return error.value.code, error.value.fields.get("field")


async def test_an_agent_previews_executes_and_undoes_a_replace(app: App, project: int) -> None:
    tool, document = await make(app, project), await add(app, project, "the old 仓库, old")
    found = await call(app, tool, search="old", replace="new")
    assert (found["affected_documents"], found["total_matches"], found["has_more"]) == (1, 2, False)
    assert [(each["before"], each["after"]) for each in found["items"][0]["matches"]] == [("old", "new")] * 2
    id = found["preview_id"]
    assert f"preview_id={id} and confirmed=true" in found["notice"]
    assert await text_of(app, document) == "the old 仓库, old"
    again = await call(app, tool, preview_id=id, language="zh")
    assert again["items"] == found["items"]
    assert "尚未作任何更改" in again["notice"]
    done = await call(app, tool, preview_id=id, confirmed=True, exclude=[{"document_id": document, "start": 4}])
    assert (done["replaced_count"], done["affected_document_count"], done["skipped"]) == (1, 1, [])
    assert await text_of(app, document) == "the old 仓库, new"
    assert (await call(app, tool, preview_id=id, undo=True))["restored_document_count"] == 1
    assert await text_of(app, document) == "the old 仓库, old"


async def test_an_agent_cannot_skip_the_preview_nor_the_confirmations(app: App, project: int) -> None:
    tool, document = await make(app, project), await add(app, project, "old")
    for arguments, field in (
        ({}, "search"),
        ({"search": "old"}, "replace"),
        ({"search": "old", "replace": "new", "confirmed": True}, "preview_id"),
        ({"search": "old", "replace": "new", "preview_id": 1}, "preview_id"),
        ({"search": "old", "replace": "new", "page": 0}, "page"),
        ({"search": "x" * 10_001, "replace": ""}, "search"),
        ({"search": "", "replace": ""}, "search"),
        ({"preview_id": 1, "confirmed": True, "undo": True}, "undo"),
        ({"preview_id": 10**30, "confirmed": True}, "preview_id"),
        ({"preview_id": 0}, "preview_id"),
        ({"search": "old", "replace": "new", "document_id": 10**30}, "document_id"),
        ({"preview_id": 1, "confirmed": True, "exclude": [{"document_id": 10**30}]}, "exclude[0].document_id"),
        ({"preview_id": 1, "confirmed": True, "exclude": [{"document_id": 1, "start": -1}]}, "exclude[0].start"),
    ):
        assert await refused(app, tool, **arguments) == ("INVALID_ARGUMENT", field), arguments
    found = await call(app, tool, search="old", replace="")
    assert found["needs_confirmed_risk"]
    assert "confirmed_risk=true" in found["notice"]
    id = found["preview_id"]
    assert await refused(app, tool, preview_id=id, confirmed=True) == ("INVALID_ARGUMENT", "confirmed_risk")
    assert await text_of(app, document) == "old"
    assert (await call(app, tool, preview_id=id, confirmed=True, confirmed_risk=True))["replaced_count"] == 1
    assert "nothing to replace" in (await call(app, tool, search="old", replace="new"))["notice"]


async def test_a_tool_replaces_only_in_its_documents_and_executes_only_its_own_previews(app: App, project: int) -> None:
    inside, outside = await add(app, project, "old", "note"), await add(app, project, "old", "chapter")
    narrow = await make(app, project, documents={"types": ["note"]})
    wide = await make(app, project)
    assert (await call(app, narrow, search="old", replace="new"))["affected_documents"] == 1
    assert await refused(app, narrow, search="old", replace="new", document_id=outside) == ("NOT_FOUND", None)
    other = (await call(app, wide, search="old", replace="new"))["preview_id"]
    assert await refused(app, narrow, preview_id=other) == ("REPLACE_PREVIEW_STALE", None)
    assert await refused(app, narrow, preview_id=other, confirmed=True) == ("REPLACE_PREVIEW_STALE", None)
    await app.execution.execute(project, Confirmed(other), OWNER)  # a person may confirm what an agent proposes
    assert await refused(app, narrow, preview_id=other, undo=True) == ("NOT_FOUND", None)
    assert [await text_of(app, each) for each in (inside, outside)] == ["new", "new"]


async def test_a_tool_that_lost_a_document_does_not_execute_its_earlier_preview(app: App, project: int) -> None:
    document = await add(app, project, "旧的 old", "note")
    tool = await make(app, project, documents={"types": ["note"]})
    preview = (await call(app, tool, search="old", replace="new"))["preview_id"]
    moved = await app.tools.change(tool.id, ToolChange.model_validate({"documents": {"types": ["chapter"]}}))
    assert await refused(app, moved, preview_id=preview, confirmed=True) == ("REPLACE_PREVIEW_STALE", None)
    assert await text_of(app, document) == "旧的 old"


async def test_the_tool_is_destructive_and_needs_the_role_to_write(app: App, project: int) -> None:
    tool = await make(app, project)
    card = app.tools.describe(tool)
    assert card.annotations["destructiveHint"]
    assert not card.annotations["readOnlyHint"]
    reader = Caller(Role.READ, "reader", project)
    assert await refused(app, tool, reader, search="a", replace="b") == ("FORBIDDEN", None)
    endpoint, _ = await app.endpoints.create(project, "agent")
    assert await app.endpoints.tools_of(endpoint.id) == []  # nothing is bound unless somebody names it


async def test_an_answer_with_many_matches_stays_within_its_budget(app: App, project: int) -> None:
    tool = await make(app, project)
    ids = [await add(app, project, f"{'鱼鸟' * 60}\n" * 4) for _ in range(2)]
    found = await call(app, tool, search="鱼", replace="鸟")
    assert found["total_matches"] == 480
    assert len(json.dumps(found, ensure_ascii=False)) < 4 * app.settings.answer_tokens
    done = await call(app, tool, preview_id=found["preview_id"], confirmed=True)
    assert done["replaced_count"] == 480
    async with app.store.read() as connection:
        loaded = await document_rows.load_many(connection, ids)
    assert all("鱼" not in content.decode() for _, content in loaded)
