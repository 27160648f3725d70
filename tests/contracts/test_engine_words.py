"""Contract of Engine: which chunks a keyword query matches, and in which order."""

from __future__ import annotations

from dataclasses import replace

import pytest

from findspot.engines.protocol import Engine, Source, Within, Words
from findspot.words import query_terms
from tests.contracts.engines import DOCUMENTS, KNOW_THEIR_TERMS, MODEL, TABLE, batch, direction, words


def test_chunks_with_rarer_words_and_shorter_chunks_come_first(engine: Engine) -> None:
    texts = {1: "common word", 2: "common rare", 3: "common word and many other things beside it", 4: "common 词语"}
    engine.write(TABLE, MODEL, batch(texts))
    recall = engine.recall(TABLE, words("common rare"), None, limit=10)
    assert list(recall.keyword) == [2, 1, 4, 3] or list(recall.keyword) == [2, 4, 1, 3]
    assert list(recall.keyword.values()) == sorted(recall.keyword.values(), reverse=True)
    assert recall.keyword[1] > recall.keyword[3]


def test_words_may_be_required_or_excluded(engine: Engine) -> None:
    texts = {1: "red apple", 2: "green apple", 3: "red pear", 4: "红 苹果", 5: "red apple pie"}
    engine.write(TABLE, MODEL, batch(texts))

    def ids(*any_of: str, all_of: tuple[str, ...] = (), none_of: tuple[str, ...] = ()) -> set[int]:
        return set(engine.recall(TABLE, Words(any_of, all_of, none_of), None, limit=10).keyword)

    assert ids("red", "appl") == {1, 2, 3, 5}
    assert ids("red", "green", all_of=("appl",)) == {1, 2, 5}
    assert ids(all_of=("red", "appl")) == {1, 5}
    assert ids("green", all_of=("red",)) == {1, 3, 5}
    assert ids("red", "appl", none_of=("pie", "green")) == {1, 3}
    assert ids("苹果", "red", none_of=("appl",)) == {3, 4}
    assert ids("nowhere") == set()


def test_a_word_counts_once_even_if_the_query_repeats_it(engine: Engine) -> None:
    engine.write(TABLE, MODEL, batch({1: "red apple", 2: "green pear"}))
    once = engine.recall(TABLE, Words(("red",)), None, limit=10).keyword
    for repeated in (Words(("red", "red")), Words(("red",), ("red",)), Words((), ("red",))):
        assert engine.recall(TABLE, repeated, None, limit=10).keyword == pytest.approx(once)


def test_a_prefix_counts_as_one_word(engine: Engine) -> None:
    texts = {1: "search", 2: "season", 3: "seldom", 4: "中文 搜索", 5: "arch"} | dict.fromkeys(range(6, 20), "other")
    engine.write(TABLE, MODEL, batch(texts))
    assert set(engine.recall(TABLE, Words(prefix="sea"), None, limit=10).keyword) == {1, 2}
    assert set(engine.recall(TABLE, Words(prefix="搜"), None, limit=10).keyword) == {4}
    both = engine.recall(TABLE, Words(("arch",), prefix="sea"), None, limit=10).keyword
    assert set(both) == {1, 2, 5}
    assert both[1] == pytest.approx(both[2], rel=1e-4)
    assert engine.recall(TABLE, Words(prefix="zz"), None, limit=10).keyword == {}
    assert set(engine.recall(TABLE, Words(prefix="zz", stems=("arch", "none")), None, limit=10).keyword) == {5}
    combined = engine.recall(TABLE, Words(prefix="sea", stems=("arch",)), None, limit=10).keyword
    assert combined == pytest.approx(dict.fromkeys((1, 2, 5), combined[1]), rel=1e-4)
    assert set(engine.recall(TABLE, Words(prefix="sea", none_of=("season",)), None, limit=10).keyword) == {1}


