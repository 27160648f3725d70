"""Every route, called by everyone who may not call it."""

import re
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import httpx2
import pytest
import pytest_asyncio
import sqlalchemy as sa

from findspot.content.sessions import LIFETIME, Sessions
from findspot.models import Role
from findspot.settings import Settings
from findspot.store.schema import sessions
from findspot.surfaces.http.api import every_route
from findspot.surfaces.http.router import Router
from findspot.surfaces.http.rules import RULES
from findspot.surfaces.web import client
from tests.databases import Databases
from tests.http.calls import CALLS
from tests.http.world import World, app_behind, make_world, open_api, with_key

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=["sqlite", "postgres"])
async def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    """One server and one world for all tests here, on each database."""
    databases: Databases | None = request.getfixturevalue("postgres") if request.param == "postgres" else None
    address = databases.lend() if databases else None
    built = tmp_path_factory.mktemp("built")
    (built / "assets").mkdir()
    (built / "index.html").write_text("<!doctype html><title>the client</title>")
    (built / "assets" / "app.js").write_text("export {}")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(client, "BUILT", built)
        settings = Settings(data=tmp_path_factory.mktemp("api"), database_url=address, port=0)
        async with open_api(settings) as owner:
            yield await make_world(owner)
    if databases and address:
        databases.take_back(address)


async def test_every_route_has_a_rule_and_a_call_in_this_walk(world: World) -> None:
    served = world.owner._transport.app.router.routes  # type: ignore[attr-defined]
    assert {f"{route.method} {route.path}" for route in served} == set(CALLS) == set(RULES)
    assert len(served) == len(every_route()) == len(RULES)


@pytest.mark.scenario("002.engine.no-route", "002.non-goal.no-engine-api")
async def test_no_route_exposes_the_engine() -> None:
    words = {word for route in RULES for word in re.split(r"[^a-z]+", route.lower())}
    assert not words & {"engine", "turbopuffer", "tantivy", "namespace", "namespaces", "vectors", "upsert"}


async def test_a_route_without_a_rule_cannot_be_added() -> None:
    async def backdoor() -> None: ...

    with pytest.raises(KeyError, match="GET /api/v1/backdoor"):
        Router("test").get("/api/v1/backdoor")(backdoor)


@pytest.mark.scenario("004.matrix.unauthorised-project", "004.matrix.no-leak-across-projects")
async def test_no_route_admits_a_caller_without_the_right_key(world: World) -> None:
    before, wrong = await world.state(), []

    async def expect(route: str, key: str | None, status: int, code: str) -> None:
        async with with_key(world.owner, key) as caller:
            answer = await world.call(route, caller)
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


async def test_the_key_of_an_endpoint_opens_only_that_endpoint(world: World) -> None:
    before = await world.state()
    async with with_key(world.owner, world.keys["mine endpoint"]) as agent:
        for route, call in CALLS.items():
            if call.role is not None and route != "POST /mcp/{endpoint_id}":
                answer = await world.call(route, agent)
                assert (answer.status_code, answer.json()["code"]) == (401, "UNAUTHORIZED"), route
        own = CALLS["POST /mcp/{endpoint_id}"]
        assert (await agent.post(f"/mcp/{world.ids['endpoint_id']}", **own.body(world.ids))).status_code == 200
    assert await world.state() == before


async def test_an_object_of_another_project_answers_like_one_that_does_not_exist(world: World) -> None:
    async with with_key(world.owner, world.keys["other admin"]) as stranger:
        for route, call in CALLS.items():
            if not call.of_a_project:
                continue
            method, path = world.address(route)
            hidden = await stranger.request(method, path, **call.body(world.ids))
            absent_ids = dict.fromkeys(world.ids, 999_999_999)
            nowhere = route.split(" ")[1].format(**absent_ids) + call.query
            absent = await stranger.request(method, nowhere, **call.body(absent_ids))
            assert (hidden.status_code, hidden.content) == (absent.status_code, absent.content), route


async def test_each_role_may_do_all_that_the_contract_gives_it(world: World) -> None:
    world = await make_world(world.owner)  # this one is deleted
    things = ("tools/{tool_id}", "mcp/{endpoint_id}", "tables/{table_id}", "documents/{document_id}")
    last = [f"DELETE /api/v1/{thing}" for thing in (*things, "projects/{project_id}")]
    for route in (*(each for each in CALLS if each not in last), *last):
        call = CALLS[route]
        key = None if call.role in (None, Role.OWNER) else world.keys[f"mine {call.role}"]
        async with with_key(world.owner, key) as caller:
            answer = await world.call(route, world.owner if call.role is Role.OWNER else caller)
        assert answer.status_code < 300, (route, answer.text)


