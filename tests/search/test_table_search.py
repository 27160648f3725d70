"""A search: what it finds, what it no longer shows, and how it degrades, on both databases."""

import asyncio
import threading
from dataclasses import replace
from typing import Any

import pytest
import sqlalchemy as sa

from findspot.app import App
from findspot.embedding.protocol import refused
from findspot.engines.protocol import Damaged, Recall, Within
from findspot.errors import FindspotError
from findspot.indexing.status import Problem
from findspot.models import Table, documents_namespace, table_namespace
from findspot.ranking.fusion import Weights
from findspot.runtime.limits import SEARCHES
from findspot.search import Degradation, SearchRequest, Strategy
from findspot.store import index_states as states
from findspot.store.schema import chunks, documents, index_states, tables
from tests import flows
from tests.flows import PARAGRAPHS, Telling, add_tool, make_document, make_project, make_table, search, settle, texts

pytestmark = pytest.mark.telling


@pytest.fixture
async def document(app: App, project: int) -> Any:
    made = await make_document(app, project, *PARAGRAPHS)
    await settle(app)
    return made


async def hold(app: App) -> None:
    """Let the index follow nothing from here on."""
    await settle(app)
    await app.index_worker.close()


# ── what is found ──


async def test_words_find_what_holds_them(app: App, document: Any) -> None:
    found = await search(app, document, "swimming pool", strategy=Strategy.KEYWORD)
    assert [hit.found.chunk.text for hit in found.hits] == [PARAGRAPHS[3], PARAGRAPHS[4]]
    assert (found.keyword_count, found.vector_count, found.degraded) == (2, 0, None)
    assert await texts(app, document, "图书馆", strategy=Strategy.KEYWORD) == [PARAGRAPHS[2]]
    assert await texts(app, document, "停車場", strategy=Strategy.KEYWORD) == [PARAGRAPHS[4]]


async def test_meaning_alone_is_ranked_by_its_cosines(app: App, document: Any) -> None:
    found = await search(app, document, PARAGRAPHS[1], strategy=Strategy.VECTOR)
    assert found.hits[0].found.chunk.text == PARAGRAPHS[1]
    assert found.hits[0].ranked.part("vector").raw == pytest.approx(1, abs=0.01)
    assert found.hits[0].ranked.part("keyword").share == 0
    assert (found.keyword_count, found.vector_count) == (0, 5)


@pytest.mark.parametrize("fusion", ["convex", "rrf"])
async def test_the_parts_of_every_score_add_up(app: App, document: Any, fusion: str) -> None:
    found = await search(app, document, "library pool", fusion=fusion, weights=Weights(2, 1))
    assert len(found.hits) > 2
    for hit in found.hits:
        assert hit.ranked.score == pytest.approx(sum(part.share for part in hit.ranked.parts))
        assert sum(part.weight for part in hit.ranked.parts) == pytest.approx(1)
    scores = [hit.ranked.score for hit in found.hits]
    assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize("mode", [Strategy.KEYWORD, Strategy.HYBRID])
async def test_a_phrase_must_stand_there_and_what_is_excluded_must_not(app: App, document: Any, mode: Strategy) -> None:
    assert await texts(app, document, '"swimming pool"', strategy=mode) == [PARAGRAPHS[3]]
    assert await texts(app, document, '"pool swimming"', strategy=mode) == []
    assert await texts(app, document, "「免費辦理」", strategy=mode) == [PARAGRAPHS[2]]
    without = await texts(app, document, "library -pool", strategy=mode)
    assert set(without[:2]) == {PARAGRAPHS[0], PARAGRAPHS[1]}
    assert not [text for text in without if "pool" in text.lower()]
    assert PARAGRAPHS[3] not in await texts(app, document, 'pool -"swimming pool"', strategy=mode)


async def test_a_word_is_found_while_it_is_typed(app: App, document: Any) -> None:
    assert await texts(app, document, "swi", typing=True) == [PARAGRAPHS[3]]
    assert (await texts(app, document, "cards resi", typing=True))[0] == PARAGRAPHS[1]
    assert await texts(app, document, "swi") == []
    assert await texts(app, document, "swi ", typing=True) == []


