"""Titles, headings and keys: they find documents, raise passages, and are indexed again when they change."""

import json
from typing import Any

import pytest

from findspot.app import App
from findspot.models import OWNER
from findspot.search import SearchRequest, Strategy
from tests import flows
from tests.flows import FakeEmbedder, add_tool, find, make_document, make_table, rows, settle

pytestmark = pytest.mark.fake_embedder

GUIDE = "# {}\n\nThe lamp is lit at dusk. 黄昏点灯。\n\n## Repairs 修理\n\nOil the hinges. 给铰链上油。\n"


async def make(app: App, project: int, title: str, content: str) -> int:
    body = {"title": title, "format": "markdown", "content": content}
    return (await app.documents.create(project, json.dumps(body).encode())).id


async def change(app: App, document_id: int, **values: Any) -> None:
    await app.documents.save(document_id, json.dumps(values).encode(), OWNER)
    await settle(app)


@pytest.mark.scenario("D41")
@pytest.mark.parametrize("title", ["pep-0675", "紅樓夢", "Tide tables 潮汐表"])
@pytest.mark.parametrize("strategy", ["fts", "hybrid"])
async def test_a_title_finds_its_document_first(app: App, project: int, title: str, strategy: str) -> None:
    others = [f"See {title}. {title} is named here too, number {number} 见{title}。" for number in range(5)]
    await make_document(app, project, *others, title="Others 其他")
    named = await make_document(app, project, "Only literal strings 只有字面量", "Second part 第二部分", title=title)
    await settle(app)
    for query in dict.fromkeys((title, title.upper(), title.replace("紅樓夢", "红楼梦"))):
        page = await find(app, project, query, strategy)
        best = page.results[0]
        assert (best.found.chunk.document_id, best.found.chunk.chunk_index) == (named.id, 0), query
        assert best.score.total == pytest.approx(sum(best.score[:3]))
        assert "Second part 第二部分" not in [each.found.chunk.text for each in page.results if strategy == "fts"]


async def test_a_renamed_title_is_indexed_again_and_found(app: App, project: int, embedder: FakeEmbedder) -> None:
    document = await make_document(app, project, "One passage", "另一段", title="Before 之前")
    await settle(app)
    before = [row.id for row in await rows(app)]
    embedder.asked.clear()
    await change(app, document.id, title="After 之后")
    assert sorted(embedder.asked) == sorted(flows.embedded("One passage", "另一段", title="After 之后"))
    assert [row.id for row in await rows(app)] == before
    assert flows.held(app, (await rows(app))[0].turbopuffer_namespace) == before
    for old in ("before", "之前"):
        assert not (await find(app, project, old)).results
    for new in ("after", "之后"):
        assert [each.found.chunk.text for each in (await find(app, project, new)).results] == ["One passage"]


async def test_an_edited_heading_indexes_only_the_passages_below_it_again(
    app: App, project: int, embedder: FakeEmbedder
) -> None:
    below = "The keeper counts the ships. " * 15
    content = "# {}\n\n" + below + "\n\n" + below.replace("ships", "船") + "\n\n# Other 其他\n\nElsewhere 别处.\n"
    document = await make(app, project, "Log 日志", content.format("Old 旧"))
    await settle(app)
    before = {row.chunk_text: row.id for row in await rows(app)}
    embedder.asked.clear()
    await change(app, document, content=content.format("New 新"))
    after = {row.chunk_text: row.id for row in await rows(app)}
    assert len(embedder.asked) == 2
    assert {text.partition("\n\nThe")[0] for text in embedder.asked} == {"Log 日志\n\nNew 新", "Log 日志 > New 新"}
    assert len(before.items() & after.items()) == 2  # only the passage with the heading in its text is a new one
    page = await find(app, project, "船")
    assert [each.found.chunk.context.headings for each in page.results] == [("New 新",)]


async def test_a_moved_passage_is_not_embedded_again_if_its_place_stays_the_same(
    app: App, project: int, embedder: FakeEmbedder
) -> None:
    document = await make_document(app, project, "One 一", "Two 二")
    await settle(app)
    embedder.asked.clear()
    await flows.save(app, document.id, "Two 二", "One 一")
    await settle(app)
    assert embedder.asked == []


@pytest.mark.scenario("D41")
async def test_passages_below_a_heading_with_the_word_come_before_others(app: App, project: int) -> None:
    for language, word in (("en", "hinges"), ("zh", "铰链")):
        first = await make(app, project, "a", f"# Ship 船\n\nOil the hinges. 给铰链上油。 {language}\n")
        second = await make(app, project, "b", f"# Hinges 铰链\n\nOil the hinges. 给铰链上油。 {language}\n")
        await settle(app)
        found = [each.found.chunk.document_id for each in (await find(app, project, f"{word} {language}")).results]
        assert found.index(second) < found.index(first)


@pytest.mark.scenario("D41")
async def test_the_keys_above_a_string_find_it_in_a_table(app: App, project: int) -> None:
    data = {"Lighthouse": {"keeper": "He climbs the stairs."}, "灯塔": [{"夜晚": "看守人上楼。"}], "x": "Nothing else."}
    table = await make_table(app, project, data)
    await add_tool(app, table)
    await settle(app)
    for query, pointer in (
        ("lighthouse", "/Lighthouse/keeper"),
        ("灯塔", "/灯塔/0/夜晚"),
        ("燈塔 夜晚", "/灯塔/0/夜晚"),
    ):
        request = SearchRequest(project, query, Strategy.KEYWORD, table_id=table.id)
        hits = (await app.table_search.search(request)).hits
        assert [hit.found.chunk.json_pointer for hit in hits] == [pointer]
    assert hits[0].found.chunk.context.headings == ("灯塔", "夜晚")


async def test_an_explanation_names_words_of_the_title_and_the_headings(app: App, project: int) -> None:
    document = await make(app, project, "Lamp guide 灯的指南", GUIDE.format("Lamp room 灯室"))
    await settle(app)
    for query, words in (("guide", ("guide",)), ("lamp hinges", ("Lamp",)), ("灯的指南", ("灯", "指南"))):
        best = (await find(app, project, query, "hybrid")).results[0]
        why = await app.explainer.explain(SearchRequest(project, query), document, best.found.chunk.id)
        assert set(words) <= set(why.in_context)
        assert why.score[:2] == pytest.approx(best.score[:2], abs=2e-6)
        assert why.score.total == pytest.approx(sum(why.score[:3]))
    assert [why.matched[0].word, why.full_match] == ["指南", True]
