"""Projects, keys and status over HTTP, on both databases."""

import asyncio
import json
from collections.abc import Callable
from datetime import datetime
from itertools import pairwise
from typing import Any

import httpx2

from findspot.app import App
from findspot.store import keys as key_rows
from tests.flows import PATIENCE_S

Become = Callable[[httpx2.AsyncClient, str | None], httpx2.AsyncClient]


async def make_project(owner: httpx2.AsyncClient, name: str = "p") -> int:
    answer = await owner.post("/api/v1/projects", json={"name": name})
    assert answer.status_code == 201
    return int(answer.json()["id"])


async def test_a_project_can_be_made_listed_read_and_deleted_with_all_it_owns(owner: httpx2.AsyncClient) -> None:
    answer = await owner.post("/api/v1/projects", json={"name": "圖書館 📚 e\u0301"})
    project = answer.json()
    assert set(project) == {"id", "name", "created_at"}
    assert datetime.fromisoformat(project["created_at"]).tzinfo is not None
    assert (await owner.get(f"/api/v1/projects/{project['id']}")).json() == project
    assert (await owner.get("/api/v1/projects")).json() == {"projects": [project]}
    table = await owner.post(f"/api/v1/projects/{project['id']}/tables", json={"name": "t", "data": 1})
    assert (await owner.delete(f"/api/v1/projects/{project['id']}")).status_code == 204
    assert (await owner.get(f"/api/v1/projects/{project['id']}")).status_code == 404
    assert (await owner.get(f"/api/v1/tables/{table.json()['id']}")).status_code == 404
    assert await make_project(owner) > project["id"]


async def test_a_key_sees_its_own_project_alone(owner: httpx2.AsyncClient, as_key: Become) -> None:
    one, _ = await make_project(owner, "one"), await make_project(owner, "two")
    key = (await owner.post(f"/api/v1/projects/{one}/keys", json={"name": "k", "role": "read"})).json()
    async with as_key(owner, key["key"]) as reader:
        assert [each["id"] for each in (await reader.get("/api/v1/projects")).json()["projects"]] == [one]


async def test_a_keys_secret_is_shown_once_and_kept_only_as_a_hash(app: App) -> None:
    async with app.store.write() as connection:
        from findspot.store import projects

        project = await projects.create(connection, "p")
    from findspot.models import Role

    key, secret = await app.keys.issue(project.id, "k", Role.WRITE)
    async with app.store.read() as connection:
        assert await key_rows.by_hash(connection, secret) is None
    assert secret.startswith(key.hint)
    assert len(key.hint) < 12
    caller = await app.keys.identify(secret)
    assert caller is not None
    assert (caller.role, caller.project_id, caller.key_id) == (Role.WRITE, project.id, key.id)
    assert await app.keys.identify(secret + "x") is None


async def test_listing_keys_shows_no_secret(owner: httpx2.AsyncClient) -> None:
    project = await make_project(owner)
    made = (await owner.post(f"/api/v1/projects/{project}/keys", json={"name": "密钥", "role": "admin"})).json()
    listed = await owner.get(f"/api/v1/projects/{project}/keys")
    assert made["key"] not in listed.text
    (key,) = listed.json()["keys"]
    assert (key["id"], key["name"], key["role"]) == (made["id"], "密钥", "admin")


