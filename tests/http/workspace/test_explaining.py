"""Explanations over HTTP: a score down to its parts, in the language of the caller."""

from typing import Any

import httpx2
import pytest

from tests import flows
from tests.flows import settle
from tests.http.workspace.channels import app_of, ask, hybrid

pytestmark = pytest.mark.fake_embedder


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
    owner: httpx2.AsyncClient, empty_project: int, body: dict[str, Any], field: str
) -> None:
    answer = await ask(owner, empty_project, "search:rank:explain", query="x", **body)
    assert (answer.status_code, answer.json()["code"], answer.json()["field"]) == (422, "INVALID_ARGUMENT", field)


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
