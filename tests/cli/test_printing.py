"""Text for a terminal: without control characters, wrapped by columns."""

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from findspot.surfaces.cli.printing import hang, styled, table_of
from findspot.surfaces.cli.terminal import columns, lines, visible

HOSTILE = "\x1b[31mred\x07\x9b2J\u202eabc\u2066\r\x7f\u2028"


def test_control_characters_are_made_visible() -> None:
    assert visible(HOSTILE) == "␛[31mred␇�2J�abc�␍␡␤"
    assert visible("one\r\ntwo\tthree\n") == "one \ntwo\tthree\n"
    assert visible("灯塔 café 👩‍👩‍👧 e\u0301 עברית\ud800") == "灯塔 café 👩‍👩‍👧 e\u0301 עברית�"


@given(st.text(st.one_of(st.characters(), st.sampled_from("\x1b\x07\r\n\x85\u202e灯🏮")), max_size=60))
def test_each_character_is_replaced_by_one_so_that_ranges_stay_valid(text: str) -> None:
    safe = visible(text)
    assert len(safe) == len(text)
    assert not [each for each in safe if unicodedata.category(each) in ("Cc", "Cs") and each not in "\n\t"]


def test_styled_text_is_made_safe_first(monkeypatch: pytest.MonkeyPatch) -> None:
    assert styled("\x1b[5m灯塔", bold=True) == "\x1b[1m␛[5m灯塔\x1b[0m"
    monkeypatch.setenv("NO_COLOR", "1")
    assert styled("\x1b[5m灯塔", bold=True) == "␛[5m灯塔"
    monkeypatch.setenv("NO_COLOR", "")  # counts as not set
    assert styled("灯塔", bold=True) == "\x1b[1m灯塔\x1b[0m"


def wrapped(text: str, width: int) -> list[str]:
    return [text[start:end] for start, end in lines(text, width)]


def test_lines_end_between_words_and_between_chinese_characters() -> None:
    assert wrapped("The lighthouse keeper lit his lantern.", 16) == ["The lighthouse", "keeper lit his", "lantern."]
    assert wrapped("林远推开废弃仓库的大门。旧照片散落一地。", 10) == [
        "林远推开废",
        "弃仓库的大",
        "门。旧照片",
        "散落一地。",
    ]
    assert wrapped("他说：「走吧。」", 6) == ["他说：", "「走", "吧。」"]  # punctuation stays with its neighbour
    assert wrapped("a lamp 灯塔lamp", 8) == ["a lamp", "灯塔lamp"]
    assert wrapped("one\n\n  two  \nhttps://example.org/long/address", 8) == [
        "one", "  two", "https://example.org/long/address"
    ]  # fmt: skip


@given(st.text("ab 灯塔。「」e\u0301🏮\n", max_size=80), st.integers(2, 20))
def test_a_line_is_too_wide_only_if_it_cannot_be_wrapped(text: str, width: int) -> None:
    shown = wrapped(text, width)
    assert re.sub(r"\s", "", "".join(shown)) == re.sub(r"\s", "", text)
    assert all(columns(each) <= width or " " not in each.strip() for each in shown)


def test_widths_are_columns() -> None:
    assert [columns(each) for each in ("lamp", "灯塔", "e\u0301", "Ａ", "👩‍👩‍👧", "␛")] == [4, 4, 1, 2, 2, 1]


def test_styled_spans_continue_after_a_line_break(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("findspot.surfaces.cli.printing.terminal_width", lambda stream: 22)
    text = "\x1bThe lighthouse keeper"
    assert hang(text, 2, spans=[(5, 22, {"bold": True})]) == ("␛The \x1b[1mlighthouse\x1b[0m\n  \x1b[1mkeeper\x1b[0m")


BOOKS = [(1, "The lighthouse keeper's daughter", "notes/lighthouse.md", 1200), (12, "废弃仓库", "日记/仓库.md", 4)]


@pytest.mark.parametrize(
    ("width", "shown"),
    [
        (
            80,
            [
                "id  title                             path                 words",
                " 1  The lighthouse keeper's daughter  notes/lighthouse.md   1200",
                "12  废弃仓库                          日记/仓库.md             4",
            ],
        ),
        (
            44,
            [
                "id  title            path              words",
                " 1  The lighthouse   notes/lighthouse   1200",
                "    keeper's         .md",
                "    daughter",
                "12  废弃仓库         日记/仓库.md          4",
            ],
        ),
        (
            30,
            [
                "id     1",
                "title  The lighthouse keeper's",
                "       daughter",
                "path   notes/lighthouse.md",
                "words  1200",
                "",
                "id     12",
                "title  废弃仓库",
                "path   日记/仓库.md",
                "words  4",
            ],
        ),
    ],
)
def test_a_table_wraps_its_long_columns_and_becomes_blocks_on_a_narrow_terminal(
    monkeypatch: pytest.MonkeyPatch, width: int, shown: list[str]
) -> None:
    monkeypatch.setattr("findspot.surfaces.cli.printing.terminal_width", lambda stream: width)
    monkeypatch.setenv("NO_COLOR", "1")
    assert table_of(("id", "title", "path", "words"), BOOKS).splitlines() == shown
