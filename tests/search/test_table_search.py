"""Table search: its hits, and the chunks that are no longer current. Recall and degradation: test_recall.py."""

import asyncio
import threading
from typing import Any

import pytest
import sqlalchemy as sa

from findspot.app import App
from findspot.embedding.calibration import UNRELATED
from findspot.engines.protocol import Recall, Within
from findspot.errors import FindspotError
from findspot.models import Table, table_namespace
from findspot.ranking.fusion import Weights
from findspot.runtime.limits import SEARCHES
from findspot.search import SearchRequest, Strategy
from findspot.store import index_states as states
from findspot.store.database import LOOKUP_ROWS
from findspot.store.schema import changes, chunks, documents, tables
from tests import flows
from tests.flows import PARAGRAPHS, add_tool, hold, make_document, make_project, make_table, search, settle, texts

pytestmark = pytest.mark.fake_embedder


# ── hits ──


async def test_keywords_find_chunks_that_contain_them(app: App, document: Any) -> None:
    found = await search(app, document, "swimming pool", strategy=Strategy.KEYWORD)
    assert [hit.found.chunk.text for hit in found.hits] == [PARAGRAPHS[3], PARAGRAPHS[4]]
    assert (found.keyword_count, found.vector_count, found.degraded) == (2, 0, None)
    assert await texts(app, document, "图书馆", strategy=Strategy.KEYWORD) == [PARAGRAPHS[2]]
    assert await texts(app, document, "停車場", strategy=Strategy.KEYWORD) == [PARAGRAPHS[4]]


@pytest.mark.one_database
async def test_vectors_alone_rank_by_cosine(app: App, document: Any) -> None:
    found = await search(app, document, f"{flows.TITLE} {PARAGRAPHS[1]}", strategy=Strategy.VECTOR)
    assert found.hits[0].found.chunk.text == PARAGRAPHS[1]
    assert found.hits[0].ranked.part("vector").raw == pytest.approx(1, abs=0.01)
    assert found.hits[0].ranked.part("keyword").share == 0
    assert (found.keyword_count, found.vector_count) == (0, 5)


@pytest.mark.one_database
async def test_the_parts_of_every_score_add_up(app: App, document: Any) -> None:
    for fusion in ("convex", "rrf"):
        found = await search(app, document, "library pool", fusion=fusion, weights=Weights(2, 1))
        assert len(found.hits) > 2
        for hit in found.hits:
            assert hit.ranked.score == pytest.approx(sum(part.share for part in hit.ranked.parts))
            assert sum(part.weight for part in hit.ranked.parts) == pytest.approx(1)
        scores = [hit.ranked.score for hit in found.hits]
        assert scores == sorted(scores, reverse=True)


@pytest.mark.scenario("D42")
@pytest.mark.one_database
@pytest.mark.parametrize("fusion", ["convex", "rrf"])
async def test_in_a_table_quotes_raise_what_contains_them_and_filter_nothing(
    app: App, project: int, fusion: str
) -> None:
    strings = {
        "a": "The pool for swimming: a swimming lesson in the pool, pool swimming",
        "b": "Here is a swimming pool that people from the whole town like to visit in summer",
        "c": "git commit writes a message",
        "d": "游泳池和图书馆，池边游泳，游泳",
        "e": "市民喜歡的圖書館旁邊有一個免費的兒童游泳池，夏天開放",
    }
    table = await make_table(app, project, strings)
    await add_tool(app, table)
    await settle(app)
    english = 'where is the "swimming pool"'
    assert set((await texts(app, table, english, fusion=fusion))[:2]) == {strings["a"], strings["b"]}
    assert (await texts(app, table, english, fusion=fusion))[0] == strings["b"]
    assert (await texts(app, table, "哪里有「兒童游泳池」图书馆", fusion=fusion))[0] == strings["e"]
    nowhere = await texts(app, table, '"pool town summer" “馆书图” swimming', fusion=fusion)
    assert strings["a"] in nowhere
    for query in ("git commit -m message", "git -commit", 'git -"writes a message"'):
        assert (await texts(app, table, query, fusion=fusion))[0] == strings["c"]