async def test_a_revoked_key_stops_working_at_once(world: World) -> None:
    project = world.ids["project_id"]
    made = (await world.owner.post(f"/api/v1/projects/{project}/keys", json={"name": "k", "role": "admin"})).json()
    async with with_key(world.owner, made["key"]) as holder:
        assert (await holder.get(f"/api/v1/projects/{project}")).status_code == 200
        await world.owner.delete(f"/api/v1/projects/{project}/keys/{made['id']}")
        refused = await holder.get(f"/api/v1/projects/{project}")
    assert (refused.status_code, refused.json()["code"]) == (401, "UNAUTHORIZED")
    assert refused.headers["www-authenticate"] == "Bearer"


async def test_a_key_is_accepted_in_either_header(world: World) -> None:
    path = f"/api/v1/projects/{world.ids['project_id']}"
    async with with_key(world.owner, None) as anyone:
        for headers in ({"X-API-Key": world.keys["mine read"]}, {"authorization": f"bearer {world.keys['mine read']}"}):
            assert (await anyone.get(path, headers=headers)).status_code == 200
        assert (await anyone.get(path, headers={"Authorization": "Basic eDp5"})).status_code == 401


async def test_a_malformed_id_answers_404(world: World) -> None:
    for wrong in ("0", "-1", "abc", "1e3", "９", "9" * 30, "1.0", "%00"):
        for path in (f"tables/{wrong}", f"projects/{world.ids['project_id']}/keys/{wrong}"):
            answer = await world.owner.request("GET" if "tables" in path else "DELETE", f"/api/v1/{path}")
            assert (answer.status_code, answer.json()["code"]) == (404, "NOT_FOUND"), path


async def test_a_caller_is_refused_before_the_body_is_read(world: World) -> None:
    read_from = []

    async def body() -> Any:
        read_from.append(1)
        yield b"x"

    async with with_key(world.owner, "fsk_nobody") as stranger:
        answer = await stranger.put(f"/api/v1/tables/{world.ids['table_id']}/data", content=body())
    assert answer.status_code == 401
    assert not read_from


async def test_the_sign_in_link_sets_a_cookie_that_only_our_own_pages_can_use(world: World) -> None:
    token = world.owner.headers["authorization"].removeprefix("Bearer ")
    async with with_key(world.owner, None) as browser:
        assert (await browser.get("/?token=wrong")).status_code == 401
        assert (await browser.get("/api/v1/caller")).status_code == 401
        signed_in = await browser.get("/", params={"token": token})
        assert (signed_in.status_code, signed_in.headers["location"]) == (303, "/")
        cookie = signed_in.headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=strict" in cookie
        assert token not in cookie
        assert (await browser.get("/api/v1/caller")).json()["role"] == "owner"
        assert (await browser.get("/api/v1/projects")).status_code == 200
        here = {"Origin": "http://localhost"}
        elsewhere = {"Origin": "http://localhost:3000"}
        body = {"name": "from a page"}
        assert (await browser.post("/api/v1/projects", json=body, headers=here)).status_code == 201
        assert (await browser.post("/api/v1/projects", json=body, headers=elsewhere)).status_code == 401


async def signed_in(browser: httpx2.AsyncClient, world: World) -> str:
    """Sign a browser in and return the id of its session."""
    token = world.owner.headers["authorization"].removeprefix("Bearer ")
    answer = await browser.get("/", params={"token": token})
    return answer.headers["set-cookie"].partition(";")[0].partition("=")[2]


async def test_every_sign_in_is_a_session_of_its_own_that_signing_out_ends(world: World) -> None:
    async with with_key(world.owner, None) as one, with_key(world.owner, None) as other:
        ids = {await signed_in(one, world), await signed_in(other, world), await signed_in(other, world)}
        assert len(ids) == 3
        assert all(len(each) >= 32 for each in ids)
        kept = dict(one.cookies)
        answer = await one.post("/api/v1/sign-out")
        assert (answer.status_code, "max-age=0" in answer.headers["set-cookie"].lower()) == (204, True)
        for cookies in (dict(one.cookies), kept):  # the browser forgets the cookie, and a copy of it is worthless
            one.cookies = httpx2.Cookies(cookies)
            assert (await one.get("/api/v1/projects")).status_code == 401
        assert (await other.get("/api/v1/projects")).status_code == 200
        assert (await world.owner.post("/api/v1/sign-out", params={"everywhere": True})).status_code == 204
        assert (await other.get("/api/v1/projects")).status_code == 401
        assert (await other.post("/api/v1/sign-out")).status_code == 401


