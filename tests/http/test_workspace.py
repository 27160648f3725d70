"""Workspace search over HTTP: the channels' shapes, their errors, and what they leave in logs and figures."""

import asyncio
import contextlib
import hashlib
import io
import logging
import re
import threading
from collections.abc import Callable, Iterator
from typing import Any

import httpx2
import pytest
import sqlalchemy as sa
import structlog

from findspot.app import App
from findspot.embedding.protocol import refused
from findspot.engines.protocol import Damaged
from findspot.errors import FindspotError
from findspot.indexing.status import Problem
from findspot.models import NamespaceKey, documents_namespace
from findspot.runtime import logs
from findspot.runtime.limits import SEARCHES
from findspot.settings import Settings
from findspot.store.schema import embedding_cache
from tests import flows, scrapes
from tests.flows import FakeEmbedder, settle

pytestmark = pytest.mark.fake_embedder

CHAPTERS = {
    "第一章": "林远推开废弃仓库的大门。\n\n灰尘在光柱里飞舞，旧照片散落一地。",
    "第二章": "林远想起了母亲的话。\n\n仓库里的旧照片已经发黄。",
    "Notes": "The abandoned warehouse holds old photographs.\n\nThe photographs show a lighthouse keeper.",
}
RESULT = {
    "documentId", "documentTitle", "documentType", "chunkId", "snippet", "highlights", "startOffset", "endOffset",
    "chunkStart", "chunkEnd", "headingPath", "finalScore", "scoreBreakdown", "updatedAt",
    "path", "line", "column", "duplicates",
}  # fmt: skip
PAGE = {"results", "total", "hasMore", "page", "offset", "cursor", "strategy", "indexState", "fallback", "tookMs"}


@pytest.fixture
def database_url() -> None:
    """What is answered does not depend on the database, and tests of the flow have both: SQLite is enough here."""
    return


@pytest.fixture
def changed_settings() -> dict[str, Any]:
    return {}


@pytest.fixture
def settings(settings: Settings, changed_settings: dict[str, Any]) -> Settings:
    return settings.model_copy(update=changed_settings)


@pytest.fixture
async def project(owner: httpx2.AsyncClient) -> int:
    made: int = (await owner.post("/api/v1/projects", json={"name": "novel"})).json()["id"]
    for title, content in CHAPTERS.items():
        separate = flows.separate(*content.split("\n\n"))
        body = {"title": title, "type": "chapter", "format": "tiptap", "content": separate}
        await owner.post(f"/api/v1/projects/{made}/documents", json=body)
    await settle(app_of(owner))
    return made


def app_of(client: httpx2.AsyncClient) -> App:
    app: App = client._transport.app.state.app  # type: ignore[attr-defined]
    return app


async def ask(client: httpx2.AsyncClient, project: int, channel: str, language: str = "en", **body: Any) -> Any:
    path = f"/api/v1/projects/{project}/{channel.replace(':', '/')}"
    return await client.post(path, json=body, headers={"Accept-Language": language})


async def hybrid(client: httpx2.AsyncClient, project: int, query: str, language: str = "en", **body: Any) -> Any:
    answer = await ask(client, project, "search:query:strategy", language, query=query, strategy="hybrid", **body)
    assert answer.status_code == 200, answer.text
    return answer.json()


# ── shapes ──


