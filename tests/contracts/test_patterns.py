"""What holds for every engine of regular expressions behind `compile_pattern`."""

import re
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from findspot.errors import FindspotError
from findspot.patterns import MAX_SOURCE, Occurrence, compile_pattern
from findspot.patterns.pattern import MAX_EXPANDED

MIXED = "林小雨 café e\u0301té 👨‍👩‍👧x naïve"
texts = st.text(st.sampled_from("abAB 林小雨鵝é\u0301👨‍👩\n\r.*+?()[]{}|^$\\#-~&_0"), max_size=20) | st.text(
    max_size=10
)


def found(source: str, text: str, **options: Any) -> list[str]:
    return [text[each.start : each.end] for each in compile_pattern(source, **options).finditer(text)]


def refusal(source: str, **options: Any) -> FindspotError:
    with pytest.raises(FindspotError) as refused:
        compile_pattern(source, **options)
    assert refused.value.code == "INVALID_ARGUMENT"
    return refused.value


@pytest.mark.parametrize(
    ("source", "text", "expected"),
    [
        (r"\b\w+\b", "林小雨 met naïve Ärzte", ["林小雨", "met", "naïve", "Ärzte"]),
        (r"\w+", "e\u0301te\u0301", ["e\u0301te\u0301"]),
        (r"\bé\b", "é été", ["é"]),
        (r"\d+", "x12 ３４ ٣", ["12", "３４", "٣"]),
        (r"a\sb", "a　b a b", ["a　b", "a b"]),
        (r"\p{Han}+", "abc 漢字kana カナ", ["漢字"]),
        (r"[^\p{Han}\s]+", "abc 漢字 é", ["abc", "é"]),
        ("👨.👩", MIXED, ["👨‍👩"]),
        ("[👨👩]", MIXED, ["👨", "👩"]),
        (r"仓(库|庫)", "仓庫 仓库", ["仓庫", "仓库"]),
        ("a{2,3}?", "aaaa", ["aa", "aa"]),
        ("(?i)straße", "STRAẞE", ["STRAẞE"]),
        (r"\u4e2d|\x41", "A中", ["A", "中"]),
        ("a.c", "a\nc abc", ["abc"]),
        ("(?s)a.c", "a\nc abc", ["a\nc", "abc"]),
    ],
)
def test_patterns_follow_unicode(source: str, text: str, expected: list[str]) -> None:
    assert found(source, text) == expected


def test_offsets_are_code_points_and_groups_have_spans() -> None:
    pattern = compile_pattern(r"(?<last>林)(小雨)?|👨(x)?")
    assert pattern.group_count == 3
    assert pattern.group_names == {"last": 1}
    assert list(pattern.finditer("é👨‍林小雨林")) == [
        Occurrence(1, 2, (None, None, None)),
        Occurrence(3, 6, ((3, 4), (4, 6), None)),
        Occurrence(6, 7, ((6, 7), None, None)),
    ]
    assert list(compile_pattern("林").finditer("é林林", 2)) == [Occurrence(2, 3)]


def test_empty_occurrences_are_yielded_once_per_place_and_iteration_ends() -> None:
    assert [(each.start, each.end) for each in compile_pattern("a*").finditer("baa中")] == [
        (0, 0),
        (1, 3),
        (3, 3),
        (4, 4),
    ]
    assert len(list(compile_pattern("").finditer(MIXED))) == len(MIXED) + 1


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        *(("ß", "ẞ", True), ("s", "ſ", True), ("k", "\u212a", True), ("Σ", "ς", True), ("Ａ", "ａ", True)),
        *(("é", "É", True), ("ж", "Ж", True), ("ß", "ss", False), ("ﬁ", "fi", False), ("i", "İ", False)),
        *(("ı", "I", False), ("é", "E\u0301", False), ("林", "林", True), ("國", "国", False)),
    ],
)
def test_case_is_ignored_character_by_character(one: str, other: str, equal: bool) -> None:
    for literal in (True, False):
        assert found(one, other, case_sensitive=False, literal=literal) == ([other] if equal else [])
        assert found(other, one, case_sensitive=False, literal=literal) == ([one] if equal else [])
    assert found(one, other) == ([other] if one == other else [])


def test_lines_begin_and_end_at_every_kind_of_line_end() -> None:
    text = "ab\nab\r\nab"
    assert len(found("^ab$", text, multiline=True)) == 3
    assert found("^ab$", text) == []
    assert len(found("^a|b$", text, multiline=True)) == 6


@pytest.mark.parametrize(("flags", "expected"), [("(?s)", 1), ("(?m)", 0), ("(?si)", 1), ("(?i)", 0), ("(?s-i)", 0)])
def test_flags_at_the_start_are_kept_with_those_for_lines(flags: str, expected: int) -> None:
    assert len(found(f"{flags}^B.C$", "a\nb\nc\nd", multiline=True, case_sensitive=False)) == expected
    assert refusal(f"{flags}a)", multiline=True).fields["position"] == len(flags) + 1


