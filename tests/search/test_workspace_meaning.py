"""Semantic search with the offline model among a thousand paragraphs that lack the words of the query."""

import pytest

from findspot.app import App
from findspot.ranking.fusion import LOOKED_AT
from findspot.search import SearchRequest, Strategy
from tests.embedding.test_meaning import ITS_WORDS, LONELY, lines, stories
from tests.flows import add_tool, make_document, make_project, make_table, settle


@pytest.fixture
def database_url() -> None:
    """Nothing here depends on the database."""
    return


@pytest.mark.scenario("004.embedding", "004.embedding.finds-meaning")
@pytest.mark.parametrize("language", ["zh", "en"])
async def test_a_semantic_search_finds_loneliness_among_the_first_five(app: App, language: str) -> None:
    project = await make_project(app)
    lonely = lines(f"lonely.{language}.txt")
    paragraphs = stories(language)
    for first in range(0, len(paragraphs), 100):
        await make_document(app, project, *paragraphs[first : first + 100])
    await make_document(app, project, *lonely)
    await settle(app)
    page = await app.workspace_search.search(SearchRequest(project, LONELY[language], Strategy.VECTOR))
    best = [each.found.chunk.text for each in page.results[:5]]
    assert sum(text in lonely for text in best) >= 4
    for text in best:
        if text in lonely:
            assert not any(word in text.lower() for word in ITS_WORDS[language])
    assert page.total.count == len(paragraphs) + len(lonely)


@pytest.mark.scenario("004.embedding.finds-meaning")
@pytest.mark.parametrize(("language", "least"), [("en", 17), ("zh", 12)])
async def test_most_paraphrases_are_among_the_first_five_of_a_thousand(app: App, language: str, least: int) -> None:
    project = await make_project(app)
    pairs = [line.split("\t") for line in lines(f"paraphrases.{language}.tsv")]
    others = lines(f"others.{language}.txt")[: 1000 - len(pairs)]
    for first in range(0, len(others), 100):
        await make_document(app, project, *others[first : first + 100])
    await make_document(app, project, *(answer for _, answer in pairs))
    await settle(app)
    found = 0
    for asked, answer in pairs:
        page = await app.workspace_search.search(SearchRequest(project, asked, Strategy.VECTOR))
        found += answer in [each.found.chunk.text for each in page.results[:5]]
    assert found >= least


async def test_unknown_words_find_nothing_unless_a_document_contains_them(app: App) -> None:
    project = await make_project(app)
    await make_document(app, project, *stories("en")[:200], "The daemon xyzzyd is started at boot.", "林远和旧灯塔")
    await settle(app)
    for strategy in Strategy:
        for query in ("zzqqxx", "xxxxxx", "12345678901", "qwertz"):
            page = await app.workspace_search.search(SearchRequest(project, query, strategy))
            assert (page.results, page.total.count, page.has_more) == ((), 0, False), query
        page = await app.workspace_search.search(SearchRequest(project, "xyzzyd", strategy))
        assert "xyzzyd" in page.results[0].snippet
        page = await app.workspace_search.search(SearchRequest(project, "qwertz 林远", strategy, low_scores=True))
        assert page.results[0].snippet == "林远和旧灯塔"


@pytest.mark.parametrize(("language", "query"), [("en", "the old man at the window"), ("zh", "窗前的老人")])
async def test_the_best_hits_of_a_hybrid_search_are_looked_at_and_explained(
    app: App, language: str, query: str
) -> None:
    project = await make_project(app)
    await make_document(app, project, *stories(language)[:150])
    await settle(app)
    request = SearchRequest(project, query, low_scores=True)
    page = await app.workspace_search.search(request)
    assert len(page.results) > LOOKED_AT
    looked_at = 0
    for result in page.results:
        chunk = result.found.chunk
        why = await app.explainer.explain(request, chunk.document_id or 0, chunk.id)
        looked_at += why.look is not None
        assert why.score.total == pytest.approx(result.score.total, abs=1e-4)
        assert why.score.total == pytest.approx(sum(why.score[:3]), abs=1e-6)
    assert looked_at == LOOKED_AT


async def test_an_unknown_word_finds_only_what_contains_it(app: App) -> None:
    strings = {"a": "A xylophonic tune.", "b": "Version 5.x and x.y", "c": "Der Bote", "d": "龘靐的故事", "e": "数据库"}
    table = await make_table(app, await make_project(app), strings)
    await add_tool(app, table)
    await make_document(app, table.project_id, *strings.values())
    await settle(app)
    for query, expected in (
        ("xylophonic", ["A xylophonic tune."]),
        ("zzqqxx", []),
        ("xxxxxx", []),
        ("龘靐", ["龘靐的故事"]),
    ):
        page = await app.workspace_search.search(SearchRequest(table.project_id, query))
        assert [each.snippet for each in page.results] == expected
        found = await app.table_search.search(SearchRequest(table.project_id, query, table_id=table.id))
        assert [hit.found.chunk.text for hit in found.hits] == expected
        assert all(hit.ranked.score > 0 for hit in found.hits)


async def test_a_hit_of_a_tool_has_the_parts_of_the_second_stage(app: App) -> None:
    table = await make_table(app, await make_project(app), {"a": stories("en")[:60], "b": stories("zh")[:60]})
    await add_tool(app, table)
    await settle(app)
    for query in ("the old man at the window", "窗前的老人"):
        request = SearchRequest(table.project_id, query, table_id=table.id, limit=30)
        hits = (await app.table_search.search(request)).hits
        for hit in hits:
            assert [part.leg for part in hit.ranked.parts] == ["keyword", "vector", "word_similarity", "document"]
            assert hit.ranked.score == pytest.approx(sum(part.share for part in hit.ranked.parts))
        assert 0 < sum(hit.ranked.part("word_similarity").norm > 0 for hit in hits) <= LOOKED_AT
