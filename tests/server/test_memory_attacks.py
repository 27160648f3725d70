"""Requests that need much memory or time, on a real server: its memory stays bounded and comes back.

The sizes are those of real attacks in `make torture`, and smaller in `make test`. `pytest -s` shows the numbers.
"""

import json
import os
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator

import pytest

from tests.server.memory_attacks import (
    Measured,
    MiB,
    create_table,
    create_tool,
    measure,
    parallel_bodies,
    unread_answers,
)
from tests.servers import Server

FULL = "FINDSPOT_TORTURE" in os.environ
MOST, LEFT = 1000 * MiB, 150 * MiB

pytestmark = [
    pytest.mark.torture,
    pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells the memory of a process without shared pages"),
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    started = Server.start(tmp_path_factory.mktemp("served"), FINDSPOT_LOG_LEVEL="error")
    try:
        with started.client() as client:  # loads helpers and models before the first measurement
            project = client.post("/api/v1/projects", json={"name": "first"}).json()["id"]
            document = {"title": "t", "content": "潮汐 tide", "format": "markdown"}
            client.post(f"/api/v1/projects/{project}/documents", json=document).raise_for_status()
            search = f"/api/v1/projects/{project}/search/query/strategy"
            client.post(search, json={"query": "tide", "strategy": "hybrid"})
        yield started
    finally:
        started.kill()


@pytest.fixture
def project(server: Server) -> int:
    with server.client() as client:
        return int(client.post("/api/v1/projects", json={"name": "attacked"}).json()["id"])


def checked(server: Server, attack: Callable[[], Counter[str]]) -> Measured:
    measured = measure(server, attack)
    print(f"\n{measured}")
    assert measured.most < MOST
    assert measured.after < measured.before + LEFT
    return measured


def test_parallel_large_bodies_are_stored_or_refused(server: Server, project: int) -> None:
    count = 24 if FULL else 4
    measured = checked(server, lambda: parallel_bodies(server, project, count, 64 * MiB))
    assert set(measured.answers) <= {"201", "503 SERVER_BUSY"}
    assert measured.answers["201"] >= 1


def test_unread_answers_are_closed_and_hold_no_memory(server: Server, project: int) -> None:
    table = create_table(server, project, b'"' + b"x" * 60_000_000 + b'"')
    count = 30 if FULL else 4
    measured = checked(server, lambda: unread_answers(server, f"/api/v1/tables/{table}", count, lambda left: left == 0))
    assert sum(measured.answers.values()) == count


def test_operations_on_large_tables_stay_within_their_limits(server: Server, project: int) -> None:
    numbers = b"[" + b"1," * (15_000_000 if FULL else 1_000_000) + b"1]"
    rows = b"[%b]" % b",".join(b'{"id":%d,"name":"n%d"}' % (n, n) for n in range(900_000 if FULL else 100_000))
    table = create_table(server, project, b'{"numbers":' + numbers + b',"rows":' + rows + b"}")

    def attack() -> Counter[str]:
        with server.client() as client:
            if FULL:
                for name in ("/more", "/most"):
                    client.put(f"/api/v1/tables/{table}/data", params={"json_pointer": name}, content=rows)
            schema = create_tool(server, project, table, "get_data_schema")
            test = [{"op": "test", "path": "/numbers", "value": json.loads("[2]")}]
            changed = b'[{"op":"test","path":"/numbers","value":[1, ' + numbers[3:-2] + b"2]}]"
            answers = [
                client.post(f"/api/v1/tools/{schema}/call", json={"arguments": {}}),
                client.patch(f"/api/v1/tables/{table}/data", json=test),
                client.patch(f"/api/v1/tables/{table}/data", content=changed),
            ]
        return Counter(str(answer.status_code) for answer in answers)

    measured = checked(server, attack)
    assert set(measured.answers) <= {"200", "409", "413", "503"}


def test_selects_with_many_keys_do_not_delay_other_projects(server: Server, project: int) -> None:
    rows = json.dumps([{"n": number + 0.5} for number in range(20_000)]).encode()
    table = create_table(server, project, rows)
    select = create_tool(server, project, table, "select")
    with server.client() as client:
        other = client.post("/api/v1/projects", json={"name": "other"}).json()["id"]
    arguments = {"field": "n", "keys": [number + 0.25 for number in range(20_000)]}
    found: list[int] = []

    def call() -> None:
        with server.client() as client:
            answer = client.post(f"/api/v1/tools/{select}/call", json={"arguments": arguments})
            found.append(answer.json()["matched_count"])

    callers = [threading.Thread(target=call) for _ in range(2)]
    for each in callers:
        each.start()
    with server.client() as client:
        document = {"title": "t", "content": "保存", "format": "markdown"}
        assert client.post(f"/api/v1/projects/{other}/documents", json=document).status_code == 201
    for each in callers:
        each.join()
    assert found == [0, 0]
