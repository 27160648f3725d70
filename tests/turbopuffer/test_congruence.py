"""Both engines answer the same calls alike: hits and their order, vectors, counts, filters, errors and degradation."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa
from pydantic import SecretStr

from findspot.app import App, open_app
from findspot.engines.embedded.engine import EmbeddedEngine
from findspot.engines.protocol import (
    Batch,
    ContextTerms,
    DimensionMismatch,
    Engine,
    Recall,
    Source,
    Vectors,
    Within,
    Words,
)
from findspot.engines.turbopuffer import queries
from findspot.errors import FindspotError
from findspot.models import documents_namespace
from findspot.retrieval.request import EditingContext, RetrievalRequest
from findspot.search.request import DocumentFilter, SearchRequest, Strategy
from findspot.settings import Settings
from findspot.store.schema import documents
from findspot.words import query_terms, terms
from tests import flows
from tests.contracts.engines import DIMENSION, DOCUMENTS, MODEL
from tests.turbopuffer.engines import ServiceEngines, shared_stand_in

CHUNKS = 400
TIE = 0.04  # tantivy rounds the lengths of texts, so scores that differ by less may change places
_ENGLISH = "harbour keeper lantern storm tide vessel rope anchor gull night signal fog ledger captain crew cargo"
WORDS = [*_ENGLISH.split(), *"港口 守夜人 灯笼 风暴 潮汐 船只 绳索 早晨 信号 船长".split()]  # noqa: SIM905
QUERIES = [
    "harbour",
    "harbour keeper",
    "fog signal night",
    "港口",
    "守夜人 灯笼",
    "storm 风暴",
    "nowhere",
    "captain 船长",
]


def _vectors(count: int, seed: int) -> Vectors:
    """Unit vectors around some centres, as those of texts are."""
    chance = np.random.default_rng(seed)
    centres = chance.normal(size=(12, DIMENSION))
    found = centres[chance.integers(12, size=count)] + chance.normal(scale=0.6, size=(count, DIMENSION))
    return np.asarray(found / np.linalg.norm(found, axis=1, keepdims=True), np.float32)


def _chunks() -> Batch:
    chance = random.Random(5)
    common = WORDS + WORDS[:4] * 6  # some words are in most chunks
    texts = [" ".join(chance.choices(common, k=chance.randint(5, 60))) for _ in range(CHUNKS)]
    title = ["Harbour log", "风暴 日志", "", "Crew"]
    contexts = [
        ContextTerms(" ".join(terms(title[id % 4])), " ".join(terms(WORDS[id % len(WORDS)]))) for id in range(CHUNKS)
    ]
    return Batch(
        list(range(CHUNKS)),
        [f"d{id}" for id in range(CHUNKS)],
        [Source(id % 9, f"/a/{id % 5}/{id}", 300, 50 * (id % 2), id) for id in range(CHUNKS)],
        [" ".join(terms(text)) for text in texts],
        _vectors(CHUNKS, 1),
        contexts,
    )


@pytest.fixture(scope="module")
def engines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Engine, Engine]]:
    """The embedded engine and turbopuffer, with the same chunks."""
    opened = EmbeddedEngine(tmp_path_factory.mktemp("index")), ServiceEngines(batch_size=100).open()
    for engine in opened:
        engine.write(DOCUMENTS, MODEL, _chunks())
    yield opened
    for engine in opened:
        engine.close()


def same_order(one: Recall, other: Recall) -> None:
    """The same chunks and, among full matches and among the others, none before one that scores clearly more in the
    other engine."""
    assert one.keyword.keys() == other.keyword.keys()
    assert one.full_matches == other.full_matches
    for first, second in ((one, other), (other, one)):
        for before, after in pairwise(first.keyword):
            if (before in first.full_matches) == (after in first.full_matches):
                assert second.keyword[before] >= second.keyword[after] * (1 - TIE), (before, after)
            else:
                assert before in first.full_matches


KEYWORD_QUERIES = {
    **{query: Words(any_of=query_terms(query)) for query in QUERIES},
    "full matches first": Words(any_of=query_terms("fog ledger 港口"), full_match=query_terms("fog ledger 港口")),
    "a phrase": Words(any_of=query_terms("gull rope"), all_of=query_terms("gull rope")),
    "an exclusion": Words(any_of=query_terms("cargo 船只"), none_of=query_terms("harbour")),
    "another spelling": Words(any_of=("vessel",), variants=(("vessel", query_terms("ledger")),)),
}


@pytest.mark.parametrize("query", KEYWORD_QUERIES)
@pytest.mark.parametrize(
    "within",
    [Within(), Within("/a/3"), Within(cut=(300, 50)), Within(least_length=200), Within(document_ids=frozenset({2, 7}))],
    ids=["everywhere", "pointer", "cut", "length", "documents"],
)
def test_keywords_find_the_same_chunks_in_the_same_order(
    engines: tuple[Engine, Engine], query: str, within: Within
) -> None:
    words = KEYWORD_QUERIES[query]
    ours, theirs = (engine.recall(DOCUMENTS, words, None, limit=CHUNKS, within=within) for engine in engines)
    same_order(ours, theirs)
    assert {**ours.documents} == {**theirs.documents}
    assert engines[0].count(DOCUMENTS, words, within) == engines[1].count(DOCUMENTS, words, within) == len(ours.keyword)


def test_a_filter_with_many_documents_is_asked_in_parts_that_answer_like_one(
    engines: tuple[Engine, Engine], monkeypatch: pytest.MonkeyPatch
) -> None:
    within = Within("/a", document_ids=frozenset({0, 1, 2, 4, 6, 8, 10_000}))
    words, vector = Words(any_of=query_terms("harbour 港口"), full_match=query_terms("harbour 港口")), _vectors(1, 3)[0]
    whole, counted = (
        engines[1].recall(DOCUMENTS, words, vector, limit=15, within=within, also=[1, 5], count_to=1000),
        engines[0].count(DOCUMENTS, words, within),
    )
    monkeypatch.setattr(queries, "LEAST_RANGE", 2)
    for most in (1, 3):
        monkeypatch.setattr(queries, "MAX_IDS", most)
        assert len(queries.filters(within)) > 1
        parts = engines[1].recall(DOCUMENTS, words, vector, limit=15, within=within, also=[1, 5], count_to=1000)
        assert parts == whole
        assert parts.matches == engines[1].count(DOCUMENTS, words, within) == counted
    ours = engines[0].recall(DOCUMENTS, words, None, limit=CHUNKS, within=within)
    same_order(ours, engines[1].recall(DOCUMENTS, words, None, limit=CHUNKS, within=within))


def test_scores_of_keywords_are_the_same_up_to_rounding(engines: tuple[Engine, Engine]) -> None:
    for words in KEYWORD_QUERIES.values():
        ours, theirs = (engine.recall(DOCUMENTS, words, None, limit=CHUNKS).keyword for engine in engines)
        assert theirs == pytest.approx(ours, rel=2 * TIE)


def test_a_word_that_is_being_typed_finds_the_same_chunks(engines: tuple[Engine, Engine]) -> None:
    """The scores differ: turbopuffer gives every completion the same."""
    for prefix, before in (("har", "fog"), ("港", ""), ("zz", "")):
        words = Words(any_of=query_terms(before), prefix=prefix, full_match=query_terms(before))
        ours, theirs = (engine.recall(DOCUMENTS, words, None, limit=CHUNKS) for engine in engines)
        assert ours.keyword.keys() == theirs.keyword.keys()
        assert ours.full_matches == theirs.full_matches


def test_vectors_recall_what_an_exact_search_does(engines: tuple[Engine, Engine]) -> None:
    held, asked = _chunks().vectors, _vectors(30, 2)
    for engine in engines:
        shares = []
        for vector in asked:
            exact = set(np.argsort(-(held @ vector))[:10].tolist())
            found = list(engine.recall(DOCUMENTS, None, vector, limit=10).vector)
            shares.append(len(exact & set(found)) / 10)
        assert np.mean(shares) >= 0.95


def test_both_engines_score_what_only_one_leg_found(engines: tuple[Engine, Engine]) -> None:
    vector = _vectors(1, 3)[0]
    words = Words(any_of=query_terms("harbour 港口"))
    ours, theirs = (
        engine.recall(DOCUMENTS, words, vector, limit=20, also=[1, 2, 3, 999], count_to=1000) for engine in engines
    )
    assert {**theirs.vector, **theirs.vector_also}.keys() >= {1, 2, 3}
    for one, other in ((ours.vector, theirs.vector), (ours.vector_also, theirs.vector_also)):
        shared = one.keys() & other.keys()
        assert len(shared) >= 5
        assert {id: one[id] for id in shared} == pytest.approx({id: other[id] for id in shared}, abs=0.03)
    assert theirs.matches == engines[0].count(DOCUMENTS, words)


def test_both_engines_raise_the_same_errors(engines: tuple[Engine, Engine]) -> None:
    for engine in engines:
        with pytest.raises(DimensionMismatch):
            engine.recall(DOCUMENTS, None, np.ones(3, np.float32), limit=5)
        with pytest.raises(ValueError, match="other model"):
            engine.write(DOCUMENTS, "other model", _chunks())
        assert not engine.recall("project_9_documents", Words(("x",)), None, limit=5).exists


# ── the product ──

PARAGRAPHS = [
    "The keeper of the lighthouse wrote a letter about the storm.",
    "A storm took the roof of the old library last winter.",
    "守夜人在灯塔里写了一封关于风暴的信。",
    "去年冬天的风暴掀翻了老图书馆的屋顶。",
    "Bread and salt were shared at the harbour in the morning.",
    "清晨，人们在港口分享面包和盐。",
    "The captain counted the cargo twice and signed the ledger.",
    "船长清点了两次货物，并在账本上签了字。",
]
ASKED: list[dict[str, Any]] = [
    {"query": "storm"},
    {"query": "风暴 图书馆"},
    {"query": "lighthouse keeper letter", "strategy": Strategy.KEYWORD},
    {"query": "who counted the goods"},
    {"query": "清点货物", "strategy": Strategy.VECTOR},
    {"query": '"old library"'},
    {"query": '"旧图书馆" storm'},
    {"query": "storm -library"},
    {"query": "lighth", "typing": True},
    {"query": "light-house keeper"},  # also `lighthouse`
    {"query": "harbour", "within": Within(document_ids=frozenset({2, 3}))},
    {"query": "nothing like this 不存在的词", "strategy": Strategy.KEYWORD},
]


async def both(settings: Settings, closing: AsyncExitStack) -> tuple[App, App]:
    """Two installations with the same documents: one embedded, one on the stand-in."""
    standin = shared_stand_in()
    service = {
        "engine": "turbopuffer",
        "turbopuffer_api_key": SecretStr(standin.api_key),
        "turbopuffer_base_url": standin.url,
        "data": settings.data / "remote",
    }
    apps = []
    for each in (settings, settings.model_copy(update=service)):
        app = await closing.enter_async_context(open_app(each))
        project = await flows.make_project(app)
        for number in range(4):
            first = 2 * number
            await flows.make_document(
                app, project, *PARAGRAPHS[first : first + 2], *PARAGRAPHS[:2], title=f"第{number} log"
            )
        await flows.settle(app)
        apps.append(app)
    return apps[0], apps[1]


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
async def test_searches_of_documents_have_the_same_hits(settings: Settings) -> None:
    async with AsyncExitStack() as closing:
        apps = await both(settings, closing)
        for asked in ASKED:
            pages = [await app.workspace_search.search(SearchRequest(1, low_scores=True, **asked)) for app in apps]
            ours, theirs = ([each.found.chunk.id for each in page.results] for page in pages)
            assert ours == theirs, asked
            assert pages[0].total == pages[1].total, asked
            assert (pages[0].degraded, pages[0].without_phrases) == (pages[1].degraded, pages[1].without_phrases)
            for one, other in zip(pages[0].results, pages[1].results, strict=True):
                assert one.score.total == pytest.approx(other.score.total, abs=0.05), asked
                assert (one.snippet, one.highlights) == (other.snippet, other.highlights)


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
async def test_what_somebody_writes_about_is_retrieved_by_its_words(settings: Settings) -> None:
    """turbopuffer does not know which words are rare, so it is asked for all words of the sentence."""
    async with AsyncExitStack() as closing:
        apps = await both(settings, closing)
        for sentence, word in (("They feared another storm in winter.", "storm"), ("他们害怕另一场风暴。", "风暴")):
            request = RetrievalRequest(1, context=EditingContext(4, sentence, ""), min_score=0.0)
            for app in apps:
                found = await app.retriever.retrieve(request)
                assert word in found.selected.chosen[0].passage.text
                assert found.selected.chosen[0].passage.words


NOW = datetime(2026, 5, 17, 12, tzinfo=UTC)
FILTERS = [
    DocumentFilter(types=frozenset({"note"})),
    DocumentFilter(path_prefix="手册/"),
    DocumentFilter(path_prefix="guide/", types=frozenset({"note", "chapter"})),
    DocumentFilter(updated_after=NOW - timedelta(days=2)),
    DocumentFilter(updated_before=NOW - timedelta(days=2), types=frozenset({"chapter"})),
    DocumentFilter(path_prefix="nowhere/"),
]


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
async def test_filters_have_the_same_hits_and_totals_right_after_a_rename(settings: Settings) -> None:
    """Path, type and date are those of the store, so a change counts before the index worker has heard of it."""
    places = ["guide/a.md", "guide/b.md", "手册/甲.md", "手册/乙.md"]
    async with AsyncExitStack() as closing:
        apps = await both(settings, closing)
        answered = []
        for paths in (places, [*places[2:], *places[:2]]):  # as imported, and renamed
            for app in apps:
                await _describe(app, paths)
            for filter in FILTERS:
                for query in ("storm", "风暴 图书馆", "who counted the goods"):
                    request = SearchRequest(1, query, low_scores=True, documents=filter)
                    pages = [await app.workspace_search.search(request) for app in apps]
                    ours, theirs = ([each.found.chunk.id for each in page.results] for page in pages)
                    assert ours == theirs, (filter, query)
                    assert pages[0].total == pages[1].total, (filter, query)
                    answered.append(ours)
        half = len(answered) // 2
        assert answered[:half] != answered[half:]  # the renamed documents are found elsewhere
        assert [bool(each) for each in answered[:half]] == [True] * (half - 3) + [False] * 3


async def _describe(app: App, paths: Sequence[str]) -> None:
    """Give the documents other paths, types and dates, as an import or plain SQL does."""
    async with app.store.write() as connection:
        await connection.execute(sa.update(documents).values(path=None))
        for number, path in enumerate(paths):
            values = {"path": path, "type": ("note", "chapter")[len(path) % 2], "updated_at": NOW - timedelta(number)}
            await connection.execute(sa.update(documents).where(documents.c.id == number + 1).values(values))


@pytest.mark.fake_embedder
@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
async def test_a_search_without_an_embedder_degrades_alike(settings: Settings, embedder: flows.FakeEmbedder) -> None:
    async with AsyncExitStack() as closing:
        apps = await both(settings, closing)
        embedder.query_error = FindspotError("EMBEDDING_UNAVAILABLE", "The service is unavailable.")
        pages = [await app.workspace_search.search(SearchRequest(1, "storm 风暴", low_scores=True)) for app in apps]
        assert [page.degraded.code if page.degraded else None for page in pages] == ["EMBEDDING_UNAVAILABLE"] * 2
        assert [each.found.chunk.id for each in pages[0].results] == [each.found.chunk.id for each in pages[1].results]
        kinds = [app.engine.kind(documents_namespace(1)) for app in apps]
        assert kinds[0] == kinds[1] == (embedder.fingerprint, embedder.dimension)