@pytest.mark.one_database
async def test_hits_without_a_word_of_the_query_are_related_and_no_score_is_0(app: App, document: Any) -> None:
    for query in ("zebra", "斑马", "library", "the the library", "免费"):
        for strategy in Strategy:
            for hit in (await search(app, document, query, strategy=strategy)).hits:
                assert hit.ranked.score > 0
                cosine = hit.ranked.part("vector").raw or 0.0
                has_words = hit.ranked.part("keyword").raw is not None
                assert has_words or app.embeddings.embedder.calibration.score(cosine) >= UNRELATED


@pytest.mark.one_database
async def test_an_incomplete_word_is_found_only_while_typing(app: App, document: Any) -> None:
    assert await texts(app, document, "swi", typing=True) == [PARAGRAPHS[3]]
    assert (await texts(app, document, "cards resi", typing=True))[0] == PARAGRAPHS[1]
    assert await texts(app, document, "swi") == []
    assert await texts(app, document, "swi ", typing=True) == []


@pytest.mark.scenario("003.search.cut")
@pytest.mark.one_database
async def test_hits_are_within_the_scope_and_the_limit(app: App, project: int) -> None:
    table = await make_table(app, project, {"a": {"x": "red fox", "y": "red dog"}, "ab": "red cat"})
    await add_tool(app, table)
    await settle(app)
    assert sorted(await texts(app, table, "red", within=Within(pointer="/a"))) == ["red dog", "red fox"]
    assert len(await texts(app, table, "red", limit=1)) == 1
    assert await texts(app, table, "red", within=Within(least_length=99)) == []


@pytest.mark.one_database
async def test_of_hits_that_overlap_by_half_only_the_best_is_returned(app: App, project: int) -> None:
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


@pytest.mark.one_database
async def test_any_text_is_a_valid_query(app: App, document: Any) -> None:
    words = " ".join(f"word{number}" for number in range(12_000))
    long = ("library pool 圖書館 " + words)[:100_000]
    for strategy in Strategy:
        for query in ("", "  \n\t", "\u3000"):
            found = await search(app, document, query, strategy=strategy)
            assert (found.hits, found.degraded) == ((), None)
        for query in ("the", "的", "-", '"', "-pool", "!?…", "🚗", "e\u0301", "\0", "AND OR NOT *:?", "「」"):
            assert (await search(app, document, query, strategy=strategy)).degraded is None, query
        found = await search(app, document, long, strategy=strategy, timeout_s=60)
        assert found.degraded is None
        assert found.hits
    assert PARAGRAPHS[0] in await texts(app, document, "the")
    elsewhere = await app.table_search.search(SearchRequest(await make_project(app), "anything"))
    assert (elsewhere.hits, elsewhere.degraded) == ((), None)


# ── chunks that are no longer current ──


@pytest.mark.scenario("003.search.loads-rows")
async def test_a_chunk_without_a_row_is_no_hit(app: App, document: Any) -> None:
    await hold(app)
    async with app.store.write() as connection:
        await connection.execute(sa.delete(chunks).where(chunks.c.chunk_index == 3))
    assert await texts(app, document, "swimming pool", strategy=Strategy.KEYWORD) == [PARAGRAPHS[4]]


@pytest.mark.scenario("003.namespace.isolates")
@pytest.mark.one_database
async def test_a_chunk_of_another_namespace_is_no_hit_even_if_the_engine_returns_it(app: App, document: Any) -> None:
    other = await make_document(app, await make_project(app), "private notes")
    await settle(app)
    (row,) = await flows.rows(app, document_id=other.id)
    flows.watched(app).instead["recall"] = lambda *_, **__: Recall(keyword={row.id: 5.0})
    assert await texts(app, other, "private", strategy=Strategy.KEYWORD) == ["private notes"]
    assert await texts(app, document, "private", strategy=Strategy.KEYWORD) == []


async def test_a_document_may_be_one_revision_ahead_of_the_index_but_not_two(app: App, document: Any) -> None:
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


async def test_a_table_two_revisions_ahead_hides_only_hits_near_its_changes(app: App, table: Table) -> None:
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
    async with app.store.read() as connection:  # the changes that the index has followed are deleted
        assert (await connection.execute(sa.select(changes))).all() == []


async def test_a_change_at_a_key_that_the_database_cannot_index_is_saved_and_followed(app: App, table: Table) -> None:
    for number, key in enumerate(("a\0b", "".join(chr(0x4E00 + at) for at in range(3000))), start=1):
        await app.tables.put(table.id, f"/{key}", b"1", None)
        await app.tables.put(table.id, f"/{key}", b'"blue fox"', None)
        await app.tables.put(table.id, "/ab", f'"red dog {number}"'.encode(), None)
        await settle(app)
        assert set(await texts(app, table, "red")) == {"red fox", f"red dog {number}", "red cat", "red owl"}


