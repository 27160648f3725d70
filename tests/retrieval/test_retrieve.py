"""Retrieval from the documents of a project, on both databases, with the real model."""

import asyncio
import json
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from findspot import tokens
from findspot.app import App
from findspot.errors import FindspotError
from findspot.models import OWNER, Document
from findspot.retrieval import EditingContext, RetrievalRequest, Retrieved
from findspot.runtime.limits import SEARCHES
from tests import flows
from tests.flows import FakeEmbedder, settle

CHAPTER_TWO = (
    "废弃仓库坐落在码头尽头，铁皮屋顶早已锈穿，雨水顺着裂缝滴在堆积的木箱上。墙角有一盏不再发亮的煤油灯，"
    "空气里满是潮湿的麻绳和柴油的气味。"
)
CHAPTERS = {
    "第一章": "清晨的集市热闹非凡，小贩们吆喝着卖包子和豆浆。孩子们追着风筝跑过石桥，老人坐在茶馆门口下棋。",
    "第二章": CHAPTER_TWO,
    "第三章": "母亲在信里写道，今年的桂花开得比往年都早，院子里的猫生了四只小猫，让他不要挂念。",
}
BEFORE = "夜色渐深，街灯一盏接一盏熄灭。林远裹紧大衣，再次来到废弃仓库门前，"
AFTER = "铁门虚掩着。"


async def write(app: App, project: int, title: str, text: str, form: str = "text") -> Document:
    body = {"title": title, "format": form, "content": text}
    return await app.documents.create(project, json.dumps(body).encode())


async def ask(app: App, project: int, query: str = "", **more: Any) -> Retrieved:
    return await app.retriever.retrieve(replace(RetrievalRequest(project, query), **more))


def texts(found: Retrieved) -> list[str]:
    return [each.passage.shown_text for each in found.selected.chosen]


# ── the scenarios ──


@pytest.mark.scenario("004.rag", "004.rag.earlier-chapter", "004.rag.query-from-context", "004.rag.recalls-chunks")
async def test_writing_on_in_chapter_ten_brings_the_abandoned_warehouse_of_chapter_two(app: App, project: int) -> None:
    for title, text in CHAPTERS.items():
        await write(app, project, title, text)
    ten = await write(app, project, "第十章", BEFORE + AFTER)
    await settle(app)
    found = await ask(app, project, context=EditingContext(ten.id, BEFORE, AFTER))
    assert texts(found) == [CHAPTER_TWO]
    (chosen,) = found.selected.chosen
    assert (chosen.passage.start, chosen.passage.end) == (0, len(CHAPTER_TWO))
    assert chosen.passage.score >= 0.7
    assert "own_passage" in [each.reason for each in found.selected.dropped]


@pytest.mark.scenario("004.rag.nothing-relevant")
async def test_a_nearly_empty_project_gives_nothing_and_no_error(app: App, project: int) -> None:
    found = await ask(app, project, "废弃仓库里的照片")
    assert (found.selected.chosen, found.selected.used_tokens, found.selected.text) == ((), 0, "")
    only = await write(app, project, "第一章", "今天天气很好。")
    await settle(app)
    for request in (
        RetrievalRequest(project, "the maximum depth of a JSON document"),
        RetrievalRequest(project, context=EditingContext(only.id, "今天天气很好。", "")),
        RetrievalRequest(project, context=EditingContext(only.id, "", "")),
        RetrievalRequest(project, "？！…"),
        RetrievalRequest(project, " "),
    ):
        found = await app.retriever.retrieve(request)
        assert (found.selected.chosen, found.selected.used_tokens, found.degraded) == ((), 0, None)