async def test_a_project_key_signs_a_browser_in_with_its_own_role_until_it_is_revoked(world: World) -> None:
    project = world.ids["project_id"]
    made = (await world.owner.post(f"/api/v1/projects/{project}/keys", json={"name": "k", "role": "write"})).json()
    async with with_key(world.owner, None) as browser:
        assert (await browser.post("/api/v1/sign-in", json={"key": "fsk_wrong"})).status_code == 401
        elsewhere = {"Origin": "http://localhost:3000"}
        assert (await browser.post("/api/v1/sign-in", json={"key": made["key"]}, headers=elsewhere)).status_code == 403
        signed = await browser.post("/api/v1/sign-in", json={"key": made["key"]})
        assert signed.status_code == 204
        cookie = signed.headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=strict" in cookie
        caller = (await browser.get("/api/v1/caller")).json()
        assert (caller["role"], caller["projectId"]) == ("write", project)
        assert (await browser.get(f"/api/v1/projects/{project}/keys")).status_code == 403
        assert (await browser.post("/api/v1/sign-out", params={"everywhere": True})).status_code == 403
        assert (await browser.get("/api/v1/projects", headers=elsewhere)).status_code == 401
        await world.owner.delete(f"/api/v1/projects/{project}/keys/{made['id']}")
        assert (await browser.get("/api/v1/caller")).status_code == 401


async def test_the_owners_token_itself_is_no_valid_cookie(world: World) -> None:
    async with with_key(world.owner, None) as browser:
        cookie = {"Cookie": f"findspot-80={world.ids['token']}"}
        assert (await browser.get("/api/v1/caller", headers=cookie)).status_code == 401


async def test_signing_out_works_from_no_other_page(world: World) -> None:
    async with with_key(world.owner, None) as browser:
        await signed_in(browser, world)
        assert (await browser.post("/api/v1/sign-out", headers={"Origin": "http://localhost:3000"})).status_code == 401
        assert (await browser.post("/api/v1/sign-out", headers={"Origin": "http://localhost"})).status_code == 204
        assert (await browser.get("/api/v1/caller")).status_code == 401


async def test_a_session_expires_and_is_stored_as_a_hash(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    async with with_key(world.owner, None) as browser:
        session_id = await signed_in(browser, world)
        async with app_behind(world.owner).store.read() as connection:
            stored = [row.hash for row in await connection.execute(sa.select(sessions))]
        assert stored
        assert session_id not in stored
        assert (await browser.get("/api/v1/projects")).status_code == 200
        later = datetime.now(UTC) + LIFETIME

        class Clock(datetime):
            @classmethod
            def now(cls, tz: Any = None) -> Any:
                return later

        monkeypatch.setattr("findspot.content.sessions.datetime", Clock)
        assert (await browser.get("/api/v1/projects")).status_code == 401


async def test_a_new_token_of_the_owner_ends_all_sessions(world: World) -> None:
    app = app_behind(world.owner)
    session_id = await app.sessions.start()
    assert await app.sessions.identify(session_id) is not None
    assert await Sessions(app.store, "another-token-of-the-owner").identify(session_id) is None


@pytest.mark.parametrize("cookie", ["findspot-80=p\u00e4ss", "findspot-80=\u00ff", "=;;\u00e9", "findspot-80"])
async def test_a_cookie_with_any_characters_is_refused_and_no_fault(world: World, cookie: str) -> None:
    async with with_key(world.owner, None) as browser:
        for path in ("/api/v1/projects", "/"):
            answer = await browser.get(path, headers={b"Cookie": cookie.encode("latin-1")})
            assert answer.status_code == (200 if path == "/" else 401)


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://["},
        {"Host": "[", "Cookie": "findspot-80=x"},
        {"Host": "localhost:notaport"},
        {"Authorization": b"Bearer \xff\xfe"},
        {"X-API-Key": b"\xe4"},
        {"Authorization": "Bearer"},
    ],
)
async def test_malformed_headers_are_refused_and_no_fault(world: World, headers: dict[str, Any]) -> None:
    async with with_key(world.owner, None) as anyone:
        assert (await anyone.get("/api/v1/projects", headers=headers)).status_code == 401
        assert (await anyone.get("/", headers=headers)).status_code == 200


async def test_a_signed_in_browser_is_refused_with_a_malformed_origin(world: World) -> None:
    token = world.owner.headers["authorization"].removeprefix("Bearer ")
    async with with_key(world.owner, None) as browser:
        await browser.get("/", params={"token": token})
        assert (await browser.get("/api/v1/projects")).status_code == 200
        assert (await browser.get("/api/v1/projects", headers={"Origin": "http://["})).status_code == 401
