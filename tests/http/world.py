"""The API in this process, and two projects with something of everything, so that one can try the other's addresses."""

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import httpx2

from findspot.app import App
from findspot.settings import Settings
from findspot.surfaces.http.api import create_api
from tests.flows import settle
from tests.http.calls import CALLS

A_DOCUMENT = {"title": "d", "format": "text", "content": "before"}


@contextlib.asynccontextmanager
async def open_api(settings: Settings) -> AsyncIterator[httpx2.AsyncClient]:
    """The owner as a client of the API in this process."""
    api = create_api(settings)
    async with api.router.lifespan_context(api):
        transport = httpx2.ASGITransport(app=api, raise_app_exceptions=True)
        headers = {"Authorization": f"Bearer {api.state.app.token}"}
        async with httpx2.AsyncClient(base_url="http://localhost", transport=transport, headers=headers) as client:
            yield client


def app_behind(client: httpx2.AsyncClient) -> App:
    app: App = client._transport.app.state.app  # type: ignore[attr-defined]
    return app


def with_key(client: httpx2.AsyncClient, key: str | None) -> httpx2.AsyncClient:
    """Another caller of the same API: with that key, or with none."""
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    return httpx2.AsyncClient(base_url=client.base_url, transport=client._transport, headers=headers)


@dataclass
class World:
    """The ids of one project's objects, and the keys of both projects."""

    owner: httpx2.AsyncClient
    ids: dict[str, Any] = field(default_factory=dict)
    keys: dict[str, str] = field(default_factory=dict)

    def address(self, route: str) -> tuple[str, str]:
        method, path = route.split(" ")
        return method, path.replace(":path}", "}").format(**self.ids) + CALLS[route].query

    async def call(self, route: str, client: httpx2.AsyncClient | None = None) -> httpx2.Response:
        method, path = self.address(route)
        return await (client or self.owner).request(method, path, **CALLS[route].body(self.ids))

    async def state(self) -> Any:
        """Everything that a forbidden call might have changed."""
        project, table, document = (self.ids[name] for name in ("project_id", "table_id", "document_id"))
        paths = [
            "/api/v1/projects",
            *(f"/api/v1/projects/{project}/{part}" for part in ("keys", "tables", "documents", "tools", "mcp")),
            f"/api/v1/tables/{table}",
            f"/api/v1/documents/{document}",
            f"/api/v1/documents/{document}/versions",
            f"/api/v1/mcp/{self.ids['endpoint_id']}",
        ]
        return [(await self.owner.get(path)).json() for path in paths]


async def make_world(owner: httpx2.AsyncClient) -> World:
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
        await settle(app_behind(owner))
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
            "page": f"{project}/documents",
            "name": "app.js",
            "token": app_behind(owner).token,
            "replace_id": await make_replace(owner, project),
            "preview_id": await make_preview(owner, project),
        }
        await settle(app_behind(owner))
    return made


async def make_preview(owner: httpx2.AsyncClient, project: int) -> int:
    """Preview a replace that leaves the text as it is."""
    rule = {"search": "now", "replace": "now", "scope": "project"}
    return int((await owner.post(f"/api/v1/projects/{project}/search/replace/preview", json=rule)).json()["previewId"])


async def make_replace(owner: httpx2.AsyncClient, project: int) -> int:
    """Make a replace that leaves the text as it is."""
    done = {"previewId": await make_preview(owner, project), "confirmed": True}
    answer = await owner.post(f"/api/v1/projects/{project}/search/replace/execute", json=done)
    assert answer.json()["replacedCount"], answer.text
    return done["previewId"]
