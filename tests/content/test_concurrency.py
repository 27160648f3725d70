"""Concurrent writers lose no update, on both databases, in one process and in several."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import httpx2
import pytest

from tests.http.test_tables import make_table
from tests.servers import Server

WRITERS = 8


async def test_concurrent_changes_of_one_table_are_all_kept(owner: httpx2.AsyncClient) -> None:
    _, table_id = await make_table(owner, '{"list": []}')
    path = f"/api/v1/tables/{table_id}/data"

    async def write(writer: int) -> None:
        for turn in range(2):
            patch = [{"op": "add", "path": f"/w{writer}-{turn}", "value": turn}]
            answers = [
                await owner.patch(path, json=patch),
                await owner.put(path, params={"json_pointer": "/list/-"}, json=[writer, turn]),
            ]
            assert all(answer.status_code == 200 for answer in answers), [answer.text for answer in answers]

    await asyncio.gather(*map(write, range(WRITERS)))
    found = (await owner.get(f"/api/v1/tables/{table_id}")).json()
    assert found["revision"] == 1 + WRITERS * 4
    assert len(found["data"]) == 1 + WRITERS * 2
    assert sorted(found["data"]["list"]) == [[writer, turn] for writer in range(WRITERS) for turn in range(2)]


async def test_one_of_many_writers_with_the_same_if_match_succeeds(owner: httpx2.AsyncClient) -> None:
    _, table_id = await make_table(owner, '{"n": 0}')
    path = f"/api/v1/tables/{table_id}/data"

    async def write(writer: int) -> int:
        how = (
            owner.put(path, json={"n": writer}, headers={"If-Match": "1"}),
            owner.put(path, params={"json_pointer": "/n"}, json=writer, headers={"If-Match": "1"}),
            owner.patch(path, json=[{"op": "add", "path": "/n", "value": writer}], headers={"If-Match": "1"}),
        )
        for unused in how:
            if unused is not how[writer % 3]:
                unused.close()
        return (await how[writer % 3]).status_code

    statuses = await asyncio.gather(*map(write, range(WRITERS)))
    assert sorted(statuses) == [200] + [412] * (WRITERS - 1)
    found = (await owner.get(f"/api/v1/tables/{table_id}")).json()
    assert found["revision"] == 2
    assert found["data"] == {"n": statuses.index(200)}


async def test_counting_with_if_match_and_retries_misses_no_count(owner: httpx2.AsyncClient) -> None:
    _, table_id = await make_table(owner, "0")

    async def count() -> None:
        for _ in range(WRITERS):  # each failed attempt means that another writer succeeded
            now = (await owner.get(f"/api/v1/tables/{table_id}")).json()
            answer = await owner.put(
                f"/api/v1/tables/{table_id}/data", json=now["data"] + 1, headers={"If-Match": str(now["revision"])}
            )
            if answer.status_code == 200:
                return
            assert answer.status_code == 412
        pytest.fail("more attempts failed than there are other writers")

    await asyncio.gather(*(count() for _ in range(WRITERS)))
    assert (await owner.get(f"/api/v1/tables/{table_id}")).json()["data"] == WRITERS


async def test_writers_in_two_processes_on_one_postgresql_lose_no_change(
    start_server: Callable[..., Server], new_postgres_database: Callable[[], str], tmp_path: Path
) -> None:
    shared = {
        "FINDSPOT_DATABASE_URL": new_postgres_database(),
        "FINDSPOT_ENGINE": "turbopuffer",
        "FINDSPOT_TOKEN": "a-token-of-both-servers",
    }
    servers = [start_server(data=tmp_path / name, **shared) for name in ("one", "two")]
    clients = [server.async_client() for server in servers]
    _, table_id = await make_table(clients[0], "{}")

    async def write(writer: int) -> None:
        path = f"/api/v1/tables/{table_id}/data"
        for turn in range(2):
            patch = [{"op": "add", "path": f"/{writer}-{turn}", "value": "世界"}]
            answer = await clients[writer % 2].patch(path, json=patch)
            assert answer.status_code == 200, answer.text

    await asyncio.gather(*map(write, range(WRITERS)))
    answers = [await client.get(f"/api/v1/tables/{table_id}") for client in clients]
    assert answers[0].content == answers[1].content
    assert len(json.loads(answers[0].content)["data"]) == WRITERS * 2
    for client in clients:
        await client.aclose()
