"""The OpenAPI document describes every route, and real answers fit it."""

import json
import re
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock, Mock

import httpx2
import jsonschema
import pytest
import pytest_asyncio
from click.testing import CliRunner
from fastapi import Request
from pydantic import BaseModel

from findspot.errors import KINDS, FindspotError
from findspot.settings import Settings
from findspot.surfaces.cli.main import cli
from findspot.surfaces.http.api import every_route
from findspot.surfaces.http.openapi import describe
from findspot.surfaces.http.router import Described, GuardedRoute
from findspot.surfaces.http.rules import RULES
from tests.flows import settle
from tests.http.calls import CALLS
from tests.http.world import World, app_behind, make_world, open_api, with_key

pytestmark = pytest.mark.asyncio(loop_scope="module")

DOCUMENT = describe(every_route())
OPERATIONS = {
    f"{method.upper()} {path}": operation
    for path, methods in DOCUMENT["paths"].items()
    for method, operation in methods.items()
}
PAGES = {"GET /", "GET /projects/{page:path}", "GET /assets/{name}"}
DESCRIBED = {route for route in RULES if not route.startswith("HEAD ")} - PAGES
LONG_TEXT = "The library opens at nine and closes at six. " * 300
JSON_RPC_ERRORS = {("POST /mcp/{endpoint_id}", "400"), ("POST /mcp/{endpoint_id}", "406")}
ACCEPT = {"Accept": "application/json, text/event-stream"}


