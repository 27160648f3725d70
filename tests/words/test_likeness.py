"""How alike two texts are, by their character 5-grams after folding."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from findspot.words.likeness import Grams, containment, first_alike, fold_texts

ENGLISH = "The lighthouse keeper lit his lantern at dusk and watched the ferry cross the bay until the lamp burned low."
CHINESE = (
    "黄昏时分，守塔人点亮了灯笼，望着渡船慢慢地驶过海湾，直到灯火渐渐熄灭，他才回到屋里，写下当天的日记，"
    "然后安静地睡去，第二天清晨又准时醒来，把塔里的每一盏灯都仔细地擦过一遍。"
)
TRADITIONAL = (
    "黃昏時分，守塔人點亮了燈籠，望著渡船慢慢地駛過海灣，直到燈火漸漸熄滅，他才回到屋裡，寫下當天的日記，"
    "然後安靜地睡去，第二天清晨又準時醒來，把塔裡的每一盞燈都仔細地擦過一遍。"
)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (ENGLISH, ENGLISH.upper()),
        (ENGLISH, ENGLISH.replace(" ", "  \n")),
        (CHINESE, TRADITIONAL.replace("望著", "望着")),
        ("Ｆｕｌｌ　ｗｉｄｔｈ １２", "full width 12"),
        ("cafe\u0301 🏮", "CAFÉ 🏮"),
        ("ﬁnd 電腦", "find 电脑"),
    ],
)
def test_spellings_of_the_same_words_are_folded_into_one(one: str, other: str) -> None:
    first, second = fold_texts([one, other])
    assert first == second
    assert first_alike([first, second]) == [0, 0]
    assert containment(one, other) == 1.0


@pytest.mark.parametrize("blank", [" ", "  ", "\n", "\t", "\x1c", "\x85", "\xa0", "\u2003", "\u2028", "\u3000"])
def test_any_white_space_is_folded_into_one_space(blank: str) -> None:
    for one, other in (("The heron", "waits"), ("苍鹭", "等待"), ("Café", "苍鹭")):
        plain, spaced = fold_texts([f"{one} {other}", f"{blank}{one}{blank}{other}{blank}"])
        assert plain == spaced


@pytest.mark.parametrize(
    ("text", "edited"),
    [(ENGLISH, ENGLISH.replace("dusk", "dawn")), (CHINESE, CHINESE.replace("日记", "故事")), (CHINESE, CHINESE + "。")],
)
def test_a_long_text_with_a_small_edit_is_nearly_identical(text: str, edited: str) -> None:
    assert first_alike(fold_texts([text, "something else", edited])) == [0, 1, 0]


@pytest.mark.parametrize(
    ("text", "other"),
    [
        (f"{ENGLISH} Since version 3.4.", f"{ENGLISH} Since version 3.5."),
        (f"{CHINESE}第12章。", f"{CHINESE}第13章。"),
        (ENGLISH, ENGLISH + " " + CHINESE),
        (ENGLISH, CHINESE),
        ("The lamp is lit.", "The lamp was lit."),
        ("点亮了灯笼", "点亮了灯塔"),
        ("🏮", "🏯"),
        ("", "a"),
    ],
)
def test_texts_with_other_numbers_lengths_or_words_are_different(text: str, other: str) -> None:
    assert first_alike(fold_texts([text, other])) == [0, 1]


def test_texts_are_like_the_first_of_their_kind() -> None:
    texts = [ENGLISH, CHINESE, ENGLISH.replace("dusk", "dawn"), TRADITIONAL, ENGLISH.lower(), "", ""]
    assert first_alike(fold_texts(texts)) == [0, 1, 0, 1, 0, 5, 5]
    assert first_alike([]) == []


def test_containment_is_the_share_of_a_text_that_is_in_another() -> None:
    assert containment(ENGLISH, f"Before. {ENGLISH} After.") == 1.0
    assert containment(TRADITIONAL[:15], f"「{CHINESE}」") == 1.0
    assert 0.4 < containment(ENGLISH + " " + ENGLISH[::-1], ENGLISH) < 0.6
    assert containment(ENGLISH, CHINESE) == 0.0
    assert (containment("灯", CHINESE), containment("Lit", ENGLISH), containment("狗", CHINESE)) == (1.0, 1.0, 0.0)
    assert (containment("", ENGLISH), containment(ENGLISH, "")) == (0.0, 0.0)


@given(st.lists(st.text("ab 灯燈1\x1f\u0301", max_size=60), max_size=8))
def test_equal_texts_are_always_alike_and_the_first_is_alike_to_itself(texts: list[str]) -> None:
    folded = fold_texts(texts)
    assert len(folded) == len(texts)
    firsts = first_alike(folded)
    for position, first in enumerate(firsts):
        assert first <= position
        assert firsts[first] == first
        assert folded.index(folded[position]) >= first


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("The tide follows the moon across the bay. " * 2, "The tide follows the moon across the bay. ", True),
        ("潮汐随着月亮涨落，臺灣的漁船都知道。" * 4, "潮汐随着月亮涨落，台湾的渔船都知道。" * 3, True),
        ("The tide follows the moon across the bay at 9.", "The tide follows the moon across the bay at 8.", False),
        ("short text", "SHORT  text", True),
        ("short text", "short texts", False),
        ("A heron stands in the reeds and waits for a fish.", "Bread is baked at dawn in the village oven.", False),
    ],
)
def test_texts_repeat_each_other_if_one_contains_the_other(one: str, other: str, expected: bool) -> None:
    assert Grams(one).repeat(Grams(other)) == Grams(other).repeat(Grams(one)) == expected
