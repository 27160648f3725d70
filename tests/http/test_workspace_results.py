"""What a writer meets at the channels: every chapter with a name, pages of a large result, and what is not well."""

import json
import threading
from functools import partial
from typing import Any

import httpx2
import pytest

from findspot.app import App
from findspot.search import SearchRequest
from tests import flows
from tests.archives import zip_of
from tests.flows import FakeEmbedder, settle

pytestmark = pytest.mark.fake_embedder


@pytest.fixture
def database_url() -> None:
    """What is answered does not depend on the database, and tests of the flow have both: SQLite is enough here."""
    return


@pytest.fixture
async def project(owner: httpx2.AsyncClient) -> int:
    return int((await owner.post("/api/v1/projects", json={"name": "novel"})).json()["id"])


def app_of(client: httpx2.AsyncClient) -> App:
    app: App = client._transport.app.state.app  # type: ignore[attr-defined]
    return app


async def add(owner: httpx2.AsyncClient, project: int, title: str, *paragraphs: str) -> None:
    body = {"title": title, "type": "chapter", "format": "tiptap", "content": flows.separate(*paragraphs)}
    assert (await owner.post(f"/api/v1/projects/{project}/documents", json=body)).status_code == 201


async def ask(owner: httpx2.AsyncClient, project: int, query: str, language: str = "en", **more: Any) -> Any:
    path = f"/api/v1/projects/{project}/search/query/strategy"
    body = {"query": query, "strategy": "hybrid", **more}
    answer = await owner.post(path, json=body, headers={"Accept-Language": language})
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.mark.scenario("004.fts.keyword")
@pytest.mark.parametrize(("name", "other"), [("林远", "森林很远。"), ("Linus", "A line of trees.")])
async def test_a_name_brings_up_every_chapter_that_has_it_ranked_and_highlighted(
    owner: httpx2.AsyncClient, project: int, name: str, other: str
) -> None:
    having = [f"第{number}章 Chapter {number}" for number in range(1, 8)]
    for number, title in enumerate(having):
        sentence = f"{name} came home. 回家了。"
        await add(owner, project, title, "It rained all day. 下了一整天雨。" * 3, sentence + f" {name}!" * number)
    for number in range(8, 11):
        await add(owner, project, f"第{number}章 Chapter {number}", other)
    await settle(app_of(owner))
    for strategy in ("fts", "hybrid"):
        found = await ask(owner, project, name, strategy=strategy)
        assert sorted(each["documentTitle"] for each in found["results"]) == having
        assert (found["total"], found["hasMore"]) == (7, False)
        scores = [each["finalScore"] for each in found["results"]]
        assert scores == sorted(scores, reverse=True)
        assert scores[0] > scores[-1]
        for each in found["results"]:
            marked = [each["snippet"][start:end] for start, end in each["highlights"]]
            assert marked == [name] * each["snippet"].count(name)
            assert marked


@pytest.mark.scenario("004.ranking.large-result")
async def test_five_thousand_hits_come_in_pages_of_fifty(owner: httpx2.AsyncClient, project: int) -> None:
    for first in range(0, 5000, 500):
        await add(owner, project, f"{first}", *(f"Heron {number} 苍鹭" for number in range(first, first + 500)))
    await settle(app_of(owner))
    for strategy in ("fts", "hybrid"):
        page = await ask(owner, project, "heron", strategy=strategy)
        seen = [each["chunkId"] for each in page["results"]]
        assert (len(seen), page["hasMore"], page["total"]) == (50, True, 5000)
        for number in (2, 3, 4, 5, 6, 50, 99):
            page = await ask(owner, project, "heron", strategy=strategy, cursor=page["cursor"], page=number)
            assert (len(page["results"]), page["hasMore"], page["page"]) == (50, True, number)
            seen += [each["chunkId"] for each in page["results"]]
        last = await ask(owner, project, "heron", strategy=strategy, cursor=page["cursor"])
        assert (len(last["results"]), last["hasMore"], last["page"]) == (50, False, 100)
        seen += [each["chunkId"] for each in last["results"]]
        assert len(set(seen)) == len(seen) == 450


@pytest.mark.scenario("004.acceptance.slow-semantics")
@pytest.mark.parametrize(
    ("language", "notice"),
    [("zh", "语义检索超时，已切换关键词检索"), ("en", "Semantic search took too long")],
)
async def test_a_slow_embedder_is_left_out_with_a_code_and_a_notice(
    owner: httpx2.AsyncClient,
    project: int,
    embedder: FakeEmbedder,
    monkeypatch: pytest.MonkeyPatch,
    language: str,
    notice: str,
) -> None:
    await add(owner, project, "第一章", "林远推开了门。", "The door was open.")
    await settle(app_of(owner))
    assert SearchRequest(project, "x").timeout_s == 5.0
    monkeypatch.setattr("findspot.surfaces.http.search_body.SearchRequest", partial(SearchRequest, timeout_s=0.5))
    speaks = threading.Event()

    def silent(text: str) -> Any:
        assert speaks.wait(flows.PATIENCE_S)
        return FakeEmbedder.query(embedder, text)

    monkeypatch.setattr(embedder, "query", silent)
    try:
        for query, text in (("林远", "林远推开了门。"), ("door", "The door was open.")):
            answer = await ask(owner, project, query, language)
            assert (answer["code"], answer["fallback"]) == ("SEARCH_TIMEOUT", "fts")
            assert answer["notice"].startswith(notice)
            assert [each["snippet"] for each in answer["results"]] == [text]
    finally:
        speaks.set()


@pytest.mark.scenario("004.matrix.broken-encoding")
async def test_a_text_with_a_broken_encoding_is_refused_by_name_and_all_others_are_found(
    owner: httpx2.AsyncClient, project: int
) -> None:
    for content in (b"heron \xff", "苍鹭 heron".encode("gb18030"), b"heron \\ud800"):
        body = b'{"title": "t", "format": "text", "content": "' + content + b'"}'
        answer = await owner.post(f"/api/v1/projects/{project}/documents", content=body)
        assert (answer.status_code, answer.json()["code"]) == (422, "INVALID_ARGUMENT")
        assert any(reason in answer.json()["message"] for reason in ("UTF-8", "half a character"))
    broken = {
        "gbk.txt": "苍鹭立在芦苇里 heron".encode("gb18030"),
        "chapters/latin.md": "héron, a heron".encode("latin-1"),
        "half.json": b'{"type": "doc", "content": [{"type": "text", "text": "heron \\ud800"}]}',
    }
    sound = {"chapters/one.md": "A heron 苍鹭".encode(), "two.txt": "Another heron 另一只苍鹭".encode("utf-16")}
    answer = await owner.post(f"/api/v1/projects/{project}/import", content=zip_of({**broken, **sound}))
    skipped = json.loads(answer.text.splitlines()[-1])["skipped_files"]
    assert {each["path"] for each in skipped} == set(broken)
    assert all("UTF-8" in each["reason"] or "half a character" in each["reason"] for each in skipped)
    await settle(app_of(owner))
    for query in ("heron", "苍鹭"):
        found = {each["snippet"] for each in (await ask(owner, project, query))["results"]}
        assert found == {"A heron 苍鹭", "Another heron 另一只苍鹭"}