def strict(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema of an object, without room for fields that it does not name."""
    return {**schema, "additionalProperties": False} if "properties" in schema else schema


STRICT = {name: strict(schema) for name, schema in DOCUMENT["components"]["schemas"].items()}


class Checker:
    """Holds answers against the document, and remembers which statuses of which routes it has seen."""

    def __init__(self) -> None:
        self.seen: set[tuple[str, int]] = set()

    def check(self, route: str, answer: httpx2.Response) -> httpx2.Response:
        described = OPERATIONS[route]["responses"]
        status = str(answer.status_code)
        assert status in described, f"{route} answered {status}, which is not described: {answer.text[:300]}"
        self.seen.add((route, answer.status_code))
        content = described[status].get("content")
        if content is None:
            assert not answer.content, route
            return answer
        media = answer.headers["content-type"].split(";")[0] if answer.content else "text/plain"
        assert media in content, (route, media)
        for value in _values(media, answer):
            jsonschema.validate(value, {"components": {"schemas": STRICT}, **content[media]["schema"]})
        return answer


def _values(media: str, answer: httpx2.Response) -> Iterator[Any]:
    if media == "application/json":
        yield answer.json()
    elif media == "application/x-ndjson":
        yield from map(json.loads, answer.text.splitlines())
    elif media.startswith("text/"):
        yield answer.text


@pytest.fixture(scope="module")
def checker() -> Checker:
    return Checker()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    async with open_api(Settings(data=tmp_path_factory.mktemp("api"), max_body=100_000)) as owner:
        yield await make_world(owner)


# ── the document ──


async def test_every_route_but_the_pages_of_the_client_is_described() -> None:
    assert set(OPERATIONS) == DESCRIBED
    assert len(CALLS) == len(RULES)


async def test_schemas_are_valid_and_none_allows_just_anything() -> None:
    for name, schema in DOCUMENT["components"]["schemas"].items():
        jsonschema.Draft202012Validator.check_schema(schema)
        assert not any(each in ({}, True) for each in _types(schema)), name
    for route, operation in OPERATIONS.items():
        parts = [*operation["responses"].values(), operation.get("requestBody", {})]
        schemas = [each["schema"] for part in parts for each in part.get("content", {}).values()]
        assert all(schemas), route
        for schema in schemas:
            jsonschema.Draft202012Validator.check_schema(schema)


def _types(schema: Any) -> Iterator[Any]:
    """Every schema of a value inside a schema."""
    if isinstance(schema, dict):
        if "additionalProperties" in schema and schema["additionalProperties"] is not False:
            yield schema["additionalProperties"]
        if "items" in schema:
            yield schema["items"]
        if "properties" in schema:
            yield from schema["properties"].values()
        for each in schema.values():
            yield from _types(each)
    elif isinstance(schema, list):
        for each in schema:
            yield from _types(each)


async def test_no_schema_is_named_after_a_module() -> None:
    assert [name for name in DOCUMENT["components"]["schemas"] if "__" in name] == []


async def test_operation_ids_are_unique_and_plain() -> None:
    ids = [operation["operationId"] for operation in OPERATIONS.values()]
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch(r"[a-z]+([A-Z][a-z]+)*", each) for each in ids), ids
    assert OPERATIONS["POST /api/v1/projects/{project_id}/search/query/strategy"]["operationId"] == "searchDocuments"


async def test_every_error_response_names_its_codes() -> None:
    assert DOCUMENT["components"]["schemas"]["ErrorCode"]["enum"] == list(KINDS)
    for route, operation in OPERATIONS.items():
        for status, response in operation["responses"].items():
            if int(status) >= 400 and (route, status) not in JSON_RPC_ERRORS:
                text = json.dumps(response["content"])
                codes = [code for code in KINDS if f'"{code}"' in text]
                assert codes, (route, status)
                assert {KINDS[code].status for code in codes} == {int(status)}, (route, status)


async def test_routes_that_are_open_to_everyone_need_no_key_and_the_others_do() -> None:
    for route, operation in OPERATIONS.items():
        assert bool(operation["security"]) == (RULES[route].role is not None), route
        if route != "POST /api/v1/sign-in":  # open, and refuses a wrong key
            assert ("401" in operation["responses"]) == (RULES[route].role is not None), route


async def test_the_command_line_writes_the_same_document(tmp_path: Path) -> None:
    file = tmp_path / "openapi.json"
    assert CliRunner().invoke(cli, ["openapi", str(file)]).exit_code == 0
    assert json.loads(file.read_text(encoding="utf-8")) == DOCUMENT


# ── real answers ──


async def test_errors_of_every_route_are_described(world: World, checker: Checker) -> None:
    owner = world.owner
    absent = dict.fromkeys(world.ids, 999_999_999)
    for route in sorted(DESCRIBED):
        method, path = world.address(route)
        body = CALLS[route].body(world.ids)
        async with with_key(owner, None) as nobody, with_key(owner, world.keys["mine read"]) as reader:
            denied = checker.check(route, await nobody.request(method, path, **body))
            assert (denied.status_code == 401) == (RULES[route].role is not None)
            if CALLS[route].role not in (None, "read"):
                assert checker.check(route, await reader.request(method, path, **body)).status_code == 403
        if "{" in route:
            nowhere = route.split(" ")[1].format(**absent) + CALLS[route].query
            assert checker.check(route, await owner.request(method, nowhere, **CALLS[route].body(absent))).is_error
        if "requestBody" in OPERATIONS[route]:
            for wrong in (b"\xff{", b"[" * 2000, b" " * 100_001):
                checker.check(route, await owner.request(method, path, content=wrong, headers=ACCEPT))
        for parameter in OPERATIONS[route].get("parameters", ()):
            if parameter["in"] == "query":
                bad = path.split("?")[0] + f"?{parameter['name']}=~"
                checker.check(route, await owner.request(method, bad, **body))


async def test_answers_of_calls_to_every_type_of_tool_are_described(world: World, checker: Checker) -> None:
    owner, project = world.owner, world.ids["project_id"]
    data = {"name": "data", "data": {"rows": [{"title": "a", "n": 1.5}], "text": LONG_TEXT, "more": {}}}
    table = (await owner.post(f"/api/v1/projects/{project}/tables", json=data)).json()["id"]
    calls: list[tuple[str, str | None, dict[str, Any]]] = [
        ("search", "", {"query": "library"}),
        ("read", "", {"json_path": "/text", "around": 5}),
        ("search_documents", None, {"query": "library"}),
        ("list_documents", None, {}),
        ("retrieve", None, {"query": "library", "max_tokens": 500}),
        ("read_document", None, {"document_id": world.ids["document_id"]}),
        ("replace", None, {"search": "now", "replace": "then"}),
        ("get_data_schema", "", {}),
        ("get_all_data", "", {}),
        ("query_data", "", {"query": "rows[0]"}),
        ("preview", "/rows", {"keys": ["title"]}),
        ("select", "/rows", {"field": "title", "keys": ["a"]}),
        ("create", "/more", {"elements": [{"key": "k", "content": {"deep": [None, True]}}]}),
        ("update", "/more", {"updates": [{"key": "k", "content": 2}]}),
        ("delete", "/more", {"keys": ["k"]}),
    ]
    call = "POST /api/v1/tools/{tool_id}/call"
    for type, pointer, arguments in calls:
        spec = {"project_id": project, "type": type, "name": f"to_{type}"}
        spec |= {} if pointer is None else {"table_id": table, "json_pointer": pointer}
        made = checker.check("POST /api/v1/tools", await owner.post("/api/v1/tools", json=spec)).json()
        path = f"/api/v1/tools/{made['tool_id']}/call"
        answer = checker.check(call, await owner.post(path, json={"arguments": arguments}))
        assert answer.status_code == 200, answer.text
        if type == "search":
            assert answer.json()["results"]
        refused = await owner.post(path, json={"arguments": {"unknown": 1}})
        assert checker.check(call, refused).status_code == 422
        if type == "replace":
            stale = {"arguments": {"preview_id": 999_999, "confirmed": True}}
            assert checker.check(call, await owner.post(path, json=stale)).status_code == 409
        if type == "delete":
            gone = await owner.post(path, json={"arguments": arguments})
            assert checker.check(call, gone).status_code == 409
            async with with_key(owner, world.keys["mine read"]) as reader:
                forbidden = await reader.post(path, json={"arguments": arguments})
            assert checker.check(call, forbidden).status_code == 403


async def test_conflicts_are_described(world: World, checker: Checker) -> None:
    owner, ids = world.owner, world.ids
    data, stale = f"/api/v1/tables/{ids['table_id']}/data", {"If-Match": "999"}
    for method, body in (("PUT", [1]), ("PATCH", [{"op": "test", "path": "/0", "value": 1}])):
        route = f"{method} /api/v1/tables/{{table_id}}/data"
        assert checker.check(route, await owner.request(method, data, json=body, headers=stale)).status_code == 412
    wrong = [{"op": "remove", "path": "/absent"}]
    assert checker.check("PATCH /api/v1/tables/{table_id}/data", await owner.patch(data, json=wrong)).is_error
    document, route = f"/api/v1/documents/{ids['document_id']}", "PUT /api/v1/documents/{document_id}"
    assert checker.check(route, await owner.put(document, json={"title": "t"}, headers=stale)).status_code == 412
    late = {"title": "t", "baseRevision": 999}
    assert checker.check(route, await owner.put(document, json=late)).status_code == 409
    twin = {"project_id": ids["project_id"], "table_id": ids["table_id"], "name": "bound", "type": "get_all_data"}
    tool = (await owner.post("/api/v1/tools", json=twin)).json()["tool_id"]
    bound = await owner.put(f"/api/v1/mcp/{ids['endpoint_id']}/tools/{tool}")
    assert checker.check("PUT /api/v1/mcp/{endpoint_id}/tools/{tool_id}", bound).status_code == 409
    both = {"project_id": ids["project_id"], "name": "twins", "tool_ids": [ids["tool_id"], tool]}
    assert checker.check("POST /api/v1/mcp", await owner.post("/api/v1/mcp", json=both)).status_code == 409


async def test_the_fields_of_errors_are_described(
    world: World, checker: Checker, monkeypatch: pytest.MonkeyPatch
) -> None:
    project, replaced = f"/api/v1/projects/{world.ids['project_id']}", {"replace": "", "scope": "project"}
    embedder = app_behind(world.owner).embeddings.embedder
    mismatch = FindspotError("EMBEDDING_DIMENSION_MISMATCH", "16 are declared.", expected=16, found=8)
    monkeypatch.setattr(embedder, "documents", Mock(side_effect=mismatch))
    for path, body, status, fields in (
        ("context/assemble", {"layers": {"rules": "词 word " * 9}, "maxTokens": 5}, 422, {"rulesTokens", "maxTokens"}),
        ("search/replace/preview", {"search": "(?<=x)", "regex": True, **replaced}, 422, {"construct", "position"}),
        ("embedding/generate", {"texts": ["a"]}, 502, {"expected", "found"}),
    ):
        answer = await world.owner.post(f"{project}/{path}", json=body)
        assert checker.check(f"POST /api/v1/projects/{{project_id}}/{path}", answer).status_code == status
        assert fields <= answer.json().keys()
    store = app_behind(world.owner).store
    monkeypatch.setattr(store, "require_writable", AsyncMock(side_effect=FindspotError("DISK_FULL", "no room")))
    readiness = checker.check("GET /readyz", await world.owner.get("/readyz"))
    assert (readiness.json()["reads"], readiness.json()["writes"]) == (True, False)


async def test_mcp_messages_are_described(world: World, checker: Checker) -> None:
    route = "POST /mcp/{endpoint_id}"
    path = f"/mcp/{world.ids['endpoint_id']}"
    async with with_key(world.owner, world.keys["mine endpoint"]) as agent:
        for body, headers, status in (
            ({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, ACCEPT, 200),
            ({"jsonrpc": "2.0", "id": "a", "method": "no/such"}, ACCEPT, 200),
            ({"jsonrpc": "2.0", "method": "notifications/initialized"}, ACCEPT, 202),
            ({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, {"Accept": "text/html"}, 406),
            ({"nothing": 1}, ACCEPT, 400),
            ({"jsonrpc": "2.0", "id": 1, "method": "ping"}, {**ACCEPT, "Host": "elsewhere.example"}, 421),
            ({"jsonrpc": "2.0", "id": 1, "method": "ping"}, {**ACCEPT, "Origin": "http://["}, 403),
        ):
            answer = checker.check(route, await agent.post(path, json=body, headers=headers))
            assert answer.status_code == status, answer.text


async def test_a_successful_answer_of_every_route_is_described(world: World, checker: Checker) -> None:
    things = ("tools/{tool_id}", "mcp/{endpoint_id}", "tables/{table_id}", "documents/{document_id}")
    last = [f"DELETE /api/v1/{thing}" for thing in (*things, "projects/{project_id}")]
    await settle(app_behind(world.owner))
    for route in (*(each for each in CALLS if each in DESCRIBED and each not in last), *last):
        answer = checker.check(route, await world.call(route))
        assert answer.is_success, (route, answer.text)
    assert {route for route, status in checker.seen if status < 300} == DESCRIBED


async def test_two_types_with_one_name_are_refused() -> None:
    class Project(BaseModel):  # an answer has this name
        other: int

    async def create(request: Request, body: Project) -> None: ...

    described = Described({204: None})
    clash = GuardedRoute("POST", "/api/v1/projects", create, "projects", described)
    with pytest.raises(ValueError, match="Project"):
        describe([*every_route(), clash])
