"""Contract of Engine: titles, headings and names count beside the text."""

from __future__ import annotations

from dataclasses import replace

import pytest

from findspot.engines.protocol import NAME_WEIGHT, Batch, ContextTerms, Engine, Words
from findspot.words import query_terms, terms
from tests.contracts.engines import MODEL, TABLE, Reopen, batch, direction

FILLER = dict.fromkeys(range(100, 160), "something else entirely 完全不同的内容")


def joined(text: str) -> str:
    return " ".join(terms(text))


def with_contexts(texts: dict[int, str], contexts: dict[int, tuple[str, str, str]]) -> Batch:
    """Chunks with these texts, and the title, the headings and the name of some of them."""
    found = [ContextTerms(*map(joined, contexts.get(id, ("", "", "")))) for id in texts]
    return replace(batch(texts), contexts=found)


def asked(text: str) -> Words:
    found = query_terms(text)
    return Words(any_of=found, named=found, full_match=found)


def best(engine: Engine, words: Words, limit: int = 10) -> dict[int, float]:
    return dict(engine.recall(TABLE, words, None, limit=limit).keyword)


@pytest.mark.parametrize(("word", "text"), [("harbour", "The harbour at night"), ("港口", "港口的夜晚")])
def test_a_title_or_heading_with_a_word_raises_what_matches_and_matches_nothing_alone(
    engine: Engine, word: str, text: str
) -> None:
    texts = {1: text, 2: text, 3: text, 4: "nothing of the kind 别的"} | FILLER
    contexts = {1: ("", "", ""), 2: (word, "", ""), 3: ("", word, ""), 4: (word, word, "")}
    engine.write(TABLE, MODEL, with_contexts(texts, contexts))
    found = best(engine, asked(word))
    assert set(found) == {1, 2, 3}
    assert min(found[2], found[3]) > found[1]
    assert engine.count(TABLE, asked(word)) == 3
    assert best(engine, Words(all_of=query_terms(word))) == pytest.approx(found)
    exhaustive = best(engine, asked(word), limit=5000)
    assert exhaustive == pytest.approx(found, rel=1e-4)
    also = engine.recall(TABLE, asked(word), direction(1), limit=1, also=[1, 2, 3, 4])
    assert {**also.keyword, **also.keyword_also} == pytest.approx(found, rel=1e-4)


@pytest.mark.parametrize("title", ["pep-0675", "红楼梦", "Node.js 入门"])
def test_a_chunk_named_by_every_word_comes_before_texts_that_repeat_them(engine: Engine, title: str) -> None:
    mention = f"{title} {title} {title} {title} {title}"
    texts = {1: mention, 2: "first of the document 第一段", 3: "second of it 第二段"} | FILLER
    engine.write(TABLE, MODEL, with_contexts(texts, {2: (title, "", title), 3: (title, "", "")}))
    for limit in (1, 10, 5000):
        found = engine.recall(TABLE, asked(title), None, limit=limit)
        assert next(iter(found.keyword)) == 2
        assert 2 in found.full_matches
    assert set(best(engine, asked(title))) == {1, 2}
    assert engine.count(TABLE, asked(title)) == 2
    partly = query_terms(f"{title} nowhere")
    assert set(best(engine, Words(any_of=partly, named=partly))) == {1}


def test_the_score_of_a_name_is_the_weight_of_its_words(engine: Engine) -> None:
    engine.write(TABLE, MODEL, with_contexts({1: "text", 2: "harbour"} | FILLER, {1: ("", "", "harbour")}))
    once = best(engine, Words(any_of=("harbour",)))
    found = best(engine, asked("harbour"))
    assert found[2] == pytest.approx(once[2], rel=1e-4)
    assert found[1] > found[2]
    assert found[1] < NAME_WEIGHT * 6


def test_names_respect_phrases_exclusions_and_words_that_are_being_typed(engine: Engine) -> None:
    texts = {1: "old stone 石头", 2: "stone"} | FILLER
    engine.write(TABLE, MODEL, with_contexts(texts, {1: ("Tide tables 潮汐表", "", "Tide tables 潮汐表")}))
    assert set(best(engine, asked("tide"))) == {1}
    assert best(engine, replace(asked("tide"), none_of=("stone",))) == {}
    assert best(engine, Words(any_of=("tide",), all_of=("tide",), named=("tide",))) == {}
    assert set(best(engine, Words(prefix="tab"))) == {1}
    assert set(best(engine, Words(any_of=("tide",), named=("tide",), prefix="tab", full_match=("tide",)))) == {1}
    assert best(engine, Words(named=("tide",), prefix="zz")) == {}


def test_a_full_match_may_have_some_words_in_its_name(engine: Engine) -> None:
    texts = {1: "the keeper 看守人", 2: "keeper keeper"} | FILLER
    engine.write(TABLE, MODEL, with_contexts(texts, {1: ("Harbour", "", "Harbour"), 2: ("Harbour", "", "")}))
    found = engine.recall(TABLE, asked("harbour keeper"), direction(2), limit=10)
    assert found.full_matches == {1}


def test_a_new_context_replaces_the_old_one(reopen: Reopen) -> None:
    engine = reopen()
    engine.write(TABLE, MODEL, with_contexts({1: "text"} | FILLER, {1: ("Old 旧", "", "Old 旧")}))
    engine.write(TABLE, MODEL, with_contexts({1: "text"}, {1: ("New 新", "", "New 新")}))
    engine = reopen()
    assert (best(engine, asked("old")), best(engine, asked("旧"))) == ({}, {})
    assert set(best(engine, asked("new"))) == set(best(engine, asked("新"))) == {1}