@pytest.mark.scenario(
    "004.fts.channel-query", "004.embedding.channel-search", "004.ranking.breakdown", "004.ranking.channel-strategy"
)
@pytest.mark.parametrize(
    ("channel", "strategy"),
    [
        ("search:fts:query", "fts"),
        ("embedding:search", "semantic"),
        *(("search:query:strategy", each) for each in ("fts", "semantic", "hybrid")),
    ],
)
async def test_every_channel_answers_in_one_shape(
    owner: httpx2.AsyncClient, project: int, channel: str, strategy: str
) -> None:
    body = {"strategy": strategy} if channel == "search:query:strategy" else {}
    answer = (await ask(owner, project, channel, query="仓库里的旧照片", **body)).json()
    assert answer.keys() == PAGE
    assert (answer["strategy"], answer["page"], answer["fallback"], answer["indexState"]) == (
        strategy,
        1,
        "none",
        "ready",
    )
    assert answer["results"]
    for result in answer["results"]:
        assert result.keys() == RESULT
        document = (await owner.get(f"/api/v1/documents/{result['documentId']}")).json()
        assert document["text"][result["startOffset"] : result["endOffset"]] == result["snippet"]
        assert result["snippet"] in document["text"][result["chunkStart"] : result["chunkEnd"]]
        assert (result["documentTitle"], result["documentType"]) == (document["title"], "chapter")
        assert result["updatedAt"] == document["updatedAt"]
        parts = result["scoreBreakdown"]
        assert parts.keys() == {"bm25", "semantic", "recency"}
        assert f"{sum(parts.values()):.6f}" == f"{result['finalScore']:.6f}"
        assert all(0 <= start < end <= len(result["snippet"]) for start, end in result["highlights"])


async def test_the_first_page_leads_to_the_next(owner: httpx2.AsyncClient, project: int) -> None:
    content = flows.separate(*(f"Heron number {number}" for number in range(120)))
    body = {"title": "Waders", "format": "tiptap", "content": content}
    await owner.post(f"/api/v1/projects/{project}/documents", json=body)
    await settle(app_of(owner))
    answer = await hybrid(owner, project, "heron")
    seen = [each["chunkId"] for each in answer["results"]]
    for page in (2, 3):
        assert answer["hasMore"]
        answer = await hybrid(owner, project, "heron", cursor=answer["cursor"], page=page)
        seen += [each["chunkId"] for each in answer["results"]]
    assert not answer["hasMore"]
    assert (len(seen), len(set(seen)), answer["page"], answer["total"]) == (120, 120, 3, 120)


@pytest.mark.scenario("004.acceptance.agents-cannot-tune")
@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "query"),
        ({"query": 5}, "query"),
        ({"query": "x", "strategy": "magic"}, "strategy"),
        ({"query": "x", "page": 0}, "page"),
        ({"query": "x", "page": "1"}, "page"),
        ({"query": "x", "cursor": "gone.2"}, "cursor"),
        ({"query": "x", "documentIds": ["a"]}, "documentIds.0"),
        ({"query": "x", "weights": {"bm25": 1}}, "weights"),
        ({"query": "x", "includeLowScores": "yes"}, "includeLowScores"),
        ({"query": "x", "limit": 0}, "limit"),
        ({"query": "x", "limit": 51}, "limit"),
        ({"query": "x", "limit": 5.0}, "limit"),
        ({"query": "x", "types": []}, "types"),
        ({"query": "x", "types": ["a", ""]}, "types.1"),
        ({"query": "x", "types": ["\0"]}, "types.0"),
        ({"query": "x", "pathPrefix": ""}, "pathPrefix"),
        ({"query": "x", "pathPrefix": "a\0b"}, "pathPrefix"),
        ({"query": "x", "pathPrefix": "/" * 1001}, "pathPrefix"),
        ({"query": "x", "updatedAfter": "yesterday"}, "updatedAfter"),
        ({"query": "x", "updatedAfter": "2026-02-30"}, "updatedAfter"),
        ({"query": "x", "updatedAfter": "2026-11-01T08:00:00"}, "updatedAfter"),
        ({"query": "x", "updatedAfter": "0001-01-01T00:00:00+14:00"}, "updatedAfter"),
        ({"query": "x", "updatedBefore": 1_700_000_000}, "updatedBefore"),
        ({"query": "x", "updatedAfter": "2026-11-02", "updatedBefore": "2026-11-02"}, "updatedBefore"),
        ({"query": "x", "sort": "newest"}, "sort"),
        ({"query": "x", "perDocument": 0}, "perDocument"),
        ({"query": "x", "includeDuplicates": 1}, "includeDuplicates"),
        ({"query": "x", "counts": "all"}, "counts"),
    ],
)
async def test_a_wrong_field_is_refused_by_its_name(
    owner: httpx2.AsyncClient, project: int, body: dict[str, Any], field: str
) -> None:
    answer = await ask(owner, project, "search:query:strategy", **({"strategy": "hybrid"} | body))
    assert (answer.status_code, answer.json()["code"], answer.json()["field"]) == (422, "INVALID_ARGUMENT", field)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "chunkIds"),
        ({"documentId": 1}, "chunkId"),
        ({"chunkId": 1}, "documentId"),
        ({"chunkIds": []}, "chunkIds"),
        ({"chunkIds": [1] * 51}, "chunkIds"),
        ({"chunkIds": [0]}, "chunkIds.0"),
        ({"chunkIds": [1], "chunkId": 1}, "chunkIds"),
    ],
)
async def test_an_explanation_is_of_one_passage_or_of_several(
    owner: httpx2.AsyncClient, project: int, body: dict[str, Any], field: str
) -> None:
    answer = await ask(owner, project, "search:rank:explain", query="x", **body)
    assert (answer.status_code, answer.json()["code"], answer.json()["field"]) == (422, "INVALID_ARGUMENT", field)


