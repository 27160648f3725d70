"""kill -9 during an import, and a second run."""

import json
from collections.abc import Callable
from pathlib import Path

import httpx2
import pytest

from tests.archives import tar_of
from tests.servers import Server

FILE_COUNT = 2000
FILES = {
    **{f"{number // 100}/{number}.md": b"# Note %d\n\n" % number + b"some words " * 5 for number in range(FILE_COUNT)},
    "big.json": b'["' + b"x" * 2_000_000 + b'"]',
}


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_a_killed_import_is_completed_by_running_it_again(
    kind: str, start_server: Callable[..., Server], request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    environment = {}
    if kind == "postgres":
        environment["FINDSPOT_DATABASE_URL"] = request.getfixturevalue("new_postgres_database")()
    archive = tar_of(FILES)
    server = start_server(**environment)
    with server.client() as client:
        project = client.post("/api/v1/projects", json={"name": "p"}).json()["id"]
        reported = _import_until_killed(server, client, f"/api/v1/projects/{project}/import", archive)
    server = start_server(**environment)
    with server.client() as client:
        there = client.get(f"/api/v1/projects/{project}/documents").json()["documents"]
        assert reported <= len(there) < FILE_COUNT  # reported files are stored
        answer = client.post(f"/api/v1/projects/{project}/import", content=archive)
        last = json.loads(answer.text.splitlines()[-1])
        assert (last["created"] + last["unchanged"], last["changed"], last["skipped"]) == (FILE_COUNT + 1, 0, 0)
        assert last["unchanged"] == len(there)
        documents = client.get(f"/api/v1/projects/{project}/documents").json()["documents"]
        assert {each["title"] for each in documents} == {f"Note {number}" for number in range(FILE_COUNT)}
        assert {each["revision"] for each in documents} == {1}
        (table,) = client.get(f"/api/v1/projects/{project}/tables").json()["tables"]
        assert (table["name"], table["revision"]) == ("big", 1)


def _import_until_killed(server: Server, client: httpx2.Client, path: str, archive: bytes) -> int:
    """Kill the server after the first line of progress. Return how many files it reported as done."""
    reported = 0
    try:
        with client.stream("POST", path, content=archive) as answer:
            for line in answer.iter_lines():
                reported = json.loads(line)["done"]
                server.kill()
    except httpx2.TransportError:
        return reported
    raise AssertionError("the import was over before the server was killed")
