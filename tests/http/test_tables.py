"""JSON tables over HTTP, on both databases."""

import json

import httpx2


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
    assert answer.json() == {"id": table_id, "project_id": project_id, "name": "t", "revision": 1, "data": json.loads(sent)}


async def test_listing_tables_tells_name_revision_and_size(owner: httpx2.AsyncClient) -> None:
    project_id, table_id = await make_table(owner, "[1, 2]")
    answer = await owner.get(f"/api/v1/projects/{project_id}/tables")
    assert answer.json() == {"tables": [{"id": table_id, "name": "t", "revision": 1, "size": 6}]}
