"""Rankings, which are values, and the cursors that keep them."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from findspot.engines.protocol import Recall
from findspot.errors import FindspotError
from findspot.ranking.workspace import Origin, Scored, Shown
from findspot.search import Degradation, SearchRequest
from findspot.search.candidates import Candidates
from findspot.search.folding import listed
from findspot.search.paging import KEPT_S, Cursor, Cursors, Ranking, extended
from findspot.search.request import PAGE_SIZE
from findspot.words import parse

UNAVAILABLE = Degradation("EMBEDDING_UNAVAILABLE")


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def ranking(project_id: int = 1, hits: int = 0, query: str = "heron") -> Ranking:
    request = SearchRequest(project_id, query)
    ids, scores, documents = range(hits), [0.5] * 3 * hits, [1] * hits
    return all_listed(Ranking(request, parse(query), datetime.now(UTC), ids=ids, scores=scores, documents=documents))


def all_listed(ranking: Ranking, texts: Mapping[int, str] | None = None) -> Ranking:
    """Return the ranking with all of its hits examined. `texts` are those of its hits by id."""
    by_place = None if texts is None else {place: texts[id] for place, id in enumerate(ranking.ids)}
    listing = listed(ranking.listing, ranking.documents, by_place, ranking.request.per_document)
    return replace(ranking, listing=listing)


def candidates(degraded: Degradation | None = None) -> Candidates:
    return Candidates(
        limit=200,
        recall=Recall(),
        origins=dict.fromkeys(range(100), Origin(1, datetime.now(UTC))),
        rejected=frozenset({99}),
        full=frozenset(),
        more_full=False,
        matches=0,
        capped=False,
        by_keyword=True,
        by_vector=degraded is None,
        degraded=degraded,
    )


def hits(*ids: int) -> list[Scored[int]]:
    return [Scored(id, *Shown.of(0.3, 0.2, 0.1), has_words=True) for id in ids]


# ── rankings ──


def test_extending_a_ranking_leaves_the_old_one_as_it_was() -> None:
    before = extended(ranking(), candidates(), hits(3, 1, 2), complete=False)
    after = extended(before, candidates(), hits(4, 3), complete=True)
    assert (list(before.ids), before.complete) == ([3, 1, 2], False)
    assert (list(after.ids), after.complete, after.rejected) == ([4, 3, 1, 2], True, {99})
    assert all_listed(after).page(1)[0] == (4, Shown(0.3, 0.2, 0.1, 0.6), 0)


def test_pages_that_were_shown_keep_their_hits() -> None:
    shown = all_listed(extended(ranking(), candidates(), hits(3, 1, 2), complete=False)).with_page(1)
    after = all_listed(extended(shown, candidates(), hits(4, 2), complete=False))
    assert [hit.id for hit in after.page(1)] == [3, 1, 2]
    assert [hit.id for hit in after.with_page(2).page(2)] == [4]
    assert after.with_page(2).with_page(1) == after.with_page(2)


def test_hits_without_vectors_come_after_all_others_until_vectors_rank_them() -> None:
    before = extended(ranking(), candidates(), hits(3, 1), complete=False)
    without = extended(before, candidates(UNAVAILABLE), hits(4, 1), complete=False)
    assert (list(without.ids), without.degraded) == ([3, 1, 4], {4: UNAVAILABLE})
    again = extended(without, candidates(), hits(4, 3, 1), complete=True)
    assert (list(again.ids), again.degraded) == ([4, 3, 1], {})


def test_a_page_ends_after_fifty_hits_or_with_the_last_one() -> None:
    long = ranking(hits=120)
    assert [len(long.page(page)) for page in (1, 2, 3, 4)] == [PAGE_SIZE, PAGE_SIZE, 20, 0]
    assert long.with_page(9).page_ends == (50, 100, 120)
    assert ranking().with_page(1).page_ends == ()


# ── cursors ──


def kept(cursors: Cursors, project_id: int = 1, hits: int = 0) -> Cursor:
    cursor = Cursor(ranking(project_id, hits))
    cursors.keep(cursor)
    return cursor


def is_kept(cursors: Cursors, cursor: Cursor) -> bool:
    try:
        return cursors.find(cursor.ranking.request, cursor.token(2)) == (cursor, 2)
    except FindspotError:
        return False


def test_a_cursor_belongs_to_one_project_and_one_request() -> None:
    cursors = Cursors()
    cursor = kept(cursors)
    assert is_kept(cursors, cursor)
    with pytest.raises(FindspotError, match="is unknown"):
        cursors.find(SearchRequest(2, "heron"), cursor.token(2))
    with pytest.raises(FindspotError, match="another search"):
        cursors.find(SearchRequest(1, "crane"), cursor.token(2))
    slower = SearchRequest(1, "heron", timeout_s=60)
    assert cursors.find(slower, cursor.token(3)) == (cursor, 3)


@pytest.mark.parametrize("page", ["", ".", ".0", ".x", ".-1", ".²", ".123456789"])
def test_a_token_without_a_page_number_is_unknown(page: str) -> None:
    cursors = Cursors()
    with pytest.raises(FindspotError, match="is unknown"):
        cursors.find(SearchRequest(1, "heron"), kept(cursors).name + page)


def test_a_cursor_expires_five_minutes_after_its_last_use() -> None:
    clock = Clock()
    cursors = Cursors(clock)
    cursor = kept(cursors)
    for _ in range(3):
        clock.now += KEPT_S - 1
        assert is_kept(cursors, cursor)
    clock.now += KEPT_S
    assert not is_kept(cursors, cursor)
    assert len(cursors) == 0


def test_the_least_recently_used_cursors_of_a_project_are_evicted_first() -> None:
    weight = ranking(hits=100).weight
    cursors = Cursors(max_weight=10 * weight, max_project_weight=3 * weight)
    other = kept(cursors, 2, 100)
    first, second, third = (kept(cursors, 1, 100) for _ in range(3))
    assert is_kept(cursors, first)
    fourth = kept(cursors, 1, 100)
    assert [is_kept(cursors, each) for each in (first, second, third, fourth, other)] == [True, False, True, True, True]


def test_a_ranking_that_has_grown_is_weighed_again() -> None:
    weight = ranking(hits=100).weight
    cursors = Cursors(max_weight=3 * weight)
    first, second = kept(cursors, 1, 100), kept(cursors, 1, 10)
    second.ranking = ranking(hits=300)
    cursors.keep(second)
    assert not is_kept(cursors, first)  # the project would hold too much
    huge = kept(cursors, 1, 10_000)
    assert not is_kept(cursors, huge)


def test_the_project_that_searched_least_recently_loses_its_cursors_when_all_hold_too_much() -> None:
    weight = ranking(hits=100).weight
    cursors = Cursors(max_weight=3 * weight)
    one, two, three = (kept(cursors, project, 100) for project in (1, 2, 3))
    assert is_kept(cursors, one)
    four = kept(cursors, 4, 100)
    assert [is_kept(cursors, each) for each in (one, two, three, four)] == [True, False, True, True]
