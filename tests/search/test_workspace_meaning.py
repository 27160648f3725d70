"""Semantic search with the offline model among a thousand paragraphs that lack the words of the query."""

import pytest

from findspot.app import App
from findspot.search import SearchRequest, Strategy
from tests.embedding.test_meaning import ITS_WORDS, LONELY, lines, stories
from tests.flows import make_document, make_project, settle


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
        for query in ("zzqqxx", "12345678901", "qwertz"):
            page = await app.workspace_search.search(SearchRequest(project, query, strategy))
            assert (page.results, page.total.count, page.has_more) == ((), 0, False), query
        page = await app.workspace_search.search(SearchRequest(project, "xyzzyd", strategy))
        assert "xyzzyd" in page.results[0].snippet
        page = await app.workspace_search.search(SearchRequest(project, "qwertz 林远", strategy, low_scores=True))
        assert page.results[0].snippet == "林远和旧灯塔"