@pytest.mark.scenario("004.rag.top-k", "004.rag.min-score", "004.rag.max-tokens", "004.rag.shaped")
async def test_answers_keep_their_limits_whatever_they_are(app: App, project: int) -> None:
    for number in range(8):
        await write(
            app, project, f"n{number}", f"The warehouse at quay {number} holds {number + 3} crates of old lamps."
        )
    await settle(app)
    every = await ask(app, project, "crates of lamps in the warehouse", min_score=0.0, top_k=50, max_tokens=32_000)
    scores = [each.passage.score for each in every.selected.chosen]
    assert scores == sorted(scores, reverse=True)
    assert (every.limits.top_k, len(scores)) == (50, 8)
    assert len((await ask(app, project, "crates of lamps in the warehouse")).selected.chosen) <= 5
    for least in (0.3, 0.7, scores[3], 1.0):
        found = await ask(app, project, "crates of lamps in the warehouse", min_score=least, top_k=50)
        assert all(each.passage.score >= least for each in found.selected.chosen)
    for most in (1, 60, 150, 400):
        found = await ask(app, project, "crates of lamps in the warehouse", min_score=0.0, max_tokens=most)
        assert tokens.count(found.selected.text) == found.selected.used_tokens <= most


async def test_the_same_request_gives_the_same_answer(app: App, project: int) -> None:
    for title, text in CHAPTERS.items():
        await write(app, project, title, f"{text} 电话13800138000，a@example.com。")
    await settle(app)
    first, second = [(await ask(app, project, "废弃仓库", min_score=0.0)).selected for _ in range(2)]
    assert first == second


# ── private values ──


async def test_private_values_have_placeholders_everywhere_and_offsets_stay_those_of_the_document(
    app: App, project: int
) -> None:
    text = "# Keeper mara@example.org\n\nThe keeper of the lighthouse is mara@example.org, 电话13800138000请晚上打。"
    await write(app, project, "Lighthouse of mara@example.org", text, "markdown")
    await settle(app)
    found = await ask(app, project, "keeper of the lighthouse", min_score=0.3)
    (chosen,) = found.selected.chosen
    shown = f"{chosen.passage.shown_text} {chosen.passage.place} {found.selected.text}"
    assert "mara@example.org" not in shown
    assert "13800138000" not in shown
    assert "[EMAIL_1]" in chosen.passage.context.title
    document = await flows.text_of(app, chosen.passage.document_id)
    assert document[chosen.passage.start : chosen.passage.end] == chosen.passage.text
    kinds = Counter(each.kind for each in chosen.passage.own_redactions)
    assert found.redactions == kinds
    assert kinds["phone"] == 1
    for each in chosen.passage.own_redactions:
        assert document[each.start : each.end] in ("mara@example.org", "13800138000")


@pytest.mark.parametrize("edit", [False, True])
async def test_a_private_key_that_is_cut_into_several_chunks_is_not_shown_by_any_of_them(
    app: App, project: int, edit: bool
) -> None:
    line = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9U"
    body = "\n".join(f"{line}{n % 10}" for n in range(40))
    key = f"-----BEGIN PRIVATE KEY-----\n{body}\n-----END PRIVATE KEY-----"
    text = f"```\ndeploy key of the lighthouse server\n{key}\n```"
    document = await write(app, project, "keys", text, "markdown")
    await settle(app)
    if edit:  # the chunks of the block have no consecutive ids any more
        changed = json.dumps({"content": text.replace("deploy key", "the deploy key")}).encode()
        await app.documents.save(document.id, changed, OWNER)
        await settle(app)
    assert len(await flows.rows(app, document_id=document.id)) > 2
    found = await ask(app, project, "deploy key of the lighthouse server", min_score=0.0, top_k=20, max_tokens=32_000)
    assert found.selected.chosen
    assert "MIIEvQ" not in found.selected.text
    assert found.redactions


# ── documents that change ──