async def test_the_limit_and_the_scope_are_kept(app: App, project: int) -> None:
    table = await make_table(app, project, {"a": {"x": "red fox", "y": "red dog"}, "ab": "red cat"})
    await add_tool(app, table)
    await settle(app)
    assert sorted(await texts(app, table, "red", within=Within(pointer="/a"))) == ["red dog", "red fox"]
    assert len(await texts(app, table, "red", limit=1)) == 1
    assert await texts(app, table, "red", within=Within(least_length=99)) == []


async def test_hits_that_overlap_by_half_are_shown_once(app: App, project: int) -> None:
    long = " ".join(f"Sentence {number} speaks of herons." for number in range(40))
    table = await make_table(app, project, {"a": long})
    await add_tool(app, table, chunk_size=400, chunk_overlap=0)
    await add_tool(app, table, chunk_size=200, chunk_overlap=0)
    await settle(app)
    hits = (await search(app, table, "herons", limit=50, strategy=Strategy.KEYWORD)).hits
    assert len(await flows.rows(app)) > len(hits) > 1
    for place, hit in enumerate(hits):
        for better in hits[:place]:
            one, other = hit.found.chunk, better.found.chunk
            shared = min(one.char_end, other.char_end) - max(one.char_start, other.char_start)
            assert shared < (one.char_end - one.char_start) / 2


@pytest.mark.parametrize("mode", list(Strategy))
@pytest.mark.parametrize("query", ["", "  \n\t", "\u3000"])
async def test_a_blank_query_finds_nothing(app: App, document: Any, query: str, mode: Strategy) -> None:
    found = await search(app, document, query, strategy=mode)
    assert (found.hits, found.degraded) == ((), None)


@pytest.mark.parametrize("mode", list(Strategy))
async def test_any_text_is_a_query(app: App, document: Any, mode: Strategy) -> None:
    for query in ("the", "的", "-", '"', "-pool", "!?…", "🚗", "e\u0301", "\0", "AND OR NOT *:?", "「」"):
        found = await search(app, document, query, strategy=mode)
        assert found.degraded is None, query
    assert PARAGRAPHS[0] in await texts(app, document, "the")


@pytest.mark.parametrize("mode", list(Strategy))
async def test_a_query_of_a_hundred_thousand_characters_is_answered(app: App, document: Any, mode: Strategy) -> None:
    words = " ".join(f"word{number}" for number in range(12_000))
    query = ("library pool 圖書館 " + words)[:100_000]
    found = await search(app, document, query, strategy=mode, timeout_s=60)
    assert found.degraded is None
    assert found.hits


async def test_a_project_without_an_index_finds_nothing(app: App, project: int) -> None:
    found = await app.table_search.search(SearchRequest(project, "anything"))
    assert (found.hits, found.degraded) == ((), None)


# ── what is no longer shown ──


async def test_a_chunk_whose_row_is_gone_is_not_shown(app: App, document: Any) -> None:
    await hold(app)
    async with app.store.write() as connection:
        await connection.execute(sa.delete(chunks).where(chunks.c.chunk_index == 3))
    assert await texts(app, document, "swimming pool", strategy=Strategy.KEYWORD) == [PARAGRAPHS[4]]


async def test_a_chunk_of_another_namespace_is_not_shown_whatever_the_engine_says(app: App, document: Any) -> None:
    other = await make_document(app, await make_project(app), "private notes")
    await settle(app)
    (row,) = await flows.rows(app, document_id=other.id)
    flows.watched(app).instead["recall"] = lambda *_, **__: Recall(keyword={row.id: 5.0})
    assert await texts(app, other, "private", strategy=Strategy.KEYWORD) == ["private notes"]
    assert await texts(app, document, "private", strategy=Strategy.KEYWORD) == []


async def test_a_document_is_shown_one_revision_behind_and_not_two(app: App, document: Any) -> None:
    await hold(app)
    for expected in ([PARAGRAPHS[3], PARAGRAPHS[4]], []):
        async with app.store.write() as connection:
            await connection.execute(sa.update(documents).values(revision=documents.c.revision + 1))
        assert await texts(app, document, "swimming pool", strategy=Strategy.KEYWORD) == expected
    await app.index_worker.start()
    await settle(app)
    assert await texts(app, document, "swimming pool", strategy=Strategy.KEYWORD) == [PARAGRAPHS[3], PARAGRAPHS[4]]


