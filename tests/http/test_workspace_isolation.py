"""Two projects in one installation: nothing of one shows in the other, whatever is asked, and nothing is shared."""

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest

from findspot.app import App
from findspot.models import documents_namespace
from findspot.settings import Settings
from tests import flows
from tests.flows import add_tool, make_document, make_project, make_table, rows, settle
from tests.http.calls import CALLS
from tests.http.world import make_preview, make_replace

pytestmark = pytest.mark.fake_embedder

Become = Callable[[httpx2.AsyncClient, str | None], httpx2.AsyncClient]

CHANNELS = [
    route.removeprefix("POST /api/v1/projects/{project_id}/")
    for route in CALLS
    if re.match(r"POST /api/v1/projects/\{project_id\}/(search|embedding|rag|context)/", route)
]
SEARCHES = ("search/fts/query", "embedding/search", "search/query/strategy")
SECRET = "now the zyzzyva sleeps 象鼻虫现在睡了"
PLAIN = "now the heron wakes 苍鹭现在醒了"


@dataclass
class Side:
    """A project with one document, and what searching it gave."""

    project: int
    document: int
    chunk: int
    cursor: str
    key: str
    replace: int
    preview: int

    @property
    def ids(self) -> dict[str, int]:
        named = {"project_id": self.project, "document_id": self.document, "chunk_id": self.chunk}
        return named | {"replace_id": self.replace, "preview_id": self.preview}


def app_of(client: httpx2.AsyncClient) -> App:
    app: App = client._transport.app.state.app  # type: ignore[attr-defined]
    return app


async def side(owner: httpx2.AsyncClient, name: str, content: str) -> Side:
    project = (await owner.post("/api/v1/projects", json={"name": name})).json()["id"]
    here = f"/api/v1/projects/{project}"
    body = {"title": f"{name} 标题", "format": "text", "content": content}
    document = (await owner.post(f"{here}/documents", json=body)).json()["id"]
    replace = await make_replace(owner, project)
    await settle(app_of(owner))
    page = (await owner.post(f"{here}/search/fts/query", json={"query": "now"})).json()
    key = (await owner.post(f"{here}/keys", json={"name": "k", "role": "admin"})).json()["key"]
    return Side(
        project,
        document,
        page["results"][0]["chunkId"],
        page["cursor"],
        key,
        replace,
        await make_preview(owner, project),
    )


@pytest.fixture
async def theirs(owner: httpx2.AsyncClient) -> Side:
    return await side(owner, "theirs", SECRET)


@pytest.fixture
async def mine(owner: httpx2.AsyncClient, theirs: Side) -> Side:
    return await side(owner, "mine", PLAIN)


def asked(channel: str, ids: dict[str, int]) -> Any:
    return CALLS[f"POST /api/v1/projects/{{project_id}}/{channel}"].body(ids)["json"]


def shows_nothing_of(theirs: Side, answer: httpx2.Response) -> bool:
    if re.search("zyzzyva|象鼻虫|theirs|sleeps", answer.text):
        return False
    shown = answer.json().get("results", [])
    return not any(theirs.document == each["documentId"] or theirs.chunk == each["chunkId"] for each in shown)


@pytest.mark.scenario("004.matrix.no-leak-across-projects")
async def test_no_channel_shows_anything_of_another_project_whatever_it_is_asked(
    owner: httpx2.AsyncClient, theirs: Side, mine: Side, as_key: Become
) -> None:
    assert set(SEARCHES) < set(CHANNELS)
    async with as_key(owner, mine.key) as caller:
        for channel in CHANNELS:
            own = await caller.post(f"/api/v1/projects/{mine.project}/{channel}", json=asked(channel, mine.ids))
            assert own.status_code in (200, 202), (channel, own.text)
            for ids in (theirs.ids, mine.ids | {"chunk_id": theirs.chunk}, mine.ids | {"document_id": theirs.document}):
                answer = await caller.post(f"/api/v1/projects/{mine.project}/{channel}", json=asked(channel, ids))
                assert shows_nothing_of(theirs, answer), (channel, answer.text)
            there = await caller.post(f"/api/v1/projects/{theirs.project}/{channel}", json=asked(channel, theirs.ids))
            assert (there.status_code, there.json()["code"]) == (404, "NOT_FOUND"), channel
    await settle(app_of(owner))


