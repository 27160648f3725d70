"""JSON tables over HTTP, on both databases."""

import json
from typing import Any

import httpx2
import pytest


async def make_table(owner: httpx2.AsyncClient, data: str | bytes = "{}", project: str = "p") -> tuple[int, int]:
    project_id = (await owner.post("/api/v1/projects", json={"name": project})).json()["id"]
    body = b'{"name":"t","data":' + (data if isinstance(data, bytes) else data.encode()) + b"}"
    answer = await owner.post(f"/api/v1/projects/{project_id}/tables", content=body)
    assert answer.status_code == 201, answer.text
    return project_id, answer.json()["id"]


async def text_of(owner: httpx2.AsyncClient, table_id: int, pointer: str = "") -> str:
    answer = await owner.get(f"/api/v1/tables/{table_id}", params={"json_pointer": pointer})
    assert answer.status_code == 200, answer.text
    _, _, rest = answer.text.partition(',"data":')
    return rest[:-1]


async def test_a_table_comes_back_as_it_was_sent(owner: httpx2.AsyncClient) -> None:
    sent = '{"b": 1.10, "a": [1e2, -0.0, 123456789012345678901234567890], "z\\u0000": "\\u00e9\\ud83d\\ude00 世界"}'
    project_id, table_id = await make_table(owner, sent)
    answer = await owner.get(f"/api/v1/tables/{table_id}")
    assert answer.headers["etag"] == '"1"'
    assert await text_of(owner, table_id) == sent
    named = {"id": table_id, "project_id": project_id, "name": "t", "revision": 1, "data": json.loads(sent)}
    assert answer.json() == answer.json() | named


async def test_listing_tables_shows_name_revision_and_size(owner: httpx2.AsyncClient) -> None:
    project_id, table_id = await make_table(owner, "[1, 2]")
    answer = await owner.get(f"/api/v1/projects/{project_id}/tables")
    (listed,) = answer.json()["tables"]
    assert listed == listed | {"id": table_id, "name": "t", "revision": 1, "size": 6}


async def test_reading_at_a_pointer_gives_that_part_alone(owner: httpx2.AsyncClient) -> None:
    _, table_id = await make_table(owner, '{"a": {"b": [10, {"~/": "深"}]}, "": 0}')
    assert await text_of(owner, table_id, "/a/b/1/~0~1") == '"深"'
    assert await text_of(owner, table_id, "/a/b") == '[10, {"~/": "深"}]'
    assert await text_of(owner, table_id, "/") == "0"


async def test_setting_at_a_pointer_replaces_adds_and_appends(owner: httpx2.AsyncClient) -> None:
    _, table_id = await make_table(owner, '{"z": 1.0, "list": [1]}')
    steps = {"/z": "2.50", "/新": '"x"', "/list/0": "null", "/list/-": "[]", "/list/2": "{}", "/list/1/0": "7"}
    for revision, (pointer, value) in enumerate(steps.items(), start=2):
        answer = await owner.put(f"/api/v1/tables/{table_id}/data", params={"json_pointer": pointer}, content=value)
        assert answer.json() == {"revision": revision}, answer.text
    assert await text_of(owner, table_id) == '{"z":2.50,"list":[null,[7],{}],"新":"x"}'


async def test_a_whole_value_is_replaced_by_any_json_value(owner: httpx2.AsyncClient) -> None:
    _, table_id = await make_table(owner)
    for value in ("null", "0", '""', "[]", "{}", "false", '"' + "字" * 300_000 + '"', " [1 , 2]\n"):
        answer = await owner.put(f"/api/v1/tables/{table_id}/data", content=value.encode())
        assert answer.status_code == 200
        assert await text_of(owner, table_id) == value.strip()