async def test_filters_order_folding_and_counts_are_part_of_a_request(owner: httpx2.AsyncClient, project: int) -> None:
    for title, type, content in (
        ("一", "chapter", "潮汐 tide one"),
        ("二", "note", "潮汐 tide ONE\n\n潮汐 tide two\n\n潮汐 tide three"),
    ):
        passages = flows.separate(*content.split("\n\n"))
        body = {"title": title, "type": type, "format": "tiptap", "content": passages}
        await owner.post(f"/api/v1/projects/{project}/documents", json=body)
    await settle(app_of(owner))

    async def search(**given: Any) -> dict[str, Any]:
        found: dict[str, Any] = (await ask(owner, project, "search:fts:query", query="潮汐 tide", **given)).json()
        return found

    everything = await search(counts=True)
    assert sorted(each["duplicates"] for each in everything["results"]) == [0, 0, 1]
    assert everything["counts"]["byType"] == [{"type": "note", "count": 3}, {"type": "chapter", "count": 1}]
    assert [each["count"] for each in everything["counts"]["byDocument"]] == [3, 1]
    assert everything["counts"]["byDocument"][0].items() >= {"documentTitle": "二", "documentType": "note"}.items()
    assert (everything["counts"]["documents"], everything["total"]) == (2, 4)
    assert len((await search(includeDuplicates=True))["results"]) == 4
    assert len((await search(includeDuplicates=True, perDocument=1))["results"]) == 2
    short = await search(limit=2, types=["note"], sort="date", updatedAfter="2020-01-01")
    assert (len(short["results"]), short["hasMore"], short["total"], "counts" in short) == (2, True, 3, False)
    assert (await search(updatedBefore="2020-01-01T00:00:00.5+08:00"))["results"] == []
    assert (await search(pathPrefix="notes/"))["total"] == 0


async def test_a_page_is_explained_in_one_request(owner: httpx2.AsyncClient, project: int) -> None:
    content = flows.separate(*(f"Heron number {number} 苍鹭" for number in range(12)))
    body = {"title": "Waders", "format": "tiptap", "content": content}
    await owner.post(f"/api/v1/projects/{project}/documents", json=body)
    await settle(app_of(owner))
    query = "蒼鷺 heron lantern"
    found = await hybrid(owner, project, query, includeLowScores=True)
    ids = [each["chunkId"] for each in found["results"]]
    answer = await ask(owner, project, "search:rank:explain", query=query, chunkIds=[999_999, *ids])
    assert [each["chunkId"] for each in answer.json()] == ids
    for result, why in zip(found["results"], answer.json(), strict=True):
        assert why["scoreBreakdown"]["bm25"] == pytest.approx(result["scoreBreakdown"]["bm25"], abs=2e-6)
    first = found["results"][0]
    place = {"documentId": first["documentId"], "chunkId": first["chunkId"]}
    one = (await ask(owner, project, "search:rank:explain", query=query, **place)).json()
    assert (one["bm25"], one["semantic"]) == (answer.json()[0]["bm25"], answer.json()[0]["semantic"])
    herons = [each for each in answer.json() if each["documentTitle"] == "Waders"]
    assert len(herons) == 12
    assert all(each["missingWords"] == ["lantern"] for each in herons)
    assert all("it lacks “lantern”" in each["explanation"] for each in herons)
    chinese = await owner.post(
        f"/api/v1/projects/{project}/search/rank/explain",
        json={"query": query, "chunkIds": [herons[0]["chunkId"]]},
        headers={"Accept-Language": "zh"},
    )
    assert "缺少“lantern”" in chinese.json()[0]["explanation"]


