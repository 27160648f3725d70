"""Every route, tried by everyone who may not call it."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import httpx2
import pytest

from findspot.app import App
from findspot.models import Role
from findspot.settings import Settings
from findspot.surfaces.http.access import RULES, GuardedRoute
from findspot.surfaces.http.api import create_api
from tests.flows import settle
from tests.http.calls import CALLS

Become = Callable[[httpx2.AsyncClient, str | None], httpx2.AsyncClient]


@dataclass
class World:
    """Two projects with a table and keys each, so that one can knock at the other's doors."""

    owner: httpx2.AsyncClient
    ids: dict[str, int] = field(default_factory=dict)
    keys: dict[str, str] = field(default_factory=dict)

    def address(self, route: str) -> tuple[str, str]:
        method, path = route.split(" ")
        return method, path.format(**self.ids) + CALLS[route].query

    async def state(self) -> Any:
        """Everything a forbidden call might have changed."""
        project, table, document = (self.ids[name] for name in ("project_id", "table_id", "document_id"))
        paths = [
            "/api/v1/projects",
            *(f"/api/v1/projects/{project}/{part}" for part in ("keys", "tables", "documents")),
            f"/api/v1/tables/{table}",
            f"/api/v1/documents/{document}",
            f"/api/v1/documents/{document}/versions",
            f"/api/v1/projects/{project}/tools",
            f"/api/v1/projects/{project}/mcp",
            f"/api/v1/mcp/{self.ids['endpoint_id']}",
        ]
        return [(await self.owner.get(path)).json() for path in paths]


def api_of(client: httpx2.AsyncClient) -> App:
    """What is open behind a client of the API in this process."""
    app: App = client._transport.app.state.app  # type: ignore[attr-defined]
    return app


A_DOCUMENT = {"title": "d", "format": "text", "content": "before"}


@pytest.fixture
async def world(owner: httpx2.AsyncClient) -> World:
    made = World(owner)
    for side in ("other", "mine"):
        project = (await owner.post("/api/v1/projects", json={"name": side})).json()["id"]
        for role in ("read", "write", "admin"):
            key = await owner.post(f"/api/v1/projects/{project}/keys", json={"name": role, "role": role})
            made.keys[f"{side} {role}"] = key.json()["key"]
        spare = await owner.post(f"/api/v1/projects/{project}/keys", json={"name": "spare", "role": "read"})
        table = await owner.post(f"/api/v1/projects/{project}/tables", json={"name": "t", "data": [1]})
        document = (await owner.post(f"/api/v1/projects/{project}/documents", json=A_DOCUMENT)).json()["id"]
        version = (await owner.put(f"/api/v1/documents/{document}", json={"content": "now"})).json()["versionId"]
        await settle(api_of(owner))
        search = f"/api/v1/projects/{project}/search/fts/query"
        (passage,) = (await owner.post(search, json={"query": "now"})).json()["results"]
        ours = {"project_id": project, "table_id": table.json()["id"]}
        tool = (await owner.post("/api/v1/tools/search", json={**ours, "name": "bound"})).json()["tool_id"]
        body = {"project_id": project, "name": "agents", "tool_ids": [tool]}
        endpoint = (await owner.post("/api/v1/mcp", json=body)).json()
        made.keys[f"{side} endpoint"] = endpoint["api_key"]
        made.ids = {
            "project_id": project,
            "tool_id": tool,
            "endpoint_id": endpoint["id"],
            "key_id": spare.json()["id"],
            "table_id": table.json()["id"],
            "document_id": document,
            "version_id": version,
            "chunk_id": passage["chunkId"],
        }
    return made


def test_every_route_has_a_call_in_this_walk_and_a_rule(settings: Settings) -> None:
    routes = create_api(settings).routes
    guarded = [route for route in routes if isinstance(route, GuardedRoute)]
    assert len(guarded) == len(routes)
    assert {f"{method} {route.path}" for route in guarded for method in route.methods or ()} == set(CALLS) == set(RULES)


@pytest.mark.scenario("002.engine.no-route", "002.non-goal.no-engine-api")
def test_no_route_hands_out_the_engine() -> None:
    words = {word for route in RULES for word in re.split(r"[^a-z]+", route.lower())}
    assert not words & {"engine", "turbopuffer", "tantivy", "namespace", "namespaces", "vectors", "upsert"}


def test_a_route_without_a_rule_cannot_be_added(settings: Settings) -> None:
    from findspot.surfaces.http.router import router

    with pytest.raises(KeyError, match="GET /api/v1/backdoor"):
        router("test").get("/api/v1/backdoor")(lambda: None)


@pytest.mark.scenario("004.matrix.unauthorised-project", "004.matrix.no-leak-across-projects")
async def test_no_route_opens_for_a_caller_who_may_not(world: World, as_key: Become) -> None:
    before, wrong = await world.state(), []

    async def expect(route: str, key: str | None, status: int, code: str) -> None:
        method, path = world.address(route)
        async with as_key(world.owner, key) as caller:
            answer = await caller.request(method, path, **CALLS[route].body(world.ids))
        if (answer.status_code, answer.json().get("code")) != (status, code):
            wrong.append((route, key, answer.status_code, answer.text[:200]))

    for route, call in CALLS.items():
        if call.role is None:
            continue
        await expect(route, None, 401, "UNAUTHORIZED")
        await expect(route, "fsk_nobody", 401, "UNAUTHORIZED")
        for role in (Role.READ, Role.WRITE, Role.ADMIN):
            if call.of_a_project:
                await expect(route, world.keys[f"other {role}"], 404, "NOT_FOUND")
            if not role.covers(call.role):
                await expect(route, world.keys[f"mine {role}"], 403, "FORBIDDEN")
    assert not wrong
    assert await world.state() == before


