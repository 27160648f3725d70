"""How alike two texts are, by their character 5-grams after folding."""

import re
import unicodedata
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from findspot.words.folding import simplified_forms
from findspot.words.likeness import FoldedTexts, Grams, containment, fold_texts
from tests.chunking.texts import texts as any_texts

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
    assert FoldedTexts([one, other]).first_alike() == [0, 0]
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
    assert FoldedTexts([text, "something else", edited]).first_alike() == [0, 1, 0]


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
    assert FoldedTexts([text, other]).first_alike() == [0, 1]


def test_texts_are_like_the_first_of_their_kind() -> None:
    texts = [ENGLISH, CHINESE, ENGLISH.replace("dusk", "dawn"), TRADITIONAL, ENGLISH.lower(), "", ""]
    assert FoldedTexts(texts).first_alike() == [0, 1, 0, 1, 0, 5, 5]
    assert FoldedTexts([]).first_alike() == []


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
    firsts = FoldedTexts(texts).first_alike()
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


# ── the same results as by the definitions, in plain Python ──


def folded_alone(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().translate(simplified_forms()).split())


def gram_hashes(text: str) -> set[int]:
    def mixed(gram: str) -> int:
        factors = (0x9E3779B1, 0xC2B2AE3D, 0x27D4EB2F, 0x165667B1, 0xD6E8FEB9)
        value = sum(ord(each) * factor for each, factor in zip(gram, factors, strict=True)) & 0xFFFFFFFF
        value = (value ^ value >> 15) * 0x85EBCA6B & 0xFFFFFFFF
        return value ^ value >> 16

    return {mixed(text[at : at + 5]) for at in range(len(text) - 4)}


def least_hashes(hashes: set[int]) -> list[int]:
    seeds = (0xED558CCD, 0x1A85EC53, 0x1E98DF25, 0xA0B428DB, 0x9C88C6E3, 0x75374CC3)
    return [min(each ^ seed for each in hashes) for seed in seeds]


def share_most(one: set[int], other: set[int], share: float) -> bool:
    return len(one & other) >= share * max(len(one), len(other))


def are_near(one: str, other: str) -> bool:
    if min(len(one), len(other)) < 0.9 * max(len(one), len(other)):
        return False
    grams = gram_hashes(one), gram_hashes(other)
    samples = tuple({each for each in some if each % 8 == 0} for some in grams)
    first, second = samples
    if min(map(len, samples)) >= 32 and not share_most(first, second, 0.7):
        return False
    return re.findall(r"\d+", one) == re.findall(r"\d+", other) and share_most(*grams, 0.9)


def first_alike(texts: Sequence[str]) -> list[int]:
    found = [texts.index(text) for text in texts]
    long = [place for place, first in enumerate(found) if place == first and len(texts[place]) >= 40]
    least = {place: least_hashes(gram_hashes(texts[place])) for place in long}
    for place in long:
        heads = [other for other in long if other < place and found[other] == other]
        likely = [each for each in heads if sum(map(int.__eq__, least[place], least[each])) >= 3][:4]
        found[place] = next((other for other in likely if are_near(texts[place], texts[other])), place)
    return [found[each] for each in found]


@given(st.lists(any_texts | st.text(max_size=30), max_size=6))
def test_texts_are_folded_together_as_they_are_alone(texts: list[str]) -> None:
    assert fold_texts(texts) == [folded_alone(text) for text in texts]


@pytest.mark.parametrize("text", ["ｶﾞｲﾄﾞ", "ﾊﾟﾝ", "ㅎㅏㄴ글", "\uffa1\uffc2", "㉠ㅏ", "か\u3099", "\u1100\u1161"])
def test_characters_that_combine_when_folded_do_so_in_every_text(text: str) -> None:
    assert fold_texts([text, f"{text} ﬁ"]) == [folded_alone(text), f"{folded_alone(text)} fi"]


def test_every_character_is_folded_as_by_unicode() -> None:
    texts = [f"A{chr(point)}b {chr(point)}" for point in range(0x11_0000) if point < 0x3200 or point % 5 == 0]
    assert fold_texts(texts) == [folded_alone(text) for text in texts]
    pictures = [chr(point) for point in range(0x1F300, 0x1FB00)]
    assert fold_texts(pictures) == [folded_alone(each) for each in pictures]


edits = st.tuples(st.integers(0, 200), st.sampled_from(["", "x", "燈", " 7 ", "é", "ß", "😀", "\u0301", "\ud800"]))


def edited(text: str, changes: Sequence[tuple[int, str]]) -> str:
    for place, new in changes:
        text = text[: place % len(text)] + new + text[place % len(text) + 1 :]
    return text


@given(
    st.lists(
        st.tuples(
            st.sampled_from([ENGLISH, CHINESE, TRADITIONAL, "short", ENGLISH + CHINESE * 3]),
            st.lists(edits, max_size=8),
        ),
        max_size=9,
    )
)
def test_texts_are_alike_as_by_comparing_their_grams(given: list[tuple[str, list[tuple[int, str]]]]) -> None:
    texts = [edited(*each) for each in given]
    assert FoldedTexts(texts).first_alike() == first_alike(fold_texts(texts))


def test_keys_are_equal_for_equal_texts_only() -> None:
    texts = [
        "",
        "a",
        "a ",
        "A",
        "ab",
        "ba",
        "abc",
        "abcd",
        "abcde",
        "\x00",
        "\x00\x00",
        *(ENGLISH[:end] for end in range(60)),
    ]
    folded, keys = fold_texts(texts), FoldedTexts(texts).keys
    assert len(set(keys)) == len(set(folded)) == len(set(zip(folded, keys, strict=True)))
    assert keys[:2] == FoldedTexts(["", "a"]).keys