async def test_names_and_roles_are_checked(owner: httpx2.AsyncClient) -> None:
    project = await make_project(owner)
    keys = f"/api/v1/projects/{project}/keys"
    for path, body, field in (
        ("/api/v1/projects", b"", "body"),
        ("/api/v1/projects", b"{", "body"),
        ("/api/v1/projects", b"[]", "body"),
        ("/api/v1/projects", b"{}", "name"),
        ("/api/v1/projects", b'{"name": 1}', "name"),
        ("/api/v1/projects", b'{"name": ""}', "name"),
        ("/api/v1/projects", b'{"name": " "}', "name"),
        ("/api/v1/projects", b'{"name": "a\\u0000"}', "name"),
        ("/api/v1/projects", b'{"name": "\\ud800"}', "name"),
        ("/api/v1/projects", b'{"name": "' + b"x" * 201 + b'"}', "name"),
        ("/api/v1/projects", b'{"name": "x", "nmae": "y"}', "nmae"),
        ("/api/v1/projects", b"[" * 50_000, "body"),
        ("/api/v1/projects", b'{"name": "\xff"}', "body"),
        (keys, b'{"name": "k"}', "role"),
        (keys, b'{"name": "k", "role": "owner"}', "role"),
        (keys, b'{"name": "k", "role": "king"}', "role"),
    ):
        answer = await owner.post(path, content=body, headers={"Content-Type": "application/json"})
        assert (answer.status_code, answer.json().get("field")) == (422, field), (body[:60], answer.text)
        assert answer.json()["code"] == "INVALID_ARGUMENT"
    assert len((await owner.get("/api/v1/projects")).json()["projects"]) == 1
    assert (await owner.get(keys)).json() == {"keys": []}


async def test_a_body_is_json_whatever_the_client_calls_it(owner: httpx2.AsyncClient) -> None:
    for content_type in ("application/x-www-form-urlencoded", "text/plain", "application/json; charset=utf-8"):
        answer = await owner.post("/api/v1/projects", content='{"name": "書"}', headers={"Content-Type": content_type})
        assert answer.status_code == 201, answer.text


async def ready(owner: httpx2.AsyncClient, project: int) -> dict[str, Any]:
    """Wait until the index of a project is up to date, and return its status."""
    status: dict[str, Any] = {"index_state": "pending"}
    async with asyncio.timeout(PATIENCE_S):
        while status["index_state"] != "ready":
            await asyncio.sleep(0.02)
            status = (await owner.get(f"/api/v1/projects/{project}/status")).json()
    return status


async def test_the_status_counts_the_contents_of_a_project(owner: httpx2.AsyncClient) -> None:
    project = (await owner.post("/api/v1/projects", json={"name": "p"})).json()["id"]
    await owner.post(f"/api/v1/projects/{project}/tables", json={"name": "t", "data": {"a": 1}})
    status = await ready(owner, project)
    assert status["tables"] == 1
    assert status["disk"]["table_bytes"] == 7
    assert (status["chunks"], status["documents"], status["vectors"], status["evicted_vectors"]) == (0, 0, 0, 0)
    assert (status["namespaces"], status["last_errors"]) == ([], [])


async def test_the_status_shows_the_progress_of_the_index(owner: httpx2.AsyncClient) -> None:
    project = (await owner.post("/api/v1/projects", json={"name": "p"})).json()["id"]
    body = {"title": "t", "content": "A lantern.\n\n---\n\n夜里下雨。", "format": "markdown"}
    await owner.post(f"/api/v1/projects/{project}/documents", json=body)
    status = await ready(owner, project)
    assert (status["documents"], status["chunks"], status["vectors"]) == (1, 2, 2)
    assert status["disk"]["index_bytes"] > 0
    (namespace,) = status["namespaces"]
    assert namespace["namespace"] == f"project_{project}_documents"
    assert (namespace["status"], namespace["progress"]["done"], namespace["progress"]["total"]) == ("ready", 2, 2)


async def test_the_status_is_sent_as_events_until_the_index_is_ready(owner: httpx2.AsyncClient) -> None:
    project = (await owner.post("/api/v1/projects", json={"name": "p"})).json()["id"]
    body = {"title": "d", "format": "text", "content": "some words 一些字"}
    await owner.post(f"/api/v1/projects/{project}/documents", json=body)
    answer = await owner.get(f"/api/v1/projects/{project}/status/events")
    assert answer.headers["content-type"].startswith("text/event-stream")
    events = [json.loads(line.removeprefix("data: ")) for line in answer.text.splitlines() if line.startswith("data: ")]
    assert events[-1]["index_state"] == "ready"
    assert events[-1]["indexed_documents"] == 1
    assert all(earlier != later for earlier, later in pairwise(events))
