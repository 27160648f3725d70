"""`findspot serve` on PostgreSQL and a stand-in that is a process of its own, from the first table to its deletion."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.servers import Server
from tests.turbopuffer.server import API_KEY

LONG = "The lighthouse keeper wrote every evening about the harbour. " * 30
CHINESE = "守夜人每天晚上都会记录港口的情况。" * 60


@pytest.fixture
def service() -> Iterator[str]:
    """The address of a stand-in in another process."""
    command = [sys.executable, "-m", "tests.turbopuffer.server"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.terminate()


def control(service: str, **faults: Any) -> dict[str, Any]:
    """Set the faults of the stand-in, if any are given, and return its counts."""
    with httpx2.Client(trust_env=False, timeout=120) as client:
        return dict(client.post(f"{service}/_control", content=json.dumps(faults) if faults else b"").json())


@pytest.mark.scenario("D38")
def test_a_server_keeps_its_index_in_turbopuffer(
    tmp_path: Path, new_postgres_database: Callable[[], str], service: str
) -> None:
    environment: dict[str, Any] = {
        "FINDSPOT_DATABASE_URL": new_postgres_database(),
        "FINDSPOT_ENGINE": "turbopuffer",
        "TURBOPUFFER_API_KEY": API_KEY,
        "TURBOPUFFER_BASE_URL": service,
    }
    server = Server.start(tmp_path / "data", **environment)
    try:
        with server.client() as client:
            shown = _use(client, service)
        commands = [Path(f"/proc/{pid}/cmdline").read_bytes().decode() for pid in (server.process.pid, server.serving)]
        doctor = _doctor(tmp_path / "data", environment)
    finally:
        code = server.stop()
    assert code == 0
    assert doctor["turbopuffer"]["state"] == "ok"
    assert API_KEY not in "".join([*server.output, *commands, shown, json.dumps(doctor)])


def _use(client: httpx2.Client, service: str) -> str:
    """Use the product; return texts that must not contain the key."""

    def call(method: str, path: str, **options: Any) -> Any:
        answer = client.request(method, path, **options)
        assert answer.is_success, answer.text
        return answer.json() if answer.content else None

    project = call("POST", "/api/v1/projects", json={"name": "p"})["id"]
    data = {"notes": {"en": LONG, "zh": CHINESE}, "other": "short"}
    table = call("POST", f"/api/v1/projects/{project}/tables", json={"name": "t", "data": data})["id"]
    config = {"chunk_threshold": 100, "chunk_size": 300, "chunk_overlap": 50}
    tool = call(
        "POST",
        "/api/v1/tools/search",
        json={"project_id": project, "table_id": table, "name": "find", "search_config": config},
    )
    assert (tool["status"], tool["namespace"]) == ("ready", f"project_{project}_table_{table}")
    call(
        "POST",
        f"/api/v1/projects/{project}/documents",
        json={"title": "Harbour", "format": "markdown", "content": "# Night\n\nThe harbour at night.\n\n夜晚的港口。"},
    )
    control(service, status=0.2, dropped=0.1)  # searches and the index go on
    for query, pointer in (("lighthouse keeper", "/notes/en"), ("守夜人 港口", "/notes/zh")):
        found = call("POST", f"/api/v1/tools/{tool['tool_id']}/call", json={"arguments": {"query": query}})
        assert found["results"][0]["chunk"]["json_pointer"] == pointer
    control(service, status=0.0)
    _until(lambda: call("GET", f"/api/v1/projects/{project}/status")["namespaces"], "ready")
    search = f"/api/v1/projects/{project}/search/query/strategy"
    page = call("POST", search, json={"query": "港口", "strategy": "hybrid", "includeLowScores": True})
    assert (page["results"][0]["documentTitle"], page["fallback"]) == ("Harbour", "none")
    names = set(control(service)["rows"])
    call("POST", f"/api/v1/projects/{project}/search/fts/reindex", json={})
    _until(lambda: call("GET", f"/api/v1/projects/{project}/status")["namespaces"], "ready", names, service)
    assert call("POST", search, json={"query": "harbour", "strategy": "fts"})["total"] == 1
    control(service, status=1.0)
    down = client.post(search, json={"query": "harbour", "strategy": "hybrid"})
    assert (down.status_code, down.json()["code"]) == (503, "ENGINE_UNAVAILABLE")
    call("DELETE", f"/api/v1/projects/{project}")  # the service is away at this moment
    control(service, status=0.0)
    _wait(lambda: control(service)["rows"] == {})
    return down.text + client.get("/metrics").text


def _until(
    namespaces: Callable[[], list[dict[str, Any]]], step: str, other_than: set[str] | None = None, service: str = ""
) -> None:
    """Wait until every namespace is at a step and, after a rebuild, one of them is held under another name."""
    _wait(
        lambda: (
            {each["step"] for each in namespaces()} == {step}
            and (other_than is None or set(control(service)["rows"]) != other_than)
        )
    )


def _wait(done: Callable[[], bool]) -> None:
    until = time.monotonic() + 120
    while not done():
        assert time.monotonic() < until, "it did not happen in time"
        time.sleep(0.1)


def _doctor(data: Path, environment: dict[str, Any]) -> dict[str, Any]:
    command = [sys.executable, "-m", "findspot", "doctor", "--json", "--data", str(data)]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment}, check=False)
    assert API_KEY not in done.stderr
    return {each["what"]: each for each in json.loads(done.stdout)["findings"]}
