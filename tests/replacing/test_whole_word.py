from __future__ import annotations

import pytest

from findspot.replacing.matching import Matcher
from findspot.replacing.rule import ReplaceRule
from findspot.sources import extract


def contexts(text: str, search: str) -> list[str]:
    """Return each whole word that is found, with one character on either side."""
    ranges = Matcher(ReplaceRule(search, "", whole_word=True)).ranges(extract(text, "text"))
    return [text[max(0, start - 1) : end + 1] for start, end in ranges]


@pytest.mark.scenario("004.replace.whole-word")
@pytest.mark.parametrize(
    ("text", "search", "expected"),
    [
        ("Tom's Tomcat atom TOM", "tom", ["Tom'", " TOM"]),
        ("foo_bar foo-bar foo.bar", "foo", [" foo-", " foo."]),
        ("naïve na ïve", "na", [" na "]),
        ("cafe\u0301 cafe", "cafe", [" cafe"]),
        ("v2 v v22", "v2", ["v2 "]),
        ("Ärzte Ärztekammer", "ärzte", ["Ärzte "]),
        ("한국 한국어", "한국", ["한국 "]),
        ("(x) x+y xy", "x", ["(x)", " x+"]),
        ("C++ C", "C++", ["C++ "]),
    ],
)
def test_in_scripts_with_spaces_a_word_has_no_letter_beside_it(text: str, search: str, expected: list[str]) -> None:
    assert contexts(text, search) == expected


@pytest.mark.scenario("004.replace.whole-word")
@pytest.mark.parametrize(
    ("text", "search", "expected"),
    [
        ("他读山海经，山海之间", "山海", ["，山海之"]),
        ("他讀山海經，山海之間", "山海", ["，山海之"]),
        ("头发现在很长，我发现在这里", "发现", ["我发现在"]),
        ("頭髮現在很長，我發現在這裡", "發現", ["我發現在"]),
        ("东方红太阳升，东方明珠", "东方", ["，东方明"]),
        ("去了废弃仓库。", "废弃仓库", ["了废弃仓库。"]),
        ("研究生命起源", "研究生", []),
    ],
)
def test_a_chinese_match_inside_or_across_other_words_is_no_whole_word(
    text: str, search: str, expected: list[str]
) -> None:
    assert contexts(text, search) == expected


def test_a_name_that_is_in_no_dictionary_is_found_between_other_words() -> None:
    assert contexts("林小雨说和林小雨走了，山林小雨", "林小雨") == ["林小雨说", "和林小雨走", "山林小雨"]


def test_a_latin_word_between_chinese_characters_is_a_whole_word() -> None:
    assert contexts("买iPhone手机，iPhones", "iphone") == ["买iPhone手"]
    assert contexts("用T恤和BT恤", "T恤") == ["用T恤和"]


def test_other_scripts_without_spaces_have_no_dictionary_so_every_match_counts() -> None:
    assert contexts("これはねこです", "ねこ") == ["はねこで"]


def test_a_run_of_many_characters_is_segmented_once() -> None:
    text = "山海经" * 20_000 + "，山海"
    assert contexts(text, "山海") == ["，山海"]