@pytest.fixture
async def table(app: App, project: int) -> Table:
    made = await make_table(app, project, {"a": {"x": "red fox"}, "ab": "red dog", "list": ["red cat", "red owl"]})
    await add_tool(app, made)
    await settle(app)
    return made


async def test_a_table_changed_two_revisions_ago_hides_hits_only_where_it_was_changed(app: App, table: Table) -> None:
    await hold(app)
    everything = {"red fox", "red dog", "red cat", "red owl"}
    await app.tables.put(table.id, "/a/x", b'"blue fox"', None)
    assert set(await texts(app, table, "red")) == everything
    await app.tables.put(table.id, "/b", b'"new"', None)
    assert set(await texts(app, table, "red")) == everything - {"red fox"}
    patch = b'[{"op": "remove", "path": "/list/0"}]'
    await app.tables.patch(table.id, patch, None)
    assert set(await texts(app, table, "red")) == everything - {"red fox"}
    await app.tables.put(table.id, "/c", b'"new"', None)
    assert set(await texts(app, table, "red")) == {"red dog"}
    await app.index_worker.start()
    await settle(app)
    assert set(await texts(app, table, "red")) == {"red dog", "red owl"}


async def test_a_table_of_which_a_change_was_not_noted_shows_nothing_old(app: App, table: Table) -> None:
    """A change that came before the first chunks were known is noted nowhere."""
    await hold(app)
    async with app.store.write() as connection:
        await connection.execute(sa.update(tables).values(revision=tables.c.revision + 1))
    assert len(await texts(app, table, "red")) == 4
    await app.tables.put(table.id, "/b", b'"new"', None)
    assert await texts(app, table, "red") == []


async def test_a_change_that_names_no_place_counts_as_one_of_everything(app: App, table: Table) -> None:
    await hold(app)
    async with app.store.write() as connection:
        for revision in (2, 3):
            await connection.execute(sa.update(tables).values(revision=revision))
            await states.note_changes(connection, table.id, revision, [])
    assert await texts(app, table, "red") == []


async def test_changes_that_the_index_has_followed_are_forgotten(app: App, table: Table) -> None:
    from findspot.store.schema import changes

    await app.tables.put(table.id, "/b", b'"new"', None)
    await settle(app)
    async with app.store.read() as connection:
        assert (await connection.execute(sa.select(changes))).all() == []


async def test_a_deleted_table_shows_nothing_at_once(app: App, table: Table) -> None:
    await hold(app)
    await app.tables.delete(table.id)
    assert await texts(app, table, "red") == []


# ── degrading ──


@pytest.mark.parametrize("code", ["EMBEDDING_UNAVAILABLE", "EMBEDDING_DIMENSION_MISMATCH"])
async def test_without_an_embedder_words_are_found_and_the_answer_says_so(
    app: App, document: Any, embedder: Telling, code: str
) -> None:
    embedder.query_error = FindspotError(code, "not now")
    found = await search(app, document, "swimming pool")
    assert [hit.found.chunk.text for hit in found.hits] == [PARAGRAPHS[3], PARAGRAPHS[4]]
    assert (found.degraded, found.vector_count) == (Degradation(code), 0)
    for hit in found.hits:
        assert hit.ranked.score == pytest.approx(hit.ranked.part("keyword").share)
    with pytest.raises(FindspotError) as caught:
        await search(app, document, "swimming pool", strategy=Strategy.VECTOR)
    assert caught.value.code == code
    assert (await search(app, document, "swimming pool", strategy=Strategy.KEYWORD)).degraded is None


