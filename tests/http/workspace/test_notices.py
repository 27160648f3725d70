"""Notices of workspace search over HTTP: queries that were changed, and legs that were left out."""

from pathlib import Path
from typing import Any

import httpx2
import pytest

from findspot.embedding.protocol import refused
from findspot.engines.protocol import Damaged
from findspot.errors import FindspotError
from findspot.settings import Settings
from tests import flows
from tests.flows import FakeEmbedder, settle
from tests.http.workspace.channels import app_of, ask, hybrid
from tests.http.world import open_api

pytestmark = pytest.mark.fake_embedder


# ── corrections ──


@pytest.mark.scenario("D42")
async def test_a_notice_says_that_no_passage_has_the_phrase(owner: httpx2.AsyncClient, project: int) -> None:
    for query, best in (('"photographs old"', "old photographs"), ("「照片旧」 仓库", "旧照片")):
        english, chinese = [await hybrid(owner, project, query, language) for language in ("en", "zh")]
        assert best in english["results"][0]["snippet"]
        assert "without the quotation marks" in english["notice"]
        assert "去掉引号" in chinese["notice"]
    assert "notice" not in await hybrid(owner, project, '"old photographs"')


async def test_a_corrected_query_is_shown_and_can_be_searched_for_as_typed(
    owner: httpx2.AsyncClient, project: int
) -> None:
    for query, meant in (("old photografs", "old photographs"), ("旧照片 wharehouse", "旧照片 warehouse")):
        english, chinese = [await hybrid(owner, project, query, language) for language in ("en", "zh")]
        assert english["correctedQuery"] == chinese["correctedQuery"] == meant
        assert english["notice"].endswith(f"these results are for: {meant}.")
        assert chinese["notice"].endswith(f"更正后的搜索结果：{meant}。")
        assert (await hybrid(owner, project, query, exact=True))["correctedQuery"] is None
        best = english["results"][0]
        place = {"query": query, "documentId": best["documentId"], "chunkId": best["chunkId"]}
        why = (await ask(owner, project, "search:rank:explain", **place)).json()
        assert why["finalScore"] == pytest.approx(best["finalScore"], abs=1e-4)
    assert (await hybrid(owner, project, "old photographs"))["correctedQuery"] is None


# ── a full project ──


@pytest.mark.scenario("D40")
async def test_a_notice_says_that_the_project_has_no_room_for_other_documents(tmp_path: Path) -> None:
    async with open_api(Settings(data=tmp_path, max_chunks=1)) as owner:
        project = (await owner.post("/api/v1/projects", json={"name": "full"})).json()["id"]
        for content in ("The old warehouse. 旧仓库。", "The lighthouse. 灯塔。"):
            body = {"title": "t", "format": "text", "content": content}
            assert (await owner.post(f"/api/v1/projects/{project}/documents", json=body)).status_code == 201
            await settle(app_of(owner), errors=True)
        spec = {"project_id": project, "type": "search_documents", "name": "find"}
        tool = (await owner.post("/api/v1/tools", json=spec)).json()["tool_id"]
        for language, said in (
            ("en", "chunk limit: 1 of 2 documents"),
            ("zh", "片段数已达上限：共 2 篇文档，已索引 1 篇"),
        ):
            assert said in (await hybrid(owner, project, "warehouse 仓库", language))["notice"]
            assert said in (await ask(owner, project, "rag:retrieve", language, query="warehouse")).json()["notice"]
            headers, call = {"Accept-Language": language}, {"arguments": {"query": "仓库"}}
            found = await owner.post(f"/api/v1/tools/{tool}/call", json=call, headers=headers)
            assert said in found.json()["notice"]


# ── degrading ──


@pytest.mark.scenario("004.embedding.unavailable", "004.acceptance.vectors-down")
@pytest.mark.parametrize(
    ("code", "language", "notice"),
    [
        ("EMBEDDING_UNAVAILABLE", "zh-CN,zh;q=0.9", "语义搜索暂时不可用，已切换为关键词搜索"),
        ("SEARCH_TIMEOUT", "zh", "语义检索超时，已切换关键词检索"),
        ("EMBEDDING_DIMENSION_MISMATCH", "zh", "查询向量与索引的维度不一致，已切换为关键词搜索"),
        ("EMBEDDING_UNAVAILABLE", "de, en;q=0.5", "Semantic search is not available"),
        ("SEARCH_TIMEOUT", "", "Semantic search took too long"),
    ],
)
async def test_a_fallback_has_a_notice_in_the_callers_language(
    owner: httpx2.AsyncClient, project: int, embedder: FakeEmbedder, code: str, language: str, notice: str
) -> None:
    embedder.query_error = FindspotError(code, "not now")
    for channel, body in (("search:query:strategy", {"strategy": "hybrid"}), ("embedding:search", {})):
        answer = (await ask(owner, project, channel, language, query="林远", **body)).json()
        assert (answer["fallback"], answer["code"]) == ("fts", code)
        assert answer["notice"].startswith(notice)
        assert len(answer["results"]) == 2


@pytest.mark.parametrize("strategy", ["hybrid", "semantic"])
async def test_a_query_that_the_embedder_refuses_falls_back_without_its_message(
    owner: httpx2.AsyncClient, project: int, embedder: FakeEmbedder, strategy: str
) -> None:
    embedder.query_error = refused(0, "invalid input: '林远', organisation org-1234")
    answer = await ask(owner, project, "search:query:strategy", query="林远", strategy=strategy)
    found = answer.json()
    assert (answer.status_code, found["fallback"], found["code"]) == (200, "fts", "EMBEDDING_UNAVAILABLE")
    assert found["notice"].startswith("Semantic search is not available")
    assert len(found["results"]) == 2
    assert "org-1234" not in answer.text


@pytest.mark.scenario("004.fts.damaged-index", "004.acceptance.index-damaged")
async def test_an_index_that_is_being_rebuilt_answers_with_a_time_to_retry(
    owner: httpx2.AsyncClient, project: int
) -> None:
    def damaged(*_: Any, **__: Any) -> Any:
        raise Damaged("a file is gone")

    flows.watched(app_of(owner)).instead["recall"] = damaged
    answer = await ask(owner, project, "search:fts:query", "zh", query="林远")
    assert (answer.status_code, answer.json()["code"]) == (503, "INDEX_REBUILDING")
    assert answer.json()["retryAfterMs"] > 0
    assert answer.json()["notice"] == "正在重建索引，请稍后重试"
    assert answer.headers["retry-after"]
