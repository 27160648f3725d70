"""Admission: searches over the limit are refused before anything else, slowly if there are many."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest

from findspot.runtime.limits import SEARCHES
from findspot.surfaces.http.admission import WAITING, Admission, Refusals
from findspot.surfaces.http.request_log import Metrics

SEARCH = "/api/v1/projects/1/search/query/strategy"


class Held:
    """An application that answers when the test lets it. It reads no body."""

    def __init__(self) -> None:
        self.paths: list[str] = []
        self.released = asyncio.Event()
        self._arrived = asyncio.Condition()

    async def has(self, count: int) -> None:
        """Wait until that many requests have arrived."""
        async with asyncio.timeout(60), self._arrived:
            await self._arrived.wait_for(lambda: len(self.paths) >= count)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        async with self._arrived:
            self.paths.append(scope["path"])
            self._arrived.notify_all()
        await self.released.wait()
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body", "body": b""})


@pytest.fixture
def held() -> Held:
    return Held()


@pytest.fixture
async def client(held: Held) -> AsyncIterator[httpx2.AsyncClient]:
    transport = httpx2.ASGITransport(app=Admission(held, Metrics()))
    async with httpx2.AsyncClient(base_url="http://localhost", transport=transport) as client:
        yield client


async def fill(client: httpx2.AsyncClient, held: Held, path: str, count: int, key: str) -> list[asyncio.Task[Any]]:
    """Start requests and wait until all of them are in progress."""
    before = len(held.paths)
    headers = {"Authorization": f"Bearer {key}"}
    started = [asyncio.create_task(client.post(path, headers=headers)) for _ in range(count)]
    await held.has(before + min(count, SEARCHES))
    return started


@pytest.mark.parametrize("path", [SEARCH, "/api/v1/projects/1/embedding/generate", "/api/v1/tools/7/call"])
async def test_a_search_over_the_limit_is_refused_without_asking_the_application(
    client: httpx2.AsyncClient, held: Held, path: str
) -> None:
    started = await fill(client, held, path, SEARCHES, "mine")
    answer = await client.post(path, headers={"Authorization": "Bearer mine"})
    assert (answer.status_code, answer.json()["code"]) == (429, "SEARCH_BACKPRESSURE")
    assert answer.json()["retryAfterMs"] >= 200
    assert int(answer.headers["retry-after"]) >= 1
    assert len(held.paths) == SEARCHES
    held.released.set()
    assert {each.status_code for each in await asyncio.gather(*started)} == {204}
    assert (await client.post(path, headers={"Authorization": "Bearer mine"})).status_code == 204


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/api/v1/projects/2/search/query/strategy"),
        ("POST", "/api/v1/projects/1/search/fts/reindex"),
        ("GET", "/api/v1/projects/1/documents"),
        ("PUT", "/api/v1/documents/1"),
        ("GET", "/readyz"),
    ],
)
async def test_other_projects_and_other_requests_are_not_refused(
    client: httpx2.AsyncClient, held: Held, method: str, path: str
) -> None:
    await fill(client, held, SEARCH, SEARCHES, "mine")
    other = asyncio.create_task(client.request(method, path, headers={"Authorization": "Bearer mine"}))
    await held.has(SEARCHES + 1)
    held.released.set()
    assert (await other).status_code == 204


async def test_callers_without_a_valid_key_take_no_room_from_others(client: httpx2.AsyncClient, held: Held) -> None:
    await fill(client, held, SEARCH, SEARCHES, "guessed")
    await fill(client, held, SEARCH, 1, "mine")
    held.released.set()


@pytest.mark.parametrize(
    "headers",
    [{"Authorization": "bearer  mine"}, {"Cookie": "a=b", "Authorization": "Bearer mine"}, {"X-API-Key": "mine"}],
)
async def test_another_spelling_of_a_key_is_the_same_caller(
    client: httpx2.AsyncClient, held: Held, headers: dict[str, str]
) -> None:
    await fill(client, held, SEARCH, SEARCHES, "mine")
    assert (await client.post(SEARCH, headers=headers)).status_code == 429
    held.released.set()


async def test_calls_of_an_endpoint_wait_before_they_are_refused(client: httpx2.AsyncClient, held: Held) -> None:
    started = await fill(client, held, "/mcp/3", SEARCHES + WAITING, "agent")
    await asyncio.sleep(0)
    assert len(held.paths) == SEARCHES
    answer = await client.post("/mcp/3", headers={"Authorization": "Bearer agent"})
    assert answer.status_code == 429
    held.released.set()
    assert [each.status_code for each in await asyncio.gather(*started)] == [204] * (SEARCHES + WAITING)


async def test_streams_of_listeners_take_no_room_from_calls(client: httpx2.AsyncClient, held: Held) -> None:
    headers = {"Authorization": "Bearer agent", "Mcp-Method": "subscriptions/listen"}
    count = SEARCHES + WAITING + 1
    listening = [asyncio.create_task(client.post("/mcp/3", headers=headers)) for _ in range(count)]
    await held.has(count)
    await fill(client, held, "/mcp/3", 1, "agent")
    held.released.set()
    await asyncio.gather(*listening)


# ── pacing ──


@pytest.fixture
def now() -> list[float]:
    return [1000.0]


@pytest.fixture
def refusals(now: list[float]) -> Refusals:
    return Refusals(lambda: now[0])


def test_the_first_refusals_are_answered_at_once_with_the_least_time(refusals: Refusals) -> None:
    first = refusals.next("one")
    assert (first.held_s, first.retry_after_ms, first.closes) == (0.0, 200, False)


def test_the_more_are_refused_the_later_they_are_answered_and_asked_to_return(refusals: Refusals) -> None:
    found = [refusals.next(client) for client in range(1000)]
    assert found[50].held_s == 0.0
    assert found[-1].held_s > 1.0
    assert found[-1].retry_after_ms > found[50].retry_after_ms > 200
    assert max(each.held_s for each in found) <= Refusals.LONGEST_S
    assert max(each.retry_after_ms for each in found) <= (Refusals.LONGEST_S + 1) * 1000


def test_after_a_pause_refusals_are_quick_again(refusals: Refusals, now: list[float]) -> None:
    for client in range(1000):
        refusals.next(client)
    now[0] += 60
    assert refusals.next("later").retry_after_ms == 200


@pytest.mark.parametrize(("waited_s", "closes"), [(0.0, True), (0.1, True), (0.3, False)])
def test_a_client_that_does_not_wait_is_disconnected(
    refusals: Refusals, now: list[float], waited_s: float, closes: bool
) -> None:
    refusals.next("hasty")
    now[0] += waited_s
    assert refusals.next("hasty").closes is closes
    assert refusals.next("another").closes is False


async def test_a_refused_connection_that_ignores_the_time_is_closed(client: httpx2.AsyncClient, held: Held) -> None:
    await fill(client, held, SEARCH, SEARCHES, "mine")
    answers = [await client.post(SEARCH, headers={"Authorization": "Bearer mine"}) for _ in range(2)]
    assert [each.headers.get("connection") for each in answers] == [None, "close"]
    held.released.set()