async def test_a_passage_is_given_as_it_is_now_although_the_index_is_behind(app: App, project: int) -> None:
    document = await write(app, project, "第二章", CHAPTER_TWO)
    await flows.hold(app)
    changed = json.dumps({"content": f"新的开头。\n\n{CHAPTER_TWO}"}).encode()
    await app.documents.save(document.id, changed, OWNER)
    (chosen,) = (await ask(app, project, "废弃仓库")).selected.chosen
    assert chosen.passage.start == len("新的开头。\n\n")
    assert (await flows.text_of(app, document.id))[chosen.passage.start : chosen.passage.end] == CHAPTER_TWO


async def test_copies_of_a_passage_are_given_once(app: App, project: int) -> None:
    for title in ("第二章", "草稿"):
        await write(app, project, title, CHAPTER_TWO)
    await write(app, project, "繁體", CHAPTER_TWO.replace("废弃仓库", "廢棄倉庫"))
    await settle(app)
    found = await ask(app, project, "废弃仓库")
    assert len(found.selected.chosen) == 1
    assert [each.reason for each in found.selected.dropped] == ["duplicate", "duplicate"]


async def test_neighbouring_passages_are_given_as_one(app: App, project: int) -> None:
    sentence = "The keeper of the lighthouse writes the log of lamp {} in the tower every night without fail. "
    paragraphs = ["".join(sentence.format(f"{part}{n}") for n in range(4)).strip() for part in "ab"]
    document = await write(app, project, "Log", "\n\n".join(paragraphs))
    await settle(app)
    assert len(await flows.rows(app, document_id=document.id)) == 2
    (chosen,) = (await ask(app, project, "the keeper writes the log of the lighthouse")).selected.chosen
    assert len(chosen.passage.chunk_ids) == 2
    text = await flows.text_of(app, document.id)
    assert text[chosen.passage.start : chosen.passage.end] == chosen.passage.text == text.strip()


# ── limits and failures ──


async def test_the_document_of_the_cursor_must_belong_to_the_project(app: App, project: int) -> None:
    other = await flows.make_project(app, "other")
    document = await write(app, other, "t", "Text.")
    for id in (document.id, 999_999):
        with pytest.raises(FindspotError, match="no such document") as raised:
            await ask(app, project, context=EditingContext(id, "Text.", ""))
        assert raised.value.code == "NOT_FOUND"


async def test_passages_of_other_projects_are_never_given(app: App, project: int) -> None:
    other = await flows.make_project(app, "other")
    await write(app, other, "第二章", CHAPTER_TWO)
    await settle(app)
    assert (await ask(app, project, "废弃仓库", min_score=0.0)).selected.chosen == ()


@pytest.mark.fake_embedder
async def test_without_vectors_keywords_decide_and_the_answer_says_so(
    app: App, project: int, embedder: FakeEmbedder
) -> None:
    await write(app, project, "a", "The keeper of the lighthouse polishes the lamp.")
    await write(app, project, "b", "Bread is baked at dawn.")
    await settle(app)
    embedder.query_error = FindspotError("EMBEDDING_UNAVAILABLE", "The service is unavailable.")
    found = await ask(app, project, "lighthouse lamp")
    assert found.degraded is not None
    assert (found.degraded.code, found.degraded.fallback) == ("EMBEDDING_UNAVAILABLE", "fts")
    (chosen,) = found.selected.chosen
    assert chosen.passage.meaning is None
    assert chosen.passage.score >= 0.7


@pytest.mark.fake_embedder
@pytest.mark.one_process  # apps of one test do not count together; tests/server/test_shared_flows.py has processes
async def test_more_retrievals_than_a_project_may_run_are_refused_at_once(app: App, project: int) -> None:
    await write(app, project, "a", "The keeper of the lighthouse polishes the lamp.")
    await settle(app)
    asked = [ask(app, project, f"lighthouse {number}") for number in range(SEARCHES + 6)]
    found = await asyncio.gather(*asked, return_exceptions=True)
    refused = [each for each in found if isinstance(each, FindspotError)]
    assert [each.code for each in refused] == ["SEARCH_BACKPRESSURE"] * 6
    assert sum(isinstance(each, Retrieved) for each in found) == SEARCHES
