"""An API process and two workers on one PostgreSQL and a stand-in of turbopuffer: stopped, woken and killed workers."""

import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx2
import psycopg
import pytest

from tests.server.test_worker_process import working
from tests.servers import Server
from tests.turbopuffer import faults
from tests.turbopuffer.server import StandIn


@pytest.fixture
def standin() -> Iterator[StandIn]:
    opened = StandIn()
    yield opened
    opened.close()


def held(client: httpx2.Client) -> set[str]:
    return {each["holder"] for each in client.get("/internal/processes").json()["leases"]}


def is_indexed(client: httpx2.Client) -> bool:
    lag = client.get("/internal/processes").json()["lag"]
    return (lag["sources"], lag["deletes"]) == (0, 0)


def found(client: httpx2.Client, project: int, query: str) -> list[str]:
    answer = client.post(f"/api/v1/projects/{project}/search/fts/query", json={"query": query}).json()
    return [each["snippet"] for each in answer["results"]]


def test_work_goes_on_when_workers_stand_still_wake_up_and_die(
    start_server: Callable[..., Server], tmp_path: Path, new_postgres_database: Callable[[], str], standin: StandIn
) -> None:
    variables = {
        "FINDSPOT_DATABASE_URL": new_postgres_database(),
        "FINDSPOT_ENGINE": "turbopuffer",
        "TURBOPUFFER_API_KEY": standin.api_key,
        "TURBOPUFFER_BASE_URL": standin.url,
        "FINDSPOT_TOKEN": "a-token-of-all-processes",
    }
    server = start_server("--no-worker", data=tmp_path / "api", **variables)
    with (
        working(tmp_path / "one", **variables) as (one, first),
        working(tmp_path / "two", **variables) as (two, second),
        server.client() as client,
    ):
        project = client.post("/api/v1/projects", json={"name": "p"}).json()["id"]
        standin.service.faults.set(faults.Faults(delayed=1.0, late_s=3.0, most=1))
        body = {"title": "河", "format": "text", "content": "old words 旧的文字"}
        document = client.post(f"/api/v1/projects/{project}/documents", json=body).json()["id"]
        standin.wait_for(lambda: bool(held(client)))
        (holder,) = held(client)
        workers: dict[str, subprocess.Popen[str]] = {first: one, second: two}
        sleeper = workers.pop(holder)
        (other,) = workers.values()

        def save(text: str) -> None:
            answer = client.put(f"/api/v1/documents/{document}", json={"content": text})
            assert answer.status_code == 200, answer.text

        sleeper.send_signal(signal.SIGSTOP)
        save("newer words 较新的文字")
        standin.wait_for(lambda: is_indexed(client))  # the other worker has taken over
        sleeper.send_signal(signal.SIGCONT)
        save("newest words 最新的文字")
        standin.wait_for(lambda: is_indexed(client))
        other.kill()
        save("last words 最后的文字")
        standin.wait_for(lambda: is_indexed(client))
        assert len(found(client, project, "words")) == 1
        assert len(found(client, project, "最后")) == 1
        assert found(client, project, "newest") == []
        with psycopg.connect(variables["FINDSPOT_DATABASE_URL"]) as connection:
            assert connection.execute("SELECT count(*), bool_and(indexed) FROM chunks").fetchone() == (1, True)
        assert [len(each.rows) for each in standin.service.namespaces.values()] == [1]
