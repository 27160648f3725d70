"""Passages are found by what they mean, without the words of the question: the offline model among 1,000 paragraphs."""

from pathlib import Path

import numpy as np
import pytest

from findspot.embedding.offline import OfflineEmbedder

FIXTURES = Path(__file__).parent.parent / "fixtures" / "meaning"


def lines(name: str) -> list[str]:
    return (FIXTURES / name).read_text(encoding="utf-8").splitlines()


def ranking(offline: OfflineEmbedder, question: str, paragraphs: list[str]) -> list[int]:
    """The paragraphs' numbers, the nearest first."""
    return list(map(int, np.argsort(-(offline.documents(paragraphs) @ offline.query(question)), kind="stable")))


@pytest.mark.parametrize(
    ("language", "question", "words", "among_five"),
    [
        ("zh", "角色内心的孤独与迷茫", ("孤独", "迷茫"), 4),
        ("en", "a character's inner loneliness and feeling lost", ("lonel", "alone", "character", "lost"), 5),
    ],
)
def test_paragraphs_about_loneliness_are_found_though_they_lack_the_word(
    offline: OfflineEmbedder, language: str, question: str, words: tuple[str, ...], among_five: int
) -> None:
    lonely, others = lines(f"lonely.{language}.txt"), lines(f"others.{language}.txt")
    assert len(lonely + others) == 1000
    assert not [text for text in lonely if any(word in text.lower() for word in words)]
    first = ranking(offline, question, others + lonely)[:5]
    assert sum(number >= len(others) for number in first) >= among_five


@pytest.mark.parametrize("line", lines("questions.tsv"), ids=lambda line: line.split("\t")[0])
def test_a_chinese_question_finds_the_english_paragraph_that_answers_it(offline: OfflineEmbedder, line: str) -> None:
    question, answer = line.split("\t")
    others = lines("others.en.txt") + [each.split("\t")[1] for each in lines("questions.tsv") if each != line]
    assert ranking(offline, question, [*others, answer])[0] == len(others)