@pytest.mark.scenario("D36")
@pytest.mark.parametrize(
    ("channel", "body", "field"),
    [
        ("search:fts:query", b'{"query": "a \\ud800"}', "query"),
        ("embedding:search", b'{"query": "\\udc00 b"}', "query"),
        ("search:query:strategy", b'{"query": "\\ud83d\\ud83d\\ude00", "strategy": "hybrid"}', "query"),
        ("search:rank:explain", b'{"query": "\\ud800", "documentId": 1, "chunkId": 1}', "query"),
        ("embedding:generate", b'{"texts": ["whole \\ud83d\\ude00", "\\ud800"]}', "texts.1"),
    ],
)
async def test_half_a_character_is_refused_by_name(
    owner: httpx2.AsyncClient, project: int, channel: str, body: bytes, field: str
) -> None:
    answer = await owner.post(f"/api/v1/projects/{project}/{channel.replace(':', '/')}", content=body)
    assert (answer.status_code, answer.json()["code"], answer.json()["field"]) == (422, "INVALID_ARGUMENT", field)


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
        assert english["notice"].endswith(f"these results are for: {meant}")
        assert chinese["notice"].endswith(f"更正后的搜索结果：{meant}")
        assert "correctedQuery" not in await hybrid(owner, project, query, exact=True)
        best = english["results"][0]
        place = {"query": query, "documentId": best["documentId"], "chunkId": best["chunkId"]}
        why = (await ask(owner, project, "search:rank:explain", **place)).json()
        assert why["finalScore"] == pytest.approx(best["finalScore"], abs=1e-4)
    assert "correctedQuery" not in await hybrid(owner, project, "old photographs")


async def test_an_explanation_names_the_missing_words(owner: httpx2.AsyncClient, project: int) -> None:
    for query, missing in (("how do I see old photographs of herons", ["see", "herons"]), ("林远的旧照片吗", ["林远"])):
        found = await hybrid(owner, project, query, includeLowScores=True, exact=True)
        best = next(
            each for each in found["results"] if "old photographs" in each["snippet"] or "旧照片" in each["snippet"]
        )
        place = {"query": query, "exact": True, "documentId": best["documentId"], "chunkId": best["chunkId"]}
        english, chinese = [
            (await ask(owner, project, "search:rank:explain", language, **place)).json() for language in ("en", "zh")
        ]
        assert english["missingWords"] == chinese["missingWords"] == missing
        assert f"it lacks “{missing[0]}”" in english["explanation"]
        assert f"缺少“{missing[0]}”" in chinese["explanation"]


# ── explaining ──