@pytest.mark.scenario("004.matrix.no-leak-across-projects")
@pytest.mark.parametrize("channel", SEARCHES)
async def test_a_search_that_names_documents_or_a_cursor_of_another_project_gets_nothing(
    owner: httpx2.AsyncClient, theirs: Side, mine: Side, as_key: Become, channel: str
) -> None:
    async with as_key(owner, mine.key) as caller:

        async def ask(**more: Any) -> httpx2.Response:
            body = asked(channel, mine.ids) | more
            return await caller.post(f"/api/v1/projects/{mine.project}/{channel}", json=body)

        for query in ("now", "zyzzyva", "象鼻虫", SECRET):
            everything = await ask(query=query, includeLowScores=True)
            assert shows_nothing_of(theirs, everything), everything.text
            named = (await ask(query=query, documentIds=[theirs.document], includeLowScores=True)).json()
            assert (named["results"], named["total"], named["hasMore"]) == ([], 0, False)
            both = await ask(query=query, documentIds=[theirs.document, mine.document], includeLowScores=True)
            assert both.json()["total"] <= 1
            assert shows_nothing_of(theirs, both), both.text
        for cursor in (theirs.cursor, theirs.cursor.partition(".")[0] + ".1"):
            borrowed, unknown = await ask(cursor=cursor), await ask(cursor="0" * 8 + ".1")
            assert (borrowed.status_code, borrowed.content) == (422, unknown.content)


@pytest.mark.scenario("004.matrix.no-leak-across-projects")
async def test_a_passage_of_another_project_is_explained_like_one_that_never_was(
    owner: httpx2.AsyncClient, theirs: Side, mine: Side, as_key: Become
) -> None:
    async with as_key(owner, mine.key) as caller:

        async def explain(document: int, chunk: int) -> httpx2.Response:
            body = {"query": "now", "documentId": document, "chunkId": chunk}
            return await caller.post(f"/api/v1/projects/{mine.project}/search/rank/explain", json=body)

        assert (await explain(mine.document, mine.chunk)).status_code == 200
        never = await explain(10**9, 10**9)
        for document, chunk in (
            (theirs.document, theirs.chunk),
            (mine.document, theirs.chunk),
            (theirs.document, mine.chunk),
        ):
            answer = await explain(document, chunk)
            assert (answer.status_code, answer.content) == (404, never.content)


@pytest.mark.scenario("004.matrix.no-leak-across-projects")
@pytest.mark.parametrize("channel", ["search/fts/reindex", "embedding/reindex"])
async def test_a_reindex_touches_no_other_project(
    owner: httpx2.AsyncClient, theirs: Side, mine: Side, as_key: Become, channel: str
) -> None:
    app = app_of(owner)
    built: list[str] = []

    def build(namespace: str, *more: Any) -> Any:
        built.append(namespace)
        return flows.watched(app).engine.build(namespace, *more)

    flows.watched(app).instead["build"] = build
    async with as_key(owner, mine.key) as caller:
        answer = await caller.post(f"/api/v1/projects/{mine.project}/{channel}", json={})
    assert answer.json()["jobId"] == f"rebuild_{documents_namespace(mine.project)}"
    await settle(app)
    assert built == [documents_namespace(mine.project)]


# ── on the disk ──


def files(folder: Path) -> dict[str, str]:
    """Every file below a folder, by a sum of its content."""
    return {
        str(each.relative_to(folder)): hashlib.sha256(each.read_bytes()).hexdigest()
        for each in sorted(folder.rglob("*"))
        if each.is_file()
    }


@pytest.mark.local_files
@pytest.mark.scenario("004.security.isolation")
async def test_the_indexes_of_two_projects_share_no_folder_no_namespace_and_no_file(
    app: App, settings: Settings
) -> None:
    projects = [await make_project(app, name) for name in ("one", "two")]
    made = []
    for project in projects:
        made.append(await make_document(app, project, "the same words 同样的话"))
        await add_tool(app, await make_table(app, project, {"a": "the same words 同样的话"}))
    await settle(app)
    spaces = [set(app.engine.namespaces(project)) for project in projects]
    assert [len(each) for each in spaces] == [2, 2]
    assert not spaces[0] & spaces[1]
    index = settings.data / "index"
    folders = [index / f"project_{project}" for project in projects]
    assert [{each.name for each in folder.iterdir()} for folder in folders] == spaces
    indexed = {path for path in files(index) if path.partition("/")[0] not in {each.name for each in folders}}
    assert indexed == {"store"}  # whose index this is
    numbers = [{each.stat().st_ino for each in folder.rglob("*")} for folder in folders]
    assert not numbers[0] & numbers[1]
    for project, document in zip(projects, made, strict=True):
        held = flows.files(app).vector_ids(documents_namespace(project)).tolist()
        assert held == [row.id for row in await rows(app, document_id=document.id)]
    before = files(folders[1])
    await app.documents.delete(made[0].id)
    await settle(app)
    for namespace in spaces[0]:
        app.engine.drop(namespace)
    assert files(folders[1]) == before
    assert await flows.texts(app, made[1], "同样") == ["the same words 同样的话"]
