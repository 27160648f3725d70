"""Calls of search and replace over HTTP."""

from typing import Any

import httpx2


async def make_project(owner: httpx2.AsyncClient) -> int:
    return int((await owner.post("/api/v1/projects", json={"name": "p"})).json()["id"])


async def add(owner: httpx2.AsyncClient, project: int, content: Any, title: str = "d", form: str = "text") -> int:
    body = {"title": title, "format": form, "content": content}
    answer = await owner.post(f"/api/v1/projects/{project}/documents", json=body)
    assert answer.status_code == 201, answer.text
    return int(answer.json()["id"])


async def channel(client: httpx2.AsyncClient, project: int, name: str, **body: Any) -> httpx2.Response:
    return await client.post(f"/api/v1/projects/{project}/search/{name.replace(':', '/')}", json=body)


async def ask(client: httpx2.AsyncClient, project: int, name: str, **body: Any) -> Any:
    answer = await channel(client, project, name, **body)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def refused(client: httpx2.AsyncClient, project: int, name: str, **body: Any) -> tuple[str, str | None]:
    """Call a channel that must fail. Return the code, and the field that is wrong."""
    answer = await channel(client, project, name, **body)
    assert answer.is_error, answer.text
    return answer.json()["code"], answer.json().get("field")


async def preview(client: httpx2.AsyncClient, project: int, search: str, replace: str, **more: Any) -> Any:
    return await ask(
        client, project, "replace:preview", **{"search": search, "replace": replace, "scope": "project"} | more
    )


async def execute(client: httpx2.AsyncClient, project: int, preview_id: int, **more: Any) -> Any:
    return await ask(client, project, "replace:execute", previewId=preview_id, confirmed=True, **more)


async def text(client: httpx2.AsyncClient, document: int) -> str:
    return str((await client.get(f"/api/v1/documents/{document}")).json()["text"])


async def save(client: httpx2.AsyncClient, document: int, content: Any, **more: Any) -> None:
    answer = await client.put(f"/api/v1/documents/{document}", json={"content": content, **more})
    assert answer.status_code == 200, answer.text


async def versions(client: httpx2.AsyncClient, document: int) -> list[dict[str, Any]]:
    """The versions of a document with their contents, newest first."""
    path = f"/api/v1/documents/{document}/versions"
    listed = (await client.get(path)).json()["versions"]
    return [(await client.get(f"{path}/{each['id']}")).json() for each in listed]