@pytest.mark.one_database
async def test_more_changes_than_a_lookup_may_read_hide_every_hit_of_the_table(app: App, table: Table) -> None:
    await hold(app)
    await app.tables.put(table.id, "/b", b'"new"', None)
    await app.tables.put(table.id, "/c", b'"new"', None)
    async with app.store.write() as connection:
        await states.note_changes(connection, table.id, 2, [f"/n{number}" for number in range(LOOKUP_ROWS - 1)])
        await states.note_changes(connection, table.id, 3, [f"/n{number}" for number in range(LOOKUP_ROWS)])
    assert len(await texts(app, table, "red")) == 4  # changes of the newest revision do not count
    async with app.store.write() as connection:
        await states.note_changes(connection, table.id, 2, ["/one/more"])
    assert await texts(app, table, "red") == []


@pytest.mark.one_database
async def test_a_change_that_was_not_recorded_hides_every_hit_of_the_table(app: App, table: Table) -> None:
    """Changes before the first chunks existed are not recorded."""
    await hold(app)
    async with app.store.write() as connection:
        await connection.execute(sa.update(tables).values(revision=tables.c.revision + 1))
    assert len(await texts(app, table, "red")) == 4
    await app.tables.put(table.id, "/b", b'"new"', None)
    assert await texts(app, table, "red") == []


@pytest.mark.one_database
async def test_a_change_recorded_without_a_pointer_hides_every_hit_of_the_table(app: App, table: Table) -> None:
    await hold(app)
    async with app.store.write() as connection:
        for revision in (2, 3):
            await connection.execute(sa.update(tables).values(revision=revision))
            await states.note_changes(connection, table.id, revision, [])
    assert await texts(app, table, "red") == []


@pytest.mark.one_database
async def test_a_deleted_table_has_no_hits(app: App, table: Table) -> None:
    await hold(app)
    await app.tables.delete(table.id)
    assert await texts(app, table, "red") == []


# ── many searches at once ──


@pytest.mark.one_database
@pytest.mark.one_process  # apps of one test do not count together
async def test_of_120_searches_at_once_64_are_answered_and_56_are_refused_immediately(app: App, document: Any) -> None:
    release = threading.Event()

    def slow(*arguments: Any, **more: Any) -> Any:
        assert release.wait(flows.PATIENCE_S)
        return flows.watched(app).engine.recall(*arguments, **more)

    flows.watched(app).instead["recall"] = slow
    asked = [asyncio.create_task(search(app, document, "pool", timeout_s=60)) for _ in range(120)]
    async with asyncio.timeout(flows.PATIENCE_S):
        done, _ = await asyncio.wait(asked, return_when=asyncio.FIRST_COMPLETED)
        while len(done) < 120 - SEARCHES:  # they return although none of the others can
            await asyncio.sleep(0)
            done = {each for each in asked if each.done()}
    errors = [each.exception() for each in done]
    assert len(errors) == 56
    for error in errors:
        assert isinstance(error, FindspotError)
        assert (error.code, error.fields) == ("SEARCH_BACKPRESSURE", {"retryAfterMs": 200})
    elsewhere = asyncio.create_task(app.table_search.search(SearchRequest(await make_project(app), "")))
    await asyncio.sleep(0)
    assert not elsewhere.done()  # another project is not refused
    release.set()
    assert (await elsewhere).hits == ()
    answers = [await each for each in asked if each not in done]
    assert len(answers) == 64
    assert all(len(each.hits) > 1 and each.degraded is None for each in answers)
    assert (await search(app, document, "pool")).hits


@pytest.mark.scenario("D37")
@pytest.mark.one_database
async def test_searches_are_answered_while_the_index_is_rebuilt(app: App, project: int) -> None:
    table = await make_table(app, project, [f"heron number {number}" for number in range(200)])
    await add_tool(app, table)
    await settle(app)
    namespace = table_namespace(project, table.id)
    async with flows.held_rebuild(app, namespace):
        assert await app.index_status.is_rebuilding(namespace)
        assert len(await texts(app, table, "heron")) == 10
    assert not await app.index_status.is_rebuilding(namespace)
    assert len(await texts(app, table, "heron")) == 10
    assert app.engine.status(namespace).chunks == 200
