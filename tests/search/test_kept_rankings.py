"""Rankings that all processes of a server share: encoded, and kept as files or as rows."""

import logging
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from findspot.engines.protocol import Within
from findspot.errors import FindspotError
from findspot.search import Degradation, SearchRequest, kept_rankings
from findspot.search.folding import listed
from findspot.search.kept_rankings import KeptRankings, RankingFiles, RankingRows
from findspot.search.paging import KEPT_S, Cursor, Ranking
from findspot.search.ranking_bytes import decode, encode
from findspot.search.request import DocumentFilter, Sort, Strategy
from findspot.search.shared_cursors import SharedCursors
from findspot.search.total import Total
from findspot.store.database import Store
from findspot.words import parse


class Clock:
    now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def kept(database_url: str | None, tmp_path: Path, clock: Clock) -> AsyncIterator[KeptRankings]:
    """Files where the database is SQLite, and rows on PostgreSQL."""
    if database_url is None:
        yield RankingFiles(tmp_path / "cursors", clock)
        return
    store = await Store.open(database_url, tmp_path / "unused.db")
    yield RankingRows(store, clock)
    await store.close()


def ranking() -> Ranking:
    """A ranking in which no field has its default value."""
    request = SearchRequest(
        1, 'the "grey heron" -crane 苍鹭', Strategy.HYBRID, typing=True, timeout_s=3.5, low_scores=True,
        documents=DocumentFilter(frozenset({"note"}), "a/b", datetime.now(UTC), None), page_size=7, sort=Sort.DATE,
        per_document=2, counts=True,
    )  # fmt: skip
    documents = [1, 1, 2]
    texts = {0: "grey heron", 1: "grey heron", 2: "灰鹭"}
    return Ranking(
        request,
        replace(request.parse(), corrected_text="herons", variants=(("a", ("b", "c")),)),
        datetime.now(UTC),
        Within(document_ids={1, 2, 3}),
        ids=[5, 6, 2**40],
        scores=[0.1] * 9,
        documents=documents,
        listing=listed(Ranking(request, parse(""), datetime.now(UTC)).listing, documents, texts, None),
        page_ends=(1, 2),
        rejected=frozenset({9, 10}),
        looks={5: (0.5, 0.25)},
        limit=200,
        complete=True,
        capped=True,
        total=Total(3, exact=False),
        without_phrases=True,
        degraded={6: Degradation("EMBEDDING_UNAVAILABLE")},
    )


def test_a_ranking_is_the_same_after_it_was_encoded() -> None:
    before = ranking()
    after = decode(encode(before))
    assert encode(after) == encode(before)
    assert (after.request, after.query, after.within) == (before.request, before.query, before.within)
    assert (list(after.ids), list(after.documents)) == ([5, 6, 2**40], [1, 1, 2])
    assert (after.page(1), after.page(2)) == (before.page(1), before.page(2))
    assert (after.rejected, after.looks, after.total) == (before.rejected, before.looks, before.total)
    assert (after.degraded, after.page_ends, after.limit) == (before.degraded, before.page_ends, before.limit)


async def test_a_ranking_is_kept_for_five_minutes_after_its_last_use(kept: KeptRankings, clock: Clock) -> None:
    await kept.put(1, "name", b"first")
    await kept.put(1, "name", b"second")
    for _ in range(3):
        clock.now += KEPT_S - 1
        assert await kept.get(1, "name") == b"second"
    clock.now += KEPT_S + 1
    assert await kept.get(1, "name") is None


async def test_a_ranking_belongs_to_its_project(kept: KeptRankings) -> None:
    await kept.put(1, "name", b"content")
    for project_id, name in ((2, "name"), (1, "other"), (1, "../1/name"), (2, "../1/name"), (1, ""), (1, ".")):
        assert await kept.get(project_id, name) is None


async def test_a_project_keeps_its_latest_rankings_up_to_a_limit(
    kept: KeptRankings, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_rankings, "MAX_PROJECT_BYTES", 3000)
    monkeypatch.setattr(kept_rankings, "SWEEP_BYTES", 1)
    await kept.put(2, "other", bytes(1000))
    for number in range(4):
        clock.now += 1
        await kept.put(1, f"n{number}", bytes(1000))
    clock.now += 1
    assert await kept.get(1, "n1") is not None  # which makes n2 the one that was used least recently
    await kept.put(1, "n4", bytes(1000))
    await kept.put(1, "huge", bytes(3001))
    found = [await kept.get(1, name) is not None for name in ("n0", "n1", "n2", "n3", "n4", "huge")]
    assert found == [False, True, False, True, True, False]
    assert await kept.get(2, "other") is not None


async def test_a_search_is_answered_although_its_ranking_cannot_be_kept(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, logger="findspot")  # whatever level another test has set
    (tmp_path / "cursors").touch()  # where the folder should be
    cursor, cursors = Cursor(ranking()), SharedCursors(RankingFiles(tmp_path / "cursors"))
    await cursors.keep(cursor)
    assert "a search cannot be continued" in caplog.text
    with pytest.raises(FindspotError, match="is unknown"):
        await cursors.find(cursor.ranking.request, cursor.token(2))


async def test_another_process_goes_on_with_a_cursor(kept: KeptRankings) -> None:
    here, there = SharedCursors(kept), SharedCursors(kept)
    cursor = Cursor(ranking())
    await here.keep(cursor)
    found, page = await there.find(cursor.ranking.request, cursor.token(3))
    assert (found.name, page, encode(found.ranking)) == (cursor.name, 3, encode(cursor.ranking))
    with pytest.raises(FindspotError, match="another search"):
        await there.find(replace(cursor.ranking.request, query="other"), cursor.token(3))
    for token in (f"{cursor.name}.0", f"{cursor.name}", "x.2"):
        with pytest.raises(FindspotError, match="is unknown"):
            await there.find(cursor.ranking.request, token)
