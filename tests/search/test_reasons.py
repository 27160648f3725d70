"""The explanation of a score as a sentence."""

import re
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from findspot.search.reasons import Reasons, sentence

WHY = Reasons(["lit", "lantern"], (2, 3), (0, 0), 0.3, 2, 0.8, 0.28, 1, timedelta(days=3), 0.09, 0.67, False)


def test_the_sentence_names_words_meaning_age_and_total() -> None:
    assert sentence(WHY, "en") == (
        "It contains 2 of 3 words (“lit”, “lantern”, rank 2 by keyword), which adds 0.30; its meaning is close to the "
        "query (0.80, rank 1), which adds 0.28; it was changed 3 days ago, which adds 0.09. Total: 0.67."
    )
    assert sentence(WHY, "zh") == (
        "命中 3 个词中的 2 个（“lit”“lantern”，关键词排名第 2），计 0.30 分；"
        "与查询语义相近（0.80，语义排名第 1），计 0.28 分；"
        "3 天前更新，计 0.09 分。合计 0.67 分。"
    )


@given(st.floats(0, 0.55), st.floats(0, 0.35), st.floats(0, 0.1))
def test_the_parts_of_a_sentence_add_up_to_its_total(keyword: float, vector: float, recency: float) -> None:
    total = keyword + vector + recency
    why = replace(WHY, keyword=keyword, vector=vector, recency=recency, total=total)
    for language, part in (("en", r"adds (\d\.\d\d)"), ("zh", r"，计 (\d\.\d\d) 分")):
        shown = [float(each) for each in re.findall(part, sentence(why, language))]
        assert round(sum(shown), 2) == float(f"{total:.2f}")
        assert all(abs(each - exact) < 0.01 for each, exact in zip(shown, (keyword, vector, recency), strict=True))


@pytest.mark.parametrize(
    ("words", "characters", "english", "chinese"),
    [
        ((1, 1), (0, 0), "the one word (", "命中唯一的词（"),
        ((2, 2), (0, 0), "both words (", "命中全部 2 个词（"),
        ((3, 3), (0, 0), "all 3 words (", "命中全部 3 个词（"),
        ((0, 0), (1, 1), "the one character (", "命中唯一的字（"),
        ((0, 0), (4, 5), "4 of 5 characters (", "命中 5 个字中的 4 个（"),
        ((1, 2), (5, 5), "1 of 2 words and all 5 characters (", "命中 2 个词中的 1 个、全部 5 个字（"),
        ((1, 1), (4, 5), "the one word and 4 of 5 characters (", "命中唯一的词、5 个字中的 4 个（"),
        ((0, 1), (2, 2), "both characters but no word (", "命中全部 2 个字，未命中任何词（"),
        ((1, 1), (0, 2), "the one word but no character (", "命中唯一的词，未命中任何字（"),
        ((0, 1), (0, 0), "part of a word (", "命中词的一部分（"),
    ],
)
def test_words_and_characters_are_counted_separately(
    words: tuple[int, int], characters: tuple[int, int], english: str, chinese: str
) -> None:
    why = replace(WHY, words=words, characters=characters)
    assert sentence(why, "en").startswith(f"It contains {english}“lit”")
    assert sentence(why, "zh").startswith(f"{chinese}“lit”")


def test_missing_parts_are_mentioned() -> None:
    nothing = replace(WHY, matches=[], similarity=None, keyword_rank=None, vector_rank=None, hidden=True)
    down = replace(nothing, without_meaning=True)
    assert sentence(down, "en").startswith("It contains no word of the query; the search by meaning was not possible; ")
    assert sentence(down, "en").endswith("That is below 0.25, so a hybrid search hides it.")
    assert sentence(down, "zh").startswith("未命中任何关键词；无法进行语义检索；")
    characters = replace(nothing, words=(0, 0), characters=(0, 4))
    assert sentence(characters, "en").startswith("It contains no character of the query; it was changed ")
    far = replace(WHY, similarity=0.1, vector_rank=None, age=timedelta(hours=5))
    assert "its meaning is far from the query (0.10), which adds" in sentence(far, "en")
    assert "与查询语义相去较远（0.10），计" in sentence(far, "zh")
    assert "it was changed today" in sentence(far, "en")
    assert "今天更新" in sentence(far, "zh")


def test_meaning_is_not_mentioned_if_there_is_nothing_to_compare() -> None:
    mute = replace(WHY, similarity=None)
    assert sentence(mute, "en").startswith("It contains 2 of 3 words (“lit”, “lantern”, rank 2 by keyword), which adds")
    assert "0.30; it was changed 3 days ago" in sentence(mute, "en")
    assert "0.30 分；3 天前更新" in sentence(mute, "zh")


def test_an_excluded_passage_is_explained_as_excluded() -> None:
    why = replace(WHY, hidden=True, left_out=True)
    assert sentence(why, "en").endswith(
        "Total: 0.67. A search excludes it: it lacks a phrase of the query, or contains an excluded word."
    )
    assert sentence(why, "zh").endswith("合计 0.67 分。检索不显示此段：缺少查询要求的短语，或含有查询排除的词。")


def test_missing_words_are_named() -> None:
    why = replace(WHY, missing=["lamp", "灯塔"])
    assert "; it lacks “lamp”, “灯塔”; its meaning" in sentence(why, "en")
    assert "；缺少“lamp”“灯塔”；与查询" in sentence(why, "zh")