async def test_a_patch_is_done_as_a_whole_or_not_at_all(owner: httpx2.AsyncClient) -> None:
    _, table_id = await make_table(owner, '{"a": 1}')
    good = {"op": "add", "path": "/b", "value": 2}
    answer = await owner.patch(f"/api/v1/tables/{table_id}/data", json=[good, {"op": "remove", "path": "/nope"}, good])
    assert answer.status_code == 409
    assert answer.json()["code"] == "PATCH_CONFLICT"
    assert answer.json()["operation"] == 1
    for broken in ([good, {"op": "leap", "path": "/a"}], [good, {"op": "add", "path": "/c"}], {"op": "add"}, [good, 7]):
        answer = await owner.patch(f"/api/v1/tables/{table_id}/data", json=broken)
        assert (answer.status_code, answer.json()["code"]) == (422, "INVALID_ARGUMENT"), broken
    assert await text_of(owner, table_id) == '{"a": 1}'
    content_type = {"Content-Type": "application/json-patch+json"}
    answer = await owner.patch(
        f"/api/v1/tables/{table_id}/data",
        content=json.dumps([good, {"op": "test", "path": "/b", "value": 2.0}]),
        headers=content_type,
    )
    assert answer.json() == {"revision": 2}
    assert await text_of(owner, table_id) == '{"a":1,"b":2}'


async def test_if_match_lets_a_write_through_only_at_that_revision(owner: httpx2.AsyncClient) -> None:
    _, table_id = await make_table(owner, "{}")
    path = f"/api/v1/tables/{table_id}/data"
    for match in ("1", '"2"', "*"):
        assert (await owner.put(path, content="[]", headers={"If-Match": match})).status_code == 200
    patch = [{"op": "add", "path": "/-", "value": 1}]
    stale: dict[str, Any] = {"headers": {"If-Match": "3"}}
    for answer in (
        await owner.put(path, content='"x"', **stale),
        await owner.put(path, params={"json_pointer": "/-"}, content='"x"', **stale),
        await owner.patch(path, json=patch, **stale),
    ):
        assert (answer.status_code, answer.json()["code"]) == (412, "PRECONDITION_FAILED")
        assert answer.json()["revision"] == 4
    assert (await owner.patch(path, json=patch, headers={"If-Match": "4"})).json() == {"revision": 5}
    unreadable = await owner.put(path, content="1", headers={"If-Match": "yesterday"})
    assert (unreadable.status_code, unreadable.json()["field"]) == (422, "If-Match")


async def test_bad_input_gets_a_clear_error_and_changes_nothing(owner: httpx2.AsyncClient) -> None:
    project_id, table_id = await make_table(owner, '{"a": [1]}')
    data, tables = f"/api/v1/tables/{table_id}/data", f"/api/v1/projects/{project_id}/tables"
    cases: list[tuple[str, str, str | bytes, dict[str, str], int, str]] = [
        ("PUT", data, "{", {}, 422, "body"),
        ("PUT", data, "", {}, 422, "body"),
        ("PUT", data, b'"\xff"', {}, 422, "body"),
        ("PUT", data, '"\\ud800"', {}, 422, "body"),
        ("PUT", data, "NaN", {}, 422, "body"),
        ("PUT", data, "[" * 100_000 + "]" * 100_000, {}, 422, "body"),
        ("PUT", data, "1", {"json_pointer": "a"}, 422, "json_pointer"),
        ("PUT", data, "1", {"json_pointer": "/a/~2"}, 422, "json_pointer"),
        ("PUT", data, "1", {"json_pointer": "/b/c"}, 404, "json_pointer"),
        ("PUT", data, "1", {"json_pointer": "/a/2"}, 404, "json_pointer"),
        ("PUT", data, "1", {"json_pointer": "/a/0/x"}, 404, "json_pointer"),
        ("GET", f"/api/v1/tables/{table_id}", "", {"json_pointer": "/a/-"}, 404, "json_pointer"),
        ("GET", f"/api/v1/tables/{table_id}", "", {"json_pointer": "/a/01"}, 404, "json_pointer"),
        ("POST", tables, '{"name": "t"}', {}, 422, "data"),
        ("POST", tables, '{"data": 1}', {}, 422, "name"),
        ("POST", tables, '{"name": 7, "data": 1}', {}, 422, "name"),
        ("POST", tables, '{"name": "", "data": 1}', {}, 422, "name"),
        ("POST", tables, '{"name": "a\\u0000b", "data": 1}', {}, 422, "name"),
        ("POST", tables, '{"name": "t", "data": 1, "dada": 2}', {}, 422, "dada"),
        ("POST", tables, "[]", {}, 422, "body"),
        ("POST", tables, '{"name": "t", "data": }', {}, 422, "body"),
    ]
    for method, path, body, query, status, field in cases:
        content = body.encode() if isinstance(body, str) else body
        answer = await owner.request(method, path, params=query, content=content)
        assert (answer.status_code, answer.json().get("field")) == (status, field), (body[:50], answer.text)
        assert answer.json()["code"] == {422: "INVALID_ARGUMENT", 404: "NOT_FOUND"}[status]
        assert "Traceback" not in answer.text
    (listed,) = (await owner.get(tables)).json()["tables"]
    assert listed == listed | {"id": table_id, "name": "t", "revision": 1, "size": 10}
    assert await text_of(owner, table_id) == '{"a": [1]}'


