"""What is noted of requests, and what never is. Limits, health, and the shape of every error."""

import io
import json
import logging
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import httpx2
import pytest
import sqlalchemy as sa
import structlog

from findspot.errors import KINDS
from findspot.runtime import logs
from findspot.settings import Settings
from findspot.surfaces.http.api import create_api
from tests import scrapes
from tests.http.world import app_behind

Lines: TypeAlias = Callable[[], list[dict[str, Any]]]
Become: TypeAlias = Callable[[httpx2.AsyncClient, str | None], httpx2.AsyncClient]


@pytest.fixture
def database_url() -> None:
    """What is noted does not depend on the database: SQLite is enough here."""
    return


@pytest.fixture
def log_lines() -> Iterator[Lines]:
    """Logs as a server writes them: a JSON object a line."""
    root, ours, stream = logging.getLogger(), logging.getLogger("findspot"), io.StringIO()
    before = root.handlers[:], root.level, ours.level
    logs.configure("debug", "json", secrets=("owner-secret-0123456789",), stream=stream)
    yield lambda: [json.loads(line) for line in stream.getvalue().split("\n") if line]
    root.handlers[:], root.level, ours.level = before
    structlog.reset_defaults()


def test_a_logged_traceback_contains_no_values_from_the_database(log_lines: Lines) -> None:
    class Duplicate(Exception):
        __module__ = "psycopg.errors"

    said = "duplicate key\nDETAIL:  Key (name)=(what people\nwrote) already exists."
    statement = "INSERT INTO t"
    try:
        try:
            raise Duplicate(said)
        except Duplicate as error:
            raise sa.exc.IntegrityError(statement, {}, error, hide_parameters=True) from error
    except sa.exc.IntegrityError:
        logging.getLogger("findspot.indexing.worker").exception("indexing failed")
    (line,) = log_lines()
    assert "what people" not in line["exception"]
    assert "wrote" not in line["exception"]
    assert statement not in line["exception"]
    assert "(psycopg.errors.Duplicate) duplicate key" in line["exception"]
    assert "test_request_log.py" in line["exception"]


async def test_every_request_has_an_id_and_one_log_line_without_its_address(
    owner: httpx2.AsyncClient, log_lines: Lines
) -> None:
    secret = owner.headers["authorization"].removeprefix("Bearer ")
    answer = await owner.get("/api/v1/tables/7", params={"json_pointer": "/private/words"})
    assert len(answer.headers["x-request-id"]) == 32
    own = await owner.get("/healthz", headers={"X-Request-ID": "mine-1"})
    assert own.headers["x-request-id"] == "mine-1"
    forged = await owner.get("/healthz", headers={"X-Request-ID": "a b\tc"})
    assert forged.headers["x-request-id"] != "a b\tc"
    await owner.get("/nowhere/at/all?token=" + secret)
    written = log_lines()
    requests = [line for line in written if line["event"] == "request"]
    assert [(line["route"], line["status"]) for line in requests] == [
        ("/api/v1/tables/{table_id}", 404),
        ("/healthz", 200),
        ("/healthz", 200),
        ("unknown", 404),
    ]
    assert requests[0]["request_id"] == answer.headers["x-request-id"]
    everything = json.dumps(written)
    assert secret not in everything
    assert "private" not in everything


def test_a_secret_that_reaches_a_log_line_is_blacked_out(log_lines: Lines) -> None:
    log = structlog.get_logger("findspot.test")
    log.info(
        "x", header="Bearer fsk_abcdefghijkl-_mnop", owner="owner-secret-0123456789", link="http://h/?token=abc&x=1"
    )
    logging.getLogger("some.library").warning("sent fsk_abcdefghijkl-_mnop")
    try:
        raise ValueError("fsk_abcdefghijkl-_mnop")
    except ValueError:
        log.exception("failed")
    written = json.dumps(log_lines(), ensure_ascii=False)
    assert "fsk_" not in written
    assert "owner-secret" not in written
    assert "token=abc" not in written
    assert "token=…&x=1" in written


async def test_health_is_open_and_readiness_asks_the_database(owner: httpx2.AsyncClient) -> None:
    assert (await owner.get("/healthz")).json()["status"] == "ok"
    assert (await owner.get("/readyz")).json() == {"status": "ready", "database": "sqlite", "engine": "embedded"}


async def test_head_answers_like_get(owner: httpx2.AsyncClient) -> None:
    for path in ("/healthz", "/readyz"):
        head, get = await owner.head(path), await owner.get(path)
        assert head.status_code == get.status_code == 200
        assert head.headers["content-length"] == get.headers["content-length"]
    assert (await owner.head("/api/v1/projects")).status_code == 405