@pytest.mark.scenario("004.ranking", "004.ranking.channel-explain", "004.ranking.hybrid-explained")
async def test_a_score_is_explained_to_its_parts(owner: httpx2.AsyncClient, project: int) -> None:
    found = await hybrid(owner, project, "废弃仓库里的旧照片 photographs", includeLowScores=True)
    assert len(found["results"]) >= 4
    for rank, result in enumerate(found["results"], start=1):
        place = {"documentId": result["documentId"], "chunkId": result["chunkId"]}
        why = (await ask(owner, project, "search:rank:explain", query="废弃仓库里的旧照片 photographs", **place)).json()
        assert why["finalScore"] == pytest.approx(result["finalScore"], abs=2e-6), rank
        assert why["scoreBreakdown"]["bm25"] == result["scoreBreakdown"]["bm25"]
        assert why["bm25"]["weight"] == 0.55
        assert why["semantic"]["weight"] == 0.35
        assert why["recency"]["weight"] == 0.1
        for leg in ("bm25", "semantic"):
            assert why[leg]["normalised"] * why[leg]["weight"] == pytest.approx(why["scoreBreakdown"][leg], abs=2e-6)
        assert sum(each["weight"] for each in why["matchedWords"]) == pytest.approx(why["bm25"]["raw"] or 0, rel=1e-4)
        assert all(each["word"] in result["snippet"] for each in why["matchedWords"])
        assert why["hidden"] == (why["finalScore"] < 0.25)
        assert 0 <= why["recency"]["ageDays"] < 1
    ranks = []
    for hit in (await ask(owner, project, "search:fts:query", query="仓库")).json()["results"]:
        place = {"documentId": hit["documentId"], "chunkId": hit["chunkId"]}
        ranks.append((await ask(owner, project, "search:rank:explain", query="仓库", **place)).json()["bm25"]["rank"])
    assert sorted(ranks) == [1, 2]


@pytest.mark.scenario("004.ranking.channel-explain")
async def test_an_explanation_is_a_sentence_in_the_callers_language(owner: httpx2.AsyncClient, project: int) -> None:
    best = (await hybrid(owner, project, "old photographs"))["results"][0]
    place = {"query": "old photographs", "documentId": best["documentId"], "chunkId": best["chunkId"]}
    english = (await ask(owner, project, "search:rank:explain", **place)).json()["explanation"]
    assert english.startswith("It contains both words (“old”, “photographs”, rank ")
    assert f"Total: {best['finalScore']:.2f}" in english
    chinese = (await ask(owner, project, "search:rank:explain", "zh-CN", **place)).json()["explanation"]
    assert chinese.startswith("命中全部 2 个词（“old”“photographs”，")
    assert f"合计 {best['finalScore']:.2f} 分" in chinese


async def test_chinese_is_explained_by_stretches_and_characters(owner: httpx2.AsyncClient, project: int) -> None:
    passage = (await hybrid(owner, project, "仓库里的旧照片"))["results"][0]
    place = {"documentId": passage["documentId"], "chunkId": passage["chunkId"]}
    for query, english, chinese in (
        ("仓库里的旧照片", "It contains all 5 characters (“旧照片”, “仓库”", "命中全部 5 个字（“旧照片”“仓库”"),
        (
            "倉庫裡的新照片",
            "It contains 4 of 5 characters (“仓库”, “照片”",
            "命中 5 个字中的 4 个（“仓库”“照片”",
        ),
        ("黄 zebra", "It contains the one character (“黄”", "命中唯一的字（“黄”"),
        ("灯塔", "It contains no character of the query;", "未命中任何关键词；"),
    ):
        for language, said in (("en", english), ("zh", chinese)):
            why = (await ask(owner, project, "search:rank:explain", language, query=query, **place)).json()
            assert why["explanation"].startswith(said), why


async def test_a_passage_that_no_leg_found_is_explained_too(owner: httpx2.AsyncClient, project: int) -> None:
    best = (await hybrid(owner, project, "林远"))["results"][0]
    place = {"documentId": best["documentId"], "chunkId": best["chunkId"]}
    why = (await ask(owner, project, "search:rank:explain", query="zebra", **place)).json()
    assert (why["bm25"]["raw"], why["bm25"]["rank"], why["matchedWords"], why["hidden"]) == (None, None, [], True)
    assert "no word of the query" in why["explanation"]


