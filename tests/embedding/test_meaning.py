"""The offline model finds paragraphs by meaning, among 1,000, without a word of the question in them."""

from itertools import product
from pathlib import Path

import numpy as np
import pytest

from findspot.embedding.offline import OfflineEmbedder

FIXTURES = Path(__file__).parent.parent / "fixtures" / "meaning"
LONELY = {"zh": "角色内心的孤独与迷茫", "en": "a character's inner loneliness and feeling lost"}
ITS_WORDS = {
    "zh": ("角色", "内心", "孤", "独", "迷", "茫"),
    "en": ("character", "inner", "lonel", "lone", "feeling", "lost", "lose"),
}


def lines(name: str) -> list[str]:
    return (FIXTURES / name).read_text(encoding="utf-8").splitlines()


def stories(language: str) -> list[str]:
    """Return 988 paragraphs: of each of 26 scenes, 38 combinations of a beginning, a middle and an end."""
    scenes = (FIXTURES / f"scenes.{language}.txt").read_text(encoding="utf-8").strip().split("\n\n")
    found = []
    for scene in scenes:
        ways = list(product(*(line.split(" / ") for line in scene.splitlines())))
        found += [("" if language == "zh" else " ").join(ways[5 * number % len(ways)]) for number in range(38)]
    assert len(set(found)) == 988
    return found


def ranking(offline: OfflineEmbedder, question: str, paragraphs: list[str]) -> list[int]:
    """Return the numbers of the paragraphs, nearest first."""
    return list(map(int, np.argsort(-(offline.documents(paragraphs) @ offline.query(question)), kind="stable")))


@pytest.mark.parametrize("language", ["zh", "en"])
def test_the_paragraphs_about_loneliness_contain_no_word_of_the_question(language: str) -> None:
    lonely = lines(f"lonely.{language}.txt")
    assert len(lonely) == 12
    assert [(word, text) for word in ITS_WORDS[language] for text in lonely if word in text.lower()] == []


@pytest.mark.scenario("004.embedding.finds-meaning")
@pytest.mark.parametrize(("asked_in", "written_in"), list(product(["zh", "en"], repeat=2)))
def test_four_of_the_first_five_paragraphs_are_about_loneliness_without_the_word(
    offline: OfflineEmbedder, asked_in: str, written_in: str
) -> None:
    lonely, others = lines(f"lonely.{written_in}.txt"), stories(written_in)
    assert len(lonely + others) == 1000
    first = ranking(offline, LONELY[asked_in], others + lonely)[:5]
    assert sum(number >= len(others) for number in first) >= 4


@pytest.mark.parametrize("line", lines("questions.tsv"), ids=lambda line: line.split("\t")[0])
def test_a_chinese_question_finds_the_english_paragraph_that_answers_it(offline: OfflineEmbedder, line: str) -> None:
    question, answer = line.split("\t")
    answers = [each.split("\t")[1] for each in lines("questions.tsv") if each != line]
    technical, others = lines("others.en.txt") + answers, stories("en") + answers
    assert ranking(offline, question, [*technical, answer])[0] == len(technical)
    assert len(others) in ranking(offline, question, [*others, answer])[:10]