async def test_a_patch_that_changes_nothing_leaves_the_revision_alone(owner: httpx2.AsyncClient) -> None:
    _, table_id = await make_table(owner, '{"a":1}')
    for patch in ([], [{"op": "test", "path": "/a", "value": 1}]):
        assert (await owner.patch(f"/api/v1/tables/{table_id}/data", json=patch)).json() == {"revision": 1}


async def test_a_deleted_table_is_gone_and_its_id_is_not_used_again(owner: httpx2.AsyncClient) -> None:
    project_id, table_id = await make_table(owner)
    assert (await owner.delete(f"/api/v1/tables/{table_id}")).status_code == 204
    for answer in (await owner.get(f"/api/v1/tables/{table_id}"), await owner.delete(f"/api/v1/tables/{table_id}")):
        assert answer.status_code == 404
    again = await owner.post(f"/api/v1/projects/{project_id}/tables", json={"name": "t", "data": 1})
    assert again.json()["id"] > table_id


@pytest.mark.one_database
async def test_a_patch_that_would_grow_a_table_past_its_limit_is_refused(owner: httpx2.AsyncClient) -> None:
    _, table_id = await make_table(owner, '["' + "x" * 1000 + '"]')
    doubling = [{"op": "copy", "from": "", "path": "/-"}] * 40
    answer = await owner.patch(f"/api/v1/tables/{table_id}/data", json=doubling)
    assert (answer.status_code, answer.json()["code"]) == (413, "CONTENT_TOO_LARGE")
    assert (await owner.get(f"/api/v1/tables/{table_id}")).json()["revision"] == 1


async def test_children_are_listed_a_page_at_a_time(owner: httpx2.AsyncClient) -> None:
    project = (await owner.post("/api/v1/projects", json={"name": "p"})).json()["id"]
    data = {"a/b": [1, "山" * 200, None, True], "~": {"k": 1}, "": "x"}
    table = (await owner.post(f"/api/v1/projects/{project}/tables", json={"name": "t", "data": data})).json()["id"]
    at = f"/api/v1/tables/{table}/children"
    top = (await owner.get(at)).json()
    assert (top["kind"], top["count"], top["revision"]) == ("object", 3, 1)
    assert [each["json_pointer"] for each in top["children"]] == ["/a~1b", "/~0", "/"]
    page = (await owner.get(at, params={"json_pointer": "/a~1b", "offset": 1, "limit": 2})).json()
    assert [(each["key"], each["kind"]) for each in page["children"]] == [("1", "string"), ("2", "null")]
    assert page["children"][0]["preview"] == "山" * 120 + "…"
    assert [each["length"] for each in page["children"]] == [200, None]
    assert (page["count"], page["offset"]) == (4, 1)
    leaf = (await owner.get(at, params={"json_pointer": "/"})).json()
    assert (leaf["kind"], leaf["children"]) == ("string", [])
    for pointer, status in (("/nowhere", 404), ("no-slash", 422)):
        assert (await owner.get(at, params={"json_pointer": pointer})).status_code == status
    assert (await owner.get(at, params={"limit": 501})).status_code == 422
