"""A score in a sentence."""

from dataclasses import replace
from datetime import timedelta

from findspot.reasons import Reasons, sentence

WHY = Reasons(["lit", "lantern"], 3, 0.3, 2, 0.8, 0.28, 1, timedelta(days=3), 0.09, 0.67, False)


def test_a_sentence_says_words_meaning_age_and_the_total() -> None:
    assert sentence(WHY, "en") == (
        "It has 2 of 3 words (“lit”, “lantern”, rank 2 by keyword), which counts 0.30; its meaning is close to the "
        "query (0.80, rank 1), which counts 0.28; it was changed 3 days ago, which counts 0.09. Together 0.67."
    )
    assert sentence(WHY, "zh") == (
        "命中 3 个词中的 2 个（“lit”“lantern”，关键词排名第 2），计 0.30 分；"
        "与查询语义相近（0.80，语义排名第 1），计 0.28 分；"
        "3 天前更新，计 0.09 分。合计 0.67 分。"
    )


def test_what_is_missing_is_said_too() -> None:
    nothing = replace(WHY, matched=[], similarity=None, keyword_rank=None, vector_rank=None, hidden=True)
    assert sentence(nothing, "en").startswith("It has none of the words; the search by meaning was not possible; ")
    assert sentence(nothing, "en").endswith("That is under 0.25, so a hybrid search hides it.")
    assert sentence(nothing, "zh").startswith("未命中任何关键词；无法进行语义检索；")
    far = replace(WHY, similarity=0.1, vector_rank=None, age=timedelta(hours=5))
    assert "its meaning is another (0.10), which counts" in sentence(far, "en")
    assert "it was changed today" in sentence(far, "en")
    assert "今天更新" in sentence(far, "zh")
