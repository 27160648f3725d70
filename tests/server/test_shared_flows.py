"""Two API processes and two workers on one PostgreSQL and a stand-in of turbopuffer behave as one server.

`pytest --processes 2` runs all flows on two apps. These are the most important ones on real processes.
"""

import contextlib
import sys
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from findspot.runtime.limits import SEARCHES
from tests.databases import Databases
from tests.server.test_processes import Held, client_of, finds, is_refused, save, search, wait_until
from tests.server.test_worker_process import working
from tests.servers import Server
from tests.turbopuffer.server import StandIn

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="several processes share one port only on Linux")

STORIES = ("The old warehouse stands at the pier, 废弃仓库。", "那座废弃仓库！ An old warehouse again.")


@pytest.fixture(scope="module")
def server(postgres: Databases, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The server with two API processes. Two workers run beside it, each with a data folder of its own."""
    standin, address, data = StandIn(), postgres.empty(), tmp_path_factory.mktemp("shared")
    variables: dict[str, Any] = {
        "FINDSPOT_DATABASE_URL": address,
        "FINDSPOT_ENGINE": "turbopuffer",
        "TURBOPUFFER_API_KEY": standin.api_key,
        "TURBOPUFFER_BASE_URL": standin.url,
        "FINDSPOT_TOKEN": "a-token-of-all-processes",
    }
    with contextlib.ExitStack() as closing:
        closing.callback(postgres.drop, address)
        closing.callback(standin.close)
        server = Server.start(data / "api", "--workers", "2", "--no-worker", **variables)
        closing.callback(server.kill)
        for name in ("one", "two"):
            closing.enter_context(working(data / name, **variables))
        yield server


@pytest.fixture(scope="module")
def clients(server: Server) -> Iterator[tuple[httpx2.Client, httpx2.Client]]:
    """A client of each API process."""
    with client_of(server, 1) as one, client_of(server, 2) as two:
        yield one, two


@pytest.fixture
def project(clients: tuple[httpx2.Client, httpx2.Client]) -> int:
    created: int = clients[0].post("/api/v1/projects", json={"name": "p"}).json()["id"]
    return created


def post(client: httpx2.Client, path: str, **body: Any) -> Any:
    answer = client.post(f"/api/v1/{path}", json=body)
    assert answer.status_code in (200, 201), answer.text
    return answer.json()


@pytest.mark.parametrize(
    ("text", "query"), [("A heron stands in the river, number", "heron"), ("苍鹭站在河里。", "苍鹭")], ids=["en", "zh"]
)
def test_what_one_process_saves_the_other_finds_and_either_answers_the_next_page(
    clients: tuple[httpx2.Client, httpx2.Client], project: int, text: str, query: str
) -> None:
    made = [save(clients[number % 2], project, f"{text} {number}") for number in range(6)]
    for client in clients:
        wait_until(lambda client=client: search(client, project, query)["total"] == 6)  # type: ignore[misc]
    page = search(clients[0], project, query, limit=2)
    shown = [each["documentId"] for each in page["results"]]
    for client in (clients[1], clients[0]):
        page = search(client, project, query, limit=2, cursor=page["cursor"])
        shown += [each["documentId"] for each in page["results"]]
    assert sorted(shown) == made
    assert not page["hasMore"]
    assert clients[1].delete(f"/api/v1/documents/{made[0]}").status_code == 204
    wait_until(lambda: not finds(clients[0], project, query, made[0]))


def test_searches_in_progress_are_counted_over_both_processes(
    server: Server, clients: tuple[httpx2.Client, httpx2.Client], project: int
) -> None:
    with contextlib.ExitStack() as closing:
        opened: dict[int, list[Held]] = {1: [], 2: []}
        while min(map(len, opened.values())) < SEARCHES // 2:
            for held in [Held(server) for _ in range(SEARCHES // 2)]:
                closing.callback(held.close)
                opened[held.number].append(held)
        begun = [each for number in (1, 2) for each in opened[number][: SEARCHES // 2]]
        for each in begun:
            each.begin(project)
        for each in begun:
            each.wait_until_begun()
        assert [is_refused(client, project) for client in clients] == [True, True]
        for each in (begun[0], begun[-1]):  # one of each process
            each.close()
        for client in clients:
            wait_until(lambda client=client: not is_refused(client, project))  # type: ignore[misc]


def test_a_tool_that_one_process_makes_is_called_through_the_other(
    clients: tuple[httpx2.Client, httpx2.Client], project: int
) -> None:
    one, two = clients
    data = {"birds": [{"text": "A heron 苍鹭 wades. " * 700}, {"text": "A crane 仙鹤 dances. " * 700}]}
    table = post(one, f"projects/{project}/tables", name="t", data=data)["id"]
    tool = post(two, "tools/search", project_id=project, table_id=table, name="s", json_path="/birds")
    assert (tool["status"], tool["chunks_created"] > 0) == ("ready", True)
    for client, query, number in ((one, "仙鹤", 1), (two, "heron", 0), (two, "crane", 1)):
        found = post(client, f"tools/{tool['tool_id']}/call", arguments={"query": query})
        assert f"/birds/{number}/text" in str(found), found


def test_a_replace_is_previewed_executed_and_undone_through_different_processes(
    clients: tuple[httpx2.Client, httpx2.Client], project: int
) -> None:
    one, two = clients
    made = [save(clients[number], project, story) for number, story in enumerate(STORIES)]
    wait_until(lambda: search(two, project, "warehouse")["total"] == len(STORIES))
    retrieved = [post(client, f"projects/{project}/rag/retrieve", query="废弃仓库") for client in clients]
    chosen = [[each["documentId"] for each in answer["chunks"]] for answer in retrieved]
    assert sorted(chosen[0]) == made
    assert chosen[0] == chosen[1]
    rule = {"search": "废弃仓库", "replace": "灯塔", "scope": "project"}
    preview = post(one, f"projects/{project}/search/replace/preview", **rule)["previewId"]
    post(two, f"projects/{project}/search/replace/execute", previewId=preview, confirmed=True)

    def texts(client: httpx2.Client) -> list[str]:
        return [client.get(f"/api/v1/documents/{id}").json()["text"] for id in made]

    assert texts(one) == [story.replace("废弃仓库", "灯塔") for story in STORIES]
    wait_until(lambda: search(one, project, "灯塔")["total"] == len(STORIES))
    undone = post(one, f"projects/{project}/search/replace/undo", previewId=preview)
    assert undone["restoredDocumentCount"] == len(STORIES)
    assert texts(two) == list(STORIES)
    wait_until(lambda: finds(two, project, '"废弃仓库"', made[0]))