@given(texts, texts)
def test_a_literal_finds_what_a_plain_search_finds(needle: str, text: str) -> None:
    expected = [match.span() for match in re.finditer(re.escape(needle), text)]
    pattern = compile_pattern(needle, literal=True)
    assert [(each.start, each.end) for each in pattern.finditer(text)] == expected
    assert pattern.occurs_in(text) == bool(expected)


@pytest.mark.parametrize(
    ("source", "position", "construct"),
    [
        *(("a(?=b)", 1, "look-ahead"), ("中文(?!b)", 2, "look-ahead")),
        *(("(?<=a)b", 0, "look-behind"), ("(?<!a)b", 0, "look-behind")),
        *(("(a)\\1", 3, "a back-reference"), ("(?<n>a)\\k<n>", 7, "a back-reference")),
        *(("(?P<n>a)(?P=n)", 8, "a back-reference"), ("(?>a)", 0, "an atomic group")),
        *(("(a)?(?(1)b|c)", 4, "a conditional group"), ("a*+", 2, "a possessive quantifier")),
        *(("[a]++", 4, "a possessive quantifier"), ("a{2}+", 4, "a possessive quantifier")),
        *((r"a\Z", 1, "\\Z"), (r"\X", 0, "\\X")),
    ],
)
def test_an_unsupported_construct_is_named_with_its_position(source: str, position: int, construct: str) -> None:
    for multiline in (True, False):
        error = refusal(source, multiline=multiline, field="search")
        assert error.fields == {"field": "search", "position": position, "construct": construct}
        assert f"at character {position + 1}:" in error.message


@pytest.mark.parametrize(
    ("source", "position"),
    [
        *(("(a", 0), ("a)", 1), ("中文(", 2), ("[z-a]", 1), ("x[a", 1), ("*a", 0), ("a{3,2}", 1), ("a\\", 1)),
        *((r"\p{Nope}", 0), ("a**", 2), ("(?z)", 0), ("\udfff", 0), ("(" * 400, None)),
    ],
)
def test_an_invalid_pattern_is_refused_with_its_position(source: str, position: int | None) -> None:
    for multiline in (True, False):
        error = refusal(source, multiline=multiline)
        assert "construct" not in error.fields
        assert position is None or error.fields["position"] == position


@pytest.mark.parametrize(
    "source", [r"\(\?=a\)", "[(?=]", r"[\]*+]", r"\\+", "[[:alpha:]&&[^a]]++"[:-1], r"\*+", "a+?", "a{2}?"]
)
def test_characters_that_only_look_like_such_a_construct_are_accepted(source: str) -> None:
    compile_pattern(source)


@pytest.mark.parametrize(
    "source", ["a" * (MAX_SOURCE + 1), f"a{{{MAX_EXPANDED + 1}}}", "(a{100}){100}", "((a{9}){90}){9}", r"\w{1500}"]
)
def test_a_pattern_that_is_too_large_is_refused_with_the_limit(source: str) -> None:
    assert refusal(source).fields["limit"]


@pytest.mark.parametrize("source", ["a" * MAX_SOURCE, "(ab){900}", "(?:[ab]{0,40}c){1,40}", r"\p{Han}{1,100}"])
def test_a_pattern_within_the_limits_is_accepted(source: str) -> None:
    compile_pattern(source)


@pytest.mark.parametrize(
    ("source", "attack"),
    [
        *((r"(a+)+$", "a"), (r"(a|aa)+$", "a"), (r"(.*a){20}$", "a"), (r"(x+x+)+y", "x"), (r"(\s*,\s*)+$", " ")),
        *((r"^(?:(?:\w+)\s?)+$", "a"), (r"(中+)+国$", "中"), (r"((((((a*)*)*)*)*)*)b", "a"), (r"(\S.*\S)*\s*!", "a")),
    ],
)
def test_patterns_that_stop_a_backtracking_engine_are_answered(source: str, attack: str) -> None:
    # A backtracking engine would need more steps than there are atoms in the universe, so the test would not end.
    assert not any(each.end > each.start for each in compile_pattern(source).finditer(attack * 5_000 + "。"))


def test_one_pattern_serves_several_threads() -> None:
    pattern = compile_pattern(r"(\w+)-(\d+)")
    text = "".join(f"仓库-{number} " for number in range(2_000))
    expected = list(pattern.finditer(text))
    assert len(expected) == 2_000
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(lambda _: list(pattern.finditer(text)), range(8))) == [expected] * 8


def test_nothing_is_printed_for_an_invalid_pattern(capfd: pytest.CaptureFixture[str]) -> None:
    refusal("(")
    assert capfd.readouterr() == ("", "")