async def test_the_key_of_an_endpoint_opens_no_route_but_its_own(world: World, as_key: Become) -> None:
    before = await world.state()
    async with as_key(world.owner, world.keys["mine endpoint"]) as agent:
        for route, call in CALLS.items():
            if call.role is not None and route != "POST /mcp/{endpoint_id}":
                method, path = world.address(route)
                answer = await agent.request(method, path, **call.body(world.ids))
                assert (answer.status_code, answer.json()["code"]) == (401, "UNAUTHORIZED"), route
        own = CALLS["POST /mcp/{endpoint_id}"]
        assert (await agent.post(f"/mcp/{world.ids['endpoint_id']}", **own.body(world.ids))).status_code == 200
    assert await world.state() == before


async def test_what_a_caller_may_not_see_answers_like_what_does_not_exist(world: World, as_key: Become) -> None:
    async with as_key(world.owner, world.keys["other admin"]) as stranger:
        for route, call in CALLS.items():
            if not call.of_a_project:
                continue
            method, path = world.address(route)
            hidden = await stranger.request(method, path, **call.body(world.ids))
            absent_ids = dict.fromkeys(world.ids, 999_999_999)
            nowhere = route.split(" ")[1].format(**absent_ids) + call.query
            absent = await stranger.request(method, nowhere, **call.body(absent_ids))
            assert (hidden.status_code, hidden.content) == (absent.status_code, absent.content), route


async def test_each_role_may_do_all_that_the_contract_gives_it(world: World, as_key: Become) -> None:
    things = ("tools/{tool_id}", "mcp/{endpoint_id}", "tables/{table_id}", "documents/{document_id}")
    last = [f"DELETE /api/v1/{thing}" for thing in (*things, "projects/{project_id}")]
    for route in (*(each for each in CALLS if each not in last), *last):
        call = CALLS[route]
        key = None if call.role in (None, Role.OWNER) else world.keys[f"mine {call.role}"]
        method, path = world.address(route)
        async with as_key(world.owner, key) as caller:
            client = world.owner if call.role is Role.OWNER else caller
            answer = await client.request(method, path, **call.body(world.ids))
        assert answer.status_code < 300, (route, answer.text)


async def test_a_revoked_key_opens_nothing_from_that_moment_on(world: World, as_key: Become) -> None:
    project = world.ids["project_id"]
    made = (await world.owner.post(f"/api/v1/projects/{project}/keys", json={"name": "k", "role": "admin"})).json()
    async with as_key(world.owner, made["key"]) as holder:
        assert (await holder.get(f"/api/v1/projects/{project}")).status_code == 200
        await world.owner.delete(f"/api/v1/projects/{project}/keys/{made['id']}")
        refused = await holder.get(f"/api/v1/projects/{project}")
    assert (refused.status_code, refused.json()["code"]) == (401, "UNAUTHORIZED")
    assert refused.headers["www-authenticate"] == "Bearer"


async def test_a_key_may_come_in_either_header(world: World, as_key: Become) -> None:
    path = f"/api/v1/projects/{world.ids['project_id']}"
    async with as_key(world.owner, None) as anyone:
        for headers in ({"X-API-Key": world.keys["mine read"]}, {"authorization": f"bearer {world.keys['mine read']}"}):
            assert (await anyone.get(path, headers=headers)).status_code == 200
        assert (await anyone.get(path, headers={"Authorization": "Basic eDp5"})).status_code == 401


async def test_an_id_that_is_no_id_is_simply_not_there(world: World) -> None:
    for wrong in ("0", "-1", "abc", "1e3", "９", "9" * 30, "1.0", "%00"):
        for path in (f"tables/{wrong}", f"projects/{world.ids['project_id']}/keys/{wrong}"):
            answer = await world.owner.request("GET" if "tables" in path else "DELETE", f"/api/v1/{path}")
            assert (answer.status_code, answer.json()["code"]) == (404, "NOT_FOUND"), path


async def test_a_refused_caller_is_told_before_the_body_is_read(world: World, as_key: Become) -> None:
    read_from = []

    async def body() -> Any:
        read_from.append(1)
        yield b"x"

    async with as_key(world.owner, "fsk_nobody") as stranger:
        answer = await stranger.put(f"/api/v1/tables/{world.ids['table_id']}/data", content=body())
    assert answer.status_code == 401
    assert not read_from


async def test_the_sign_in_link_signs_a_browser_in_and_its_cookie_is_no_use_to_other_pages(
    world: World, as_key: Become
) -> None:
    token = world.owner.headers["authorization"].removeprefix("Bearer ")
    async with as_key(world.owner, None) as browser:
        assert (await browser.get("/?token=wrong")).status_code == 401
        stranger = await browser.get("/")
        assert "open the link" in stranger.text
        signed_in = await browser.get("/", params={"token": token})
        assert (signed_in.status_code, signed_in.headers["location"]) == (303, "/")
        cookie = signed_in.headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=strict" in cookie
        assert token not in cookie
        assert token not in (await browser.get("/")).text
        assert (await browser.get("/api/v1/projects")).status_code == 200
        here = {"Origin": "http://localhost"}
        elsewhere = {"Origin": "http://localhost:3000"}
        body = {"name": "from a page"}
        assert (await browser.post("/api/v1/projects", json=body, headers=here)).status_code == 201
        assert (await browser.post("/api/v1/projects", json=body, headers=elsewhere)).status_code == 401