def test_full_matches_come_first_whatever_their_score(engine: Engine) -> None:
    texts = dict.fromkeys(range(1, 30), "harbour harbour harbour") | dict.fromkeys(range(30, 60), "keeper keeper")
    texts |= {60: "harbour keeper " + "and much else " * 40, 61: "harbour lighthouse"}
    engine.write(DOCUMENTS, MODEL, batch(texts, sources=[Source(document_id=id % 2) for id in texts]))
    both = query_terms("harbour keeper")
    query = Words(any_of=both, full_match=both)
    for vector in (None, direction(3)):
        recall = engine.recall(DOCUMENTS, query, vector, limit=10)
        assert (next(iter(recall.keyword)), len(recall.keyword)) == (60, 10)
        assert (recall.full_matches, recall.more_full_matches) == ({60}, False)
        plain = engine.recall(DOCUMENTS, replace(query, full_match=()), vector, limit=100).keyword
        assert recall.keyword == pytest.approx({id: plain[id] for id in recall.keyword})
        others = engine.recall(DOCUMENTS, query, vector, limit=10, within=Within(document_ids=frozenset({1})))
        assert (others.full_matches, others.more_full_matches) == (set(), False)


def test_a_recall_says_if_there_may_be_more_full_matches_than_the_limit(engine: Engine) -> None:
    engine.write(TABLE, MODEL, batch(dict.fromkeys(range(1, 30), "harbour keeper") | {30: "harbour"}))
    both = query_terms("harbour keeper")
    recall = engine.recall(TABLE, Words(any_of=both, full_match=both), direction(20), limit=10)
    assert recall.more_full_matches
    assert recall.full_matches == {id for id in recall.keyword.keys() | recall.vector.keys() if id != 30}


def test_a_full_match_has_the_word_that_is_being_typed(engine: Engine) -> None:
    engine.write(TABLE, MODEL, batch({1: "old keeper", 2: "the old keepers", 3: "old tower", 4: "keeper", 5: "old"}))
    for typed, expected in (("keep", {1, 2}), ("keepers", {1, 2}), ("tow", {3}), ("x", set())):
        terms = query_terms(f"old {typed}")
        query = Words(any_of=terms, prefix=typed, typed=terms[1:], full_match=("old",))
        assert engine.recall(TABLE, query, None, limit=10).full_matches == expected


def test_variants_count_as_the_term_they_belong_to(engine: Engine) -> None:
    engine.write(TABLE, MODEL, batch({1: "nodejs runs", 2: "node.js runs", 3: "runs", 4: "開發 runs", 5: "开发"}))
    (plain,), (dotted,) = query_terms("nodejs"), [term for term in query_terms("node.js") if "." in term]
    spelt = ((plain, (dotted,)),)
    assert set(engine.recall(TABLE, Words((plain,)), None, limit=10).keyword) == {1}
    either = Words((plain, "run"), variants=spelt, full_match=(plain, "run"))
    recall = engine.recall(TABLE, either, None, limit=10)
    assert set(recall.keyword) == {1, 2, 3, 4}
    assert recall.full_matches == {1, 2}
    assert recall.keyword[2] > recall.keyword[3]
    assert engine.count(TABLE, Words(all_of=(plain,), variants=spelt)) == 2
    chinese = Words(("研发",), variants=(("研发", ("开发",)),))
    assert set(engine.recall(TABLE, chinese, None, limit=10).keyword) == {4, 5}


@pytest.mark.parametrize("reopen", KNOW_THEIR_TERMS, indirect=True)
def test_the_terms_of_an_index_are_known_with_their_frequencies(engine: Engine) -> None:
    assert engine.frequencies(TABLE, ["red"]) == {}
    engine.write(TABLE, MODEL, batch({1: "red apple red", 2: "red appliance", 3: "apply 苹果", 4: "蘋果"}))
    assert engine.frequencies(TABLE, ["red", "苹果", "nowhere", ""]) == {"red": 2, "苹果": 2}
    assert (engine.frequencies(TABLE, [], prefix="app") or {}).keys() == {"appl", "applianc", "appli"}
    assert engine.frequencies(TABLE, ["red"], prefix="zz") == {"red": 2}
    assert engine.frequencies(DOCUMENTS, ["red"], prefix="r") == {}


def test_an_engine_that_does_not_know_its_terms_returns_none(engine: Engine) -> None:
    engine.write(TABLE, MODEL, batch({1: "red apple 苹果"}))
    assert engine.frequencies(TABLE, ["red", "苹果"]) in ({"red": 1, "苹果": 1}, None)