async def test_a_full_disk_makes_the_server_not_ready_for_writes(
    owner: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("findspot.store.files.free_bytes", lambda folder: 0)
    refused = await owner.get("/readyz")
    assert refused.status_code == 507
    assert {**refused.json(), "message": ""} == {"code": "DISK_FULL", "message": "", "reads": True, "writes": False}


async def test_a_process_that_cannot_serve_is_not_ready(owner: httpx2.AsyncClient, settings: Settings) -> None:
    app = app_behind(owner)
    await app.drain()
    stopping = await owner.get("/readyz")
    assert (stopping.status_code, stopping.json()["code"]) == (503, "SERVER_BUSY")
    api = create_api(settings.model_copy(update={"data": settings.data / "other", "engine": "turbopuffer"}))
    async with api.router.lifespan_context(api):
        transport = httpx2.ASGITransport(app=api)
        async with httpx2.AsyncClient(base_url="http://localhost", transport=transport) as client:
            for _ in range(2):  # the second answer needs no call of the engine
                unavailable = await client.get("/readyz")
                assert (unavailable.status_code, unavailable.json()["code"]) == (503, "ENGINE_UNAVAILABLE")


async def test_metrics_count_requests_by_route_pattern(owner: httpx2.AsyncClient) -> None:
    for _ in range(3):
        await owner.get("/api/v1/projects/12345")
    text = (await owner.get("/metrics")).text
    counted = 'findspot_http_requests_total{method="GET",route="/api/v1/projects/{project_id}",status="404"}'
    assert scrapes.figures(text)[counted] == 3
    assert "12345" not in text
    assert "findspot_http_request_duration_seconds_bucket" in text


async def test_a_request_over_the_limit_is_refused_with_or_without_a_content_length(
    tmp_path: Path,
) -> None:
    settings = Settings(data=tmp_path / "d", max_body=2000)
    api = create_api(settings)
    async with api.router.lifespan_context(api):
        transport = httpx2.ASGITransport(app=api)
        headers = {"Authorization": f"Bearer {api.state.app.token}"}
        async with httpx2.AsyncClient(base_url="http://test", transport=transport, headers=headers) as client:
            project = (await client.post("/api/v1/projects", json={"name": "p"})).json()["id"]
            path = f"/api/v1/projects/{project}/tables"

            async def unannounced() -> AsyncIterator[bytes]:
                for _ in range(30):
                    yield b" " * 100

            for body in (b" " * 2001, unannounced()):
                answer = await client.post(path, content=body)
                assert (answer.status_code, answer.json()["code"]) == (413, "CONTENT_TOO_LARGE")
                assert answer.json()["limit"] == 2000
            fits = b'{"name":"t","data":"' + b"x" * (2000 - 22) + b'"}'
            assert len(fits) == 2000
            assert (await client.post(path, content=fits)).status_code == 201
            assert len((await client.get(path)).json()["tables"]) == 1


async def test_every_error_has_the_one_shape(owner: httpx2.AsyncClient) -> None:
    for method, path in (
        ("GET", "/nowhere"),
        ("TRACE", "/healthz"),
        ("PUT", "/api/v1/projects"),
        ("GET", "/api/v1/tables/1"),
    ):
        answer = await owner.request(method, path)
        body = answer.json()
        assert KINDS[body["code"]].status == answer.status_code
        assert body["message"]


async def test_an_unexpected_error_is_logged_and_answered_with_its_request_id_only(
    settings: Settings,
    log_lines: Lines,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    api = create_api(settings)
    async with api.router.lifespan_context(api):

        async def broken(secret: str) -> None:
            raise RuntimeError("SELECT secret FROM inside")

        monkeypatch.setattr(type(api.state.app.keys), "identify", lambda self, secret: broken(secret))
        async with httpx2.AsyncClient(base_url="http://test", transport=httpx2.ASGITransport(app=api)) as client:
            answer = await client.get("/api/v1/projects", headers={"X-API-Key": "k"})
    assert answer.status_code == 500
    assert answer.json()["code"] == "INTERNAL"
    assert "SELECT" not in answer.text
    assert answer.headers["x-request-id"] in answer.json()["message"]
    events = [line["event"] for line in log_lines()]
    assert "unexpected_error" in events


async def test_an_admin_key_sees_the_metrics_of_its_own_project_only(owner: httpx2.AsyncClient, as_key: Become) -> None:
    projects = []
    for name in ("mine", "other"):
        project = (await owner.post("/api/v1/projects", json={"name": name})).json()["id"]
        await owner.post(f"/api/v1/projects/{project}/search/fts/query", json={"query": "anything"})
        projects.append(project)
    status = 'status="success",tool_id="workspace"'
    mine, other = (f'search_requests_total{{project_id="{each}",{status}}}' for each in projects)
    body = {"name": "scraper", "role": "admin"}
    key = (await owner.post(f"/api/v1/projects/{projects[0]}/keys", json=body)).json()["key"]
    async with as_key(owner, key) as admin:
        shown = (await admin.get("/metrics")).text
    assert mine in scrapes.figures(shown)
    assert f'project_id="{projects[1]}"' not in shown
    assert "findspot_http_" not in shown
    everything = (await owner.get("/metrics")).text
    assert {mine, other} <= scrapes.figures(everything).keys()
    assert "findspot_http_" in everything
