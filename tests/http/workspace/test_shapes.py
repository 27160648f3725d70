"""Workspace search over HTTP: what a request may hold, and what an answer holds."""

from typing import Any

import httpx2
import pytest

from tests import flows
from tests.flows import settle
from tests.http.workspace.channels import app_of, ask, hybrid

pytestmark = pytest.mark.fake_embedder


RESULT = {
    "documentId", "documentTitle", "documentType", "chunkId", "snippet", "highlights", "startOffset", "endOffset",
    "chunkStart", "chunkEnd", "headingPath", "finalScore", "scoreBreakdown", "updatedAt",
    "path", "line", "column", "duplicates",
}  # fmt: skip


PAGE = {
    "results", "total", "hasMore", "page", "offset", "cursor", "strategy", "indexState", "fallback", "correctedQuery",
    "tookMs",
}  # fmt: skip


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
    owner: httpx2.AsyncClient, empty_project: int, body: dict[str, Any], field: str
) -> None:
    answer = await ask(owner, empty_project, "search:query:strategy", **({"strategy": "hybrid"} | body))
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
    owner: httpx2.AsyncClient, empty_project: int, channel: str, body: bytes, field: str
) -> None:
    answer = await owner.post(f"/api/v1/projects/{empty_project}/{channel.replace(':', '/')}", content=body)
    assert (answer.status_code, answer.json()["code"], answer.json()["field"]) == (422, "INVALID_ARGUMENT", field)