async def test_only_passages_of_the_project_and_the_document_are_explained(
    owner: httpx2.AsyncClient, project: int
) -> None:
    best = (await hybrid(owner, project, "林远"))["results"][0]
    other = (await owner.post("/api/v1/projects", json={"name": "other"})).json()["id"]
    for where, document, chunk in (
        (other, best["documentId"], best["chunkId"]),
        (project, best["documentId"] + 1, best["chunkId"]),
        (project, best["documentId"], 10**9),
    ):
        answer = await ask(owner, where, "search:rank:explain", query="林远", documentId=document, chunkId=chunk)
        assert (answer.status_code, answer.json()["code"]) == (404, "NOT_FOUND")


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


# ── what is left of a query ──


@pytest.fixture
def logged() -> Iterator[io.StringIO]:
    """What a server writes to its log."""
    root, ours, stream = logging.getLogger(), logging.getLogger("findspot"), io.StringIO()
    before = root.handlers[:], root.level, ours.level
    logs.configure("debug", "json", stream=stream)
    yield stream
    root.handlers[:], root.level, ours.level = before
    structlog.reset_defaults()


@pytest.mark.scenario("004.security.query-hash", "D26")
async def test_a_query_is_in_no_log_and_no_figure_but_as_a_keyed_hash(
    owner: httpx2.AsyncClient, project: int, embedder: FakeEmbedder, logged: io.StringIO
) -> None:
    secret = "林远 zyzzyva"
    for _ in range(2):
        found = await hybrid(owner, project, secret, includeLowScores=True)
        place = {key: found["results"][0][key] for key in ("documentId", "chunkId")}
        await ask(owner, project, "search:rank:explain", query=secret, **place)
        await ask(owner, project, "embedding:search", query=secret)
        await ask(owner, project, "search:fts:query", query=secret, cursor="gone.2")
        embedder.query_error = FindspotError("EMBEDDING_UNAVAILABLE", "not now")
    flows.watched(app_of(owner)).instead["recall"] = lambda *_, **__: 1 / 0
    assert (await ask(owner, project, "search:fts:query", query=secret)).status_code == 500
    figures = (await owner.get("/metrics")).text
    written = logged.getvalue()
    for text in (written, figures):
        assert not re.search("zyzzyva|林远|\\\\u6797", text)
    hashes = set(re.findall(r"search in project \d+ for ([0-9a-f]{16}):", written))
    assert len(hashes) == 1
    assert "unexpected_error" in written
    assert hashes != {hashlib.sha256(secret.encode()).hexdigest()[:16]}


@pytest.mark.scenario(
    "003.metric.search-requests",
    "003.metric.chunks-created",
    "003.metric.chunking-duration",
    "003.metric.search-duration",
    "003.metric.search-results",
    "003.metric.active-chunks",
)
async def test_searches_and_chunks_are_counted_under_the_names_of_the_requirement(
    owner: httpx2.AsyncClient, project: int, embedder: FakeEmbedder, figures: Callable[[], Any]
) -> None:
    before = await figures()
    await hybrid(owner, project, "林远")
    await ask(owner, project, "search:fts:query", query="林远", cursor="gone.2")
    embedder.query_error = FindspotError("EMBEDDING_UNAVAILABLE", "not now")
    await hybrid(owner, project, "林远 again")
    after = await figures()

    mine = f'project_id="{project}"'

    def grown(name: str) -> float:
        return after.get(name, 0.0) - before.get(name, 0.0)  # type: ignore[no-any-return]

    for status in ("success", "INVALID_ARGUMENT", "EMBEDDING_UNAVAILABLE"):
        assert grown(f'search_requests_total{{{mine},status="{status}",tool_id="workspace"}}') == 1
    assert grown(f"search_duration_seconds_count{{{mine}}}") == 3
    assert grown(f"search_results_count_count{{{mine}}}") == 2
    assert after[f"active_chunks_total{{{mine}}}"] == 6
    assert after[f"index_waiting_sources{{{mine}}}"] == 0
    assert before[f'chunks_created_total{{{mine},table_id="documents"}}'] >= 6
    assert before[f"chunking_duration_seconds_count{{{mine}}}"] >= 1


