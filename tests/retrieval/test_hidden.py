"""Reports of characters that a reader does not see."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from findspot.retrieval.hidden import MAX_REPORTED, hidden_characters


@pytest.mark.parametrize(
    ("text", "code_point", "kind"),
    [
        ("abc\u202edef", "U+202E", "bidirectional"),
        ("文字\u2067文字", "U+2067", "bidirectional"),
        ("pass\u200bword", "U+200B", "invisible"),
        ("密\u2060码", "U+2060", "invisible"),
        ("a\u200db", "U+200D", "invisible"),
        ("soft\u00adhyphen", "U+00AD", "invisible"),
        ("x\U000e0041y", "U+E0041", "invisible"),
        ("a\U000e0101b", "U+E0101", "invisible"),
        ("bell\x07", "U+0007", "control"),
        ("\x9b31m", "U+009B", "control"),
    ],
)
def test_hidden_characters_are_reported_with_their_place(text: str, code_point: str, kind: str) -> None:
    (found,) = hidden_characters(text, 100)
    assert (found.code_point, found.kind) == (code_point, kind)
    assert ord(text[found.offset - 100]) == int(code_point[2:], 16)


@pytest.mark.parametrize(
    "text",
    [
        "Plain text,\twith a tab.\r\nAnd a line.",
        "中文，繁體，かな，한국어。",
        "👩‍🚀 👨‍👩‍👧‍👦 ❤️",
        "🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f",
        "نمی\u200cخواهم",
        "क्\u200dष",
        "e\u0301 n\u0303",
    ],
)
def test_ordinary_text_and_emoji_have_none(text: str) -> None:
    assert hidden_characters(text) == ()


@given(st.text())
def test_offsets_are_those_of_the_text_and_bounded(text: str) -> None:
    found = hidden_characters(text)
    assert len(found) <= MAX_REPORTED
    assert all(f"U+{ord(text[each.offset]):04X}" == each.code_point for each in found)


def test_only_the_first_ones_are_listed() -> None:
    assert len(hidden_characters("\u200b" * 1000)) == MAX_REPORTED
