"""Calls of the channels of workspace search, and the novel that they search."""

from typing import Any

import httpx2

from findspot.app import App

CHAPTERS = {
    "第一章": "林远推开废弃仓库的大门。\n\n灰尘在光柱里飞舞，旧照片散落一地。",
    "第二章": "林远想起了母亲的话。\n\n仓库里的旧照片已经发黄。",
    "Notes": "The abandoned warehouse holds old photographs.\n\nThe photographs show a lighthouse keeper.",
}


def app_of(client: httpx2.AsyncClient) -> App:
    app: App = client._transport.app.state.app  # type: ignore[attr-defined]
    return app


async def ask(client: httpx2.AsyncClient, project: int, channel: str, language: str = "en", **body: Any) -> Any:
    path = f"/api/v1/projects/{project}/{channel.replace(':', '/')}"
    return await client.post(path, json=body, headers={"Accept-Language": language})


async def hybrid(client: httpx2.AsyncClient, project: int, query: str, language: str = "en", **body: Any) -> Any:
    answer = await ask(client, project, "search:query:strategy", language, query=query, strategy="hybrid", **body)
    assert answer.status_code == 200, answer.text
    return answer.json()