@pytest.mark.scenario("003.metric.upload-errors")
async def test_a_write_that_the_engine_refuses_is_counted(
    owner: httpx2.AsyncClient, project: int, figures: Callable[[], Any]
) -> None:
    def full(*_: Any) -> None:
        raise OSError("the disk is full")

    counter = f'turbopuffer_upload_errors_total{{project_id="{project}"}}'
    before = (await figures()).get(counter, 0)
    flows.watched(app_of(owner)).instead["write"] = full
    body = {"title": "t", "format": "text", "content": "林远又来了。"}
    await owner.post(f"/api/v1/projects/{project}/documents", json=body)
    await settle(app_of(owner), errors=True)
    assert (await figures())[counter] > before
    assert len((await hybrid(owner, project, "林远"))["results"]) == 2  # what was indexed is still found
    flows.watched(app_of(owner)).instead.clear()
    await settle(app_of(owner))
    assert len((await hybrid(owner, project, "林远"))["results"]) == 3


@pytest.mark.scenario("003.metric.upload-errors")
async def test_writes_that_fail_are_counted_for_a_build_and_for_words_alone_too(
    owner: httpx2.AsyncClient, project: int, embedder: FakeEmbedder, figures: Callable[[], Any]
) -> None:
    app, failed = app_of(owner), threading.Event()
    engine = flows.watched(app)

    def full(*_: Any) -> None:
        failed.set()
        raise OSError("the disk is full")

    def build(*arguments: Any) -> Any:
        made: Any = engine.engine.build(*arguments)
        if not failed.is_set():
            made.write = full
        return made

    counter = f'turbopuffer_upload_errors_total{{project_id="{project}"}}'
    before = (await figures()).get(counter, 0)
    engine.instead["build"] = build
    app.index_status.report(documents_namespace(project), Problem.WRONG_FINGERPRINT)
    await settle(app)
    assert (await figures())[counter] == before + 1
    failed.clear()
    embedder.fails_on = "来"
    engine.instead["write"] = full
    body = {"title": "t", "format": "text", "content": "林远又来了。"}
    await owner.post(f"/api/v1/projects/{project}/documents", json=body)
    assert await asyncio.to_thread(failed.wait, flows.PATIENCE_S)
    await settle(app, errors=True)
    assert (await figures())[counter] > before + 1


async def test_a_cancelled_search_is_counted_as_cancelled(
    owner: httpx2.AsyncClient, project: int, figures: Callable[[], Any]
) -> None:
    is_busy, going_on = threading.Event(), threading.Event()
    engine = flows.watched(app_of(owner))

    def slow(*arguments: Any, **more: Any) -> Any:
        is_busy.set()
        assert going_on.wait(flows.PATIENCE_S)
        return engine.engine.recall(*arguments, **more)

    name = 'search_requests_total{{project_id="' + str(project) + '",status="{}",tool_id="workspace"}}'
    before = await figures()
    engine.instead["recall"] = slow
    asking = asyncio.create_task(ask(owner, project, "search:fts:query", query="林远"))
    assert await asyncio.to_thread(is_busy.wait, flows.PATIENCE_S)
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    going_on.set()
    after = await figures()
    assert after[name.format("cancelled")] - before.get(name.format("cancelled"), 0) == 1
    assert after.get(name.format("INTERNAL"), 0) == before.get(name.format("INTERNAL"), 0)


# ── reindexing and embedding ──


@pytest.mark.scenario("004.fts.channel-reindex", "004.embedding.channel-reindex", "004.matrix.rebuild-and-search")
@pytest.mark.parametrize("channel", ["search:fts:reindex", "embedding:reindex"])
async def test_a_reindex_is_queued_while_the_old_index_answers(
    owner: httpx2.AsyncClient, project: int, embedder: FakeEmbedder, channel: str
) -> None:
    app, held = app_of(owner), documents_namespace(project)
    engine, going_on = flows.watched(app), threading.Event()

    def late(*arguments: Any) -> Any:
        assert going_on.wait(flows.PATIENCE_S)
        return engine.engine.build(*arguments)

    engine.instead["build"] = late
    answer = await ask(owner, project, channel)
    assert (answer.status_code, answer.json()) == (202, {"jobId": f"rebuild_{held}", "position": 0})
    again = await ask(owner, project, channel)
    assert again.json() == answer.json()  # there is one to be built, however often it is asked for
    assert len((await hybrid(owner, project, "林远"))["results"]) == 2
    going_on.set()
    await settle(app)
    found = await hybrid(owner, project, "林远")
    assert (len(found["results"]), found["indexState"]) == (2, "ready")