async def test_a_service_that_is_away_is_not_asked_what_kind_of_vectors_it_makes(
    app: App, document: Any, embedder: Telling, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def kind(self: Telling) -> str:
        asked.append(self)
        return "one"

    monkeypatch.setattr(Telling, "fingerprint", property(kind), raising=False)
    embedder.query_error = FindspotError("EMBEDDING_UNAVAILABLE", "not now")
    for _ in range(3):
        found = await search(app, document, "swimming pool")
        assert (found.degraded, len(found.hits)) == (Degradation("EMBEDDING_UNAVAILABLE"), 2)
    assert asked == []


async def test_an_index_that_is_slow_to_say_what_it_holds_costs_the_meaning_and_not_the_answer(
    app: App, document: Any
) -> None:
    opened, late = threading.Event(), []

    def slow(namespace: str) -> Any:
        late.append(opened.wait(flows.PATIENCE_S))
        return flows.watched(app).engine.status(namespace)

    flows.watched(app).instead["status"] = slow
    found = await search(app, document, "swimming pool", timeout_s=0.05)
    assert late == []
    opened.set()
    assert (found.degraded, len(found.hits)) == (Degradation("SEARCH_TIMEOUT"), 2)


async def test_a_query_vector_of_another_length_than_the_index_holds_is_left_out(
    app: App, document: Any, embedder: Telling
) -> None:
    embedder.dimension = 32
    found = await search(app, document, "swimming pool")
    assert (found.degraded, len(found.hits)) == (Degradation("EMBEDDING_DIMENSION_MISMATCH"), 2)


async def test_an_index_that_is_switched_after_it_was_looked_at_is_asked_for_words(
    app: App, document: Any, embedder: Telling
) -> None:
    held = app.engine.status(documents_namespace(document.project_id))
    flows.watched(app).instead["status"] = lambda _: replace(held, dimension=32)  # a moment ago
    embedder.dimension = 32
    found = await search(app, document, "swimming pool")
    assert (found.degraded, len(found.hits)) == (Degradation("EMBEDDING_DIMENSION_MISMATCH"), 2)
    with pytest.raises(FindspotError) as caught:
        await search(app, document, "swimming pool", strategy=Strategy.VECTOR)
    assert caught.value.code == "EMBEDDING_DIMENSION_MISMATCH"


async def test_a_query_that_the_embedder_refuses_is_answered_by_words_and_others_keep_their_meaning(
    app: App, document: Any, embedder: Telling
) -> None:
    embedder.query_error = refused(0, "what it says of 'swimming pool'")
    found = await search(app, document, "swimming pool")
    assert [hit.found.chunk.text for hit in found.hits] == [PARAGRAPHS[3], PARAGRAPHS[4]]
    assert found.degraded == Degradation("EMBEDDING_UNAVAILABLE")
    with pytest.raises(FindspotError) as caught:
        await search(app, document, "swimming pool", strategy=Strategy.VECTOR)
    assert caught.value.body() == {
        "code": "EMBEDDING_UNAVAILABLE",
        "message": "The embedder refuses this query.",
    }
    embedder.query_error = None
    assert (await search(app, document, "library cards")).degraded is None


async def test_a_hybrid_search_that_takes_too_long_answers_with_words(app: App, document: Any) -> None:
    found = await search(app, document, "swimming pool", timeout_s=0)
    assert [hit.found.chunk.text for hit in found.hits] == [PARAGRAPHS[3], PARAGRAPHS[4]]
    assert found.degraded == Degradation("SEARCH_TIMEOUT")
    for mode in (Strategy.KEYWORD, Strategy.VECTOR):
        with pytest.raises(FindspotError) as caught:
            await search(app, document, "swimming pool", timeout_s=0, strategy=mode)
        assert caught.value.code == "SEARCH_TIMEOUT"


async def test_a_deadline_stops_the_engine_between_two_slices(app: App, document: Any) -> None:
    slices = []

    def recall(namespace: str, words: Any, vector: Any, *, stop: Any, **more: Any) -> Any:
        while vector is not None:
            slices.append(1)
            stop()
        return flows.watched(app).engine.recall(namespace, words, vector, stop=stop, **more)

    flows.watched(app).instead["recall"] = recall
    found = await search(app, document, "swimming pool", timeout_s=0.2)
    assert slices
    assert (len(found.hits), found.degraded) == (2, Degradation("SEARCH_TIMEOUT"))


@pytest.mark.parametrize("call", ["recall", "status"])
async def test_a_damaged_index_says_when_to_come_again_and_is_healed(app: App, document: Any, call: str) -> None:
    damages = iter([Damaged("a file is gone")])

    def damaged(*arguments: Any, **more: Any) -> Any:
        for damage in damages:
            raise damage
        return getattr(flows.watched(app).engine, call)(*arguments, **more)

    built: list[str] = []

    def build(namespace: str, *more: Any) -> Any:
        built.append(namespace)
        return flows.watched(app).engine.files.build(namespace, *more)

    flows.watched(app).instead |= {call: damaged, "build": build}
    with pytest.raises(FindspotError) as caught:
        await search(app, document, "swimming pool")
    assert (caught.value.code, caught.value.fields) == ("INDEX_REBUILDING", {"retryAfterMs": 1000})
    await settle(app)
    assert built == [documents_namespace(document.project_id)]
    assert (await texts(app, document, "swimming pool"))[0] == PARAGRAPHS[3]


async def test_an_engine_that_is_away_is_told_as_such_in_answers_and_in_the_status(app: App, document: Any) -> None:
    def away(*_: Any, **__: Any) -> Any:
        raise FindspotError("ENGINE_UNAVAILABLE", "The index cannot be used right now: Too many open files.")

    flows.watched(app).instead |= {"recall": away, "status": away}
    for mode in Strategy:
        with pytest.raises(FindspotError) as caught:
            await search(app, document, "swimming pool", strategy=mode)
        assert caught.value.code == "ENGINE_UNAVAILABLE"
    (report,) = await app.index_status.of_project(document.project_id)
    assert (report.status, report.chunks, report.vectors) == ("error", len(PARAGRAPHS), 0)
    assert report.errors == ("ENGINE_UNAVAILABLE: The index cannot be used right now: Too many open files.",)


# ── many at once ──


async def test_of_120_searches_at_once_64_are_answered_and_56_are_refused_at_once(app: App, document: Any) -> None:
    release = threading.Event()

    def slow(*arguments: Any, **more: Any) -> Any:
        assert release.wait(flows.PATIENCE_S)
        return flows.watched(app).engine.recall(*arguments, **more)

    flows.watched(app).instead["recall"] = slow
    asked = [asyncio.create_task(search(app, document, "pool", timeout_s=60)) for _ in range(120)]
    refused = 0
    while refused < 120 - SEARCHES:  # they come back though not one of the others can
        await asyncio.sleep(0)
        refused = sum(each.done() for each in asked)
    errors = [each.exception() for each in asked if each.done()]
    assert len(errors) == 56
    for error in errors:
        assert isinstance(error, FindspotError)
        assert (error.code, error.fields) == ("SEARCH_BACKPRESSURE", {"retryAfterMs": 200})
    elsewhere = app.table_search.search(SearchRequest(await make_project(app), ""))
    assert (await elsewhere).hits == ()
    release.set()
    answers = [await each for each in asked if not each.done() or each.exception() is None]
    assert len(answers) == 64
    assert all(len(each.hits) > 1 and each.degraded is None for each in answers)
    assert (await search(app, document, "pool")).hits


async def test_searches_find_all_the_while_their_index_is_rebuilt(app: App, project: int, embedder: Telling) -> None:
    table = await make_table(app, project, [f"heron number {number}" for number in range(500)])
    await add_tool(app, table)
    await settle(app)
    namespace = table_namespace(project, table.id)
    app.index_status.report(namespace, Problem.WRONG_FINGERPRINT)
    seen = 0
    while not await app.index_status.is_at_rest():
        found = await search(app, table, "heron", strategy=Strategy.KEYWORD)
        assert len(found.hits) == 10
        seen += await app.index_status.is_rebuilding(namespace)
    assert seen
    assert app.engine.status(namespace).chunks == 500


async def test_states_are_never_left_indexing(app: App, project: int) -> None:
    made = [await make_document(app, project, f"number {number}") for number in range(20)]
    await asyncio.gather(*(flows.save(app, each.id, f"changed {each.id}") for each in made))
    await settle(app)
    async with app.store.read() as connection:
        statuses = (await connection.execute(sa.select(index_states.c.status).distinct())).scalars().all()
    assert statuses == ["ready"]