@pytest.mark.scenario("004.concurrency.two-reindexes")
async def test_a_third_rebuild_of_a_project_waits_and_gets_its_queue_position(
    owner: httpx2.AsyncClient, project: int
) -> None:
    app, others = app_of(owner), [NamespaceKey(project, 901), NamespaceKey(project, 902)]
    await app.index_worker.close()  # so that all of them wait
    assert [await app.index_status.request_rebuild(key) for key in others] == [0, 0]
    assert (await ask(owner, project, "search:fts:reindex")).json()["position"] == 1
    fourth = NamespaceKey(project, 903)
    assert await app.index_status.request_rebuild(fourth) == 2
    again = [await app.index_status.request_rebuild(key) for key in (*others, NamespaceKey(project, None), fourth)]
    assert again == [0, 0, 1, 2]  # whoever asks again stays where they are
    await app.index_worker.start()
    await settle(app)


@pytest.mark.parametrize("changed_settings", [{"max_chunks": 6}])
async def test_a_project_that_is_full_is_not_reindexed(owner: httpx2.AsyncClient, project: int) -> None:
    answer = await ask(owner, project, "embedding:reindex")
    assert (answer.status_code, answer.json()["code"]) == (507, "SEARCH_CAPACITY_EXCEEDED")


@pytest.mark.scenario("004.embedding.channel-generate")
async def test_texts_get_their_vectors_and_leave_nothing_behind(
    owner: httpx2.AsyncClient, project: int, embedder: FakeEmbedder
) -> None:
    texts = ["林远 and the lighthouse", "電腦 👩‍👩‍👧 e\u0301"]
    answer = (await ask(owner, project, "embedding:generate", texts=texts)).json()
    assert (answer["model"], answer["dimensions"], len(answer["vectors"])) == ("fake", 64, 2)
    assert answer["vectors"] == embedder.documents(texts).tolist()
    async with app_of(owner).store.read() as connection:
        kept = (await connection.execute(sa.select(sa.func.count()).select_from(embedding_cache))).scalar_one()
    assert kept == 6  # those of the chapters


async def test_embedding_texts_counts_as_a_search_in_flight(owner: httpx2.AsyncClient, project: int) -> None:
    gate = app_of(owner).gate
    with contextlib.ExitStack() as taken:
        for _ in range(SEARCHES):
            taken.enter_context(gate.admit_search(project))
        answer = await ask(owner, project, "embedding:generate", texts=["林远"])
        assert (answer.status_code, answer.json()["code"]) == (429, "SEARCH_BACKPRESSURE")
        assert answer.json()["retryAfterMs"] > 0
    assert (await ask(owner, project, "embedding:generate", texts=["林远"])).status_code == 200


@pytest.mark.parametrize("texts", [[], [""], ["x"] * 65, ["字" * 8001], "no list", [1], None])
async def test_texts_that_cannot_be_embedded_are_refused(owner: httpx2.AsyncClient, project: int, texts: Any) -> None:
    answer = await ask(owner, project, "embedding:generate", texts=texts)
    assert (answer.status_code, answer.json()["code"]) == (422, "INVALID_ARGUMENT")
    assert "texts" in answer.json()["message"]


@pytest.fixture
def figures(owner: httpx2.AsyncClient) -> Callable[[], Any]:
    async def read() -> dict[str, float]:
        return scrapes.figures((await owner.get("/metrics")).text)

    return read
