from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from findspot.chunking.graphemes import cluster_end
from findspot.errors import FindspotError
from findspot.replacing.matching import Match, Matcher, segments
from findspot.replacing.rule import ReplaceRule
from findspot.sources import Extract, Format, extract
from tests.replacing.documents import a_part_of, contents, found, read


def texts(source: str, search: str, format: Format = "text", **options: bool) -> list[str]:
    extracted = extract(source, format)
    ranges = Matcher(ReplaceRule(search, "", **options)).ranges(extracted)
    return [extracted.text[start:end] for start, end in ranges]


def after(source: str, search: str, replace: str, **options: bool) -> list[str]:
    return [match.replacement for match in found(extract(source, "text"), search, replace, **options)]


def refusal(**rule: Any) -> FindspotError:
    with pytest.raises(FindspotError) as refused:
        Matcher(ReplaceRule(**{"search": "a", "replace": "", **rule}))
    assert refused.value.code == "INVALID_ARGUMENT"
    return refused.value


@pytest.mark.parametrize(
    ("source", "search", "expected"),
    [
        ("林小雨和林小雨", "林小雨", ["林小雨", "林小雨"]),
        ("aaaa", "aa", ["aa", "aa"]),
        ("a.c abc", "a.c", ["a.c"]),
        ("$1 (x) [y] \\d", "\\d", ["\\d"]),
        ("Straße STRASSE STRAẞE", "straße", ["Straße", "STRAẞE"]),
        ("İstanbul ISTANBUL ıstanbul", "istanbul", ["ISTANBUL"]),
        ("mißt ſie SIE", "sie", ["ſie", "SIE"]),
        ("國 国", "国", ["国"]),
        ("é e\u0301 e", "e", ["e"]),
        ("👨‍👩‍👧 👨 👩", "👩", ["👩"]),
        ("👍🏽 👍", "👍", ["👍"]),
        ("🇩🇪🇫🇷", "🇪🇫", []),
        ("nothing", "林", []),
    ],
)
def test_a_text_is_found_literally_and_never_inside_a_character_that_a_reader_sees(
    source: str, search: str, expected: list[str]
) -> None:
    assert texts(source, search) == expected


@pytest.mark.scenario("004.replace.case-sensitive")
def test_case_counts_only_on_request() -> None:
    assert texts("Warehouse warehouse", "warehouse", case_sensitive=True) == ["warehouse"]
    assert texts("Warehouse warehouse", "warehouse") == ["Warehouse", "warehouse"]


def test_a_match_crosses_marks_and_inline_nodes() -> None:
    assert texts("林**小**雨 and *ware*`house`", "warehouse", "markdown") == ["warehouse"]
    assert texts("林**小**雨 and *ware*`house`", "林小雨", "markdown") == ["林小雨"]
    tree = {
        "type": "doc",
        "content": [
            {
                "type": "paragraph",
                "content": [
                    {"type": "text", "text": "林"},
                    {"type": "mention", "attrs": {"label": "小"}},
                    {"type": "text", "text": "雨", "marks": [{"type": "bold"}]},
                ],
            }
        ],
    }
    assert list(Matcher(ReplaceRule("林小雨", "")).ranges(extract(tree, "tiptap"))) == [(0, 3)]


@pytest.mark.parametrize("search", [r"[\s\S]+", r"(?s).+"])
def test_a_match_joins_neither_blocks_nor_cells(search: str) -> None:
    assert texts("# a\n\nb\nc\n\n- d", search, "markdown", regex=True) == ["a", "b c", "d"]
    assert texts("|a|b|\n|-|-|\n|c<br>d|e|", search, "markdown", regex=True) == ["a", "b", "c\nd", "e"]
    assert texts("<div>a<p>b</p></div>", search, "markdown", regex=True) == ["a", "b"]
    assert texts("a\nb\n\nc", search, regex=True) == ["a\nb", "\n\n", "c"]


def test_white_space_around_the_lines_of_a_plain_text_is_found() -> None:
    assert texts("  a \n\n\tb\r\n", r"[^\S\r\n]+", regex=True) == ["  ", " ", "\t"]
    assert texts("  a \n\n\tb", "  a") == ["  a"]
    assert texts("  a \n\n\tb", "\t") == ["\t"]


def test_lines_begin_and_end_inside_a_block_and_at_its_edges() -> None:
    assert texts("one\r\ntwo\n\nthree", r"^\w+$", regex=True) == ["one", "two", "three"]
    assert texts("one\\\ntwo\n\nthree", r"^\w+$", "markdown", regex=True) == ["one", "two", "three"]


def test_empty_matches_are_no_matches() -> None:
    assert texts("baa", "a*|x?", regex=True) == ["aa"]
    assert texts("abc", "^", regex=True) == []


def test_a_line_end_of_two_characters_is_not_split() -> None:
    assert texts("a\r\nb", r"\n", regex=True) == []
    assert texts("a\r\nb", r"\r?\n", regex=True) == ["\r\n"]


def test_the_number_of_ranges_can_be_limited() -> None:
    extracted = extract("a a a", "text")
    matcher = Matcher(ReplaceRule("a", ""))
    assert list(matcher.ranges(extracted, 2)) == [(0, 1), (2, 3)]
    assert list(matcher.ranges(extracted, 0)) == []


@pytest.mark.scenario("004.replace.regex")
@pytest.mark.parametrize(
    ("search", "replace", "expected"),
    [
        (r"(\w+)-(\w+)", "$2-$1", ["仓库-废弃"]),
        (r"(?<a>\w+)-(?P<b>\w+)", "$<b>$<a>", ["仓库废弃"]),
        (r"\w+-\w+", "[$&] $0", ["[废弃-仓库] 废弃-仓库"]),
        (r"(\w+)-\w+", "$$1 $1 $", ["$1 废弃 $"]),
        (r"(\w+)-\w+", "$10", ["废弃0"]),
        (r"(x)?(废)", "<$1$2>", ["<废>"]),
        (r"-", r"\1\n", [r"\1\n"]),
    ],
)
def test_a_regular_expression_fills_in_its_groups(search: str, replace: str, expected: list[str]) -> None:
    assert after("废弃-仓库", search, replace, regex=True) == expected


def test_a_literal_replacement_has_no_references() -> None:
    assert after("a", "a", "$1 $& $$ $<x> \\1") == ["$1 $& $$ $<x> \\1"]


@pytest.mark.scenario("004.replace.regex")
@pytest.mark.parametrize(
    ("rule", "field", "says"),
    [
        ({"search": ""}, "search", "empty"),
        ({"search": "(", "regex": True}, "search", "character 1"),
        ({"search": "a(?=b)", "regex": True}, "search", "look-ahead"),
        ({"search": "a" * 2_001}, "search", "2,000"),
        ({"replace": "x" * 10_001}, "replace", "10,000"),
        ({"replace": "\udfff"}, "replace", "surrogate"),
        ({"replace": "$1", "regex": True}, "replace", "$$1"),
        ({"search": "(a)", "replace": "$2", "regex": True}, "replace", "no group 2"),
        ({"search": "(a)", "replace": "$<n>", "regex": True}, "replace", "no group 'n'"),
    ],
)
def test_a_rule_that_cannot_be_used_is_refused_by_its_field(rule: dict[str, Any], field: str, says: str) -> None:
    error = refusal(**rule)
    assert error.fields["field"] == field
    assert says in error.message


def test_a_replacement_that_grows_without_limit_is_refused() -> None:
    with pytest.raises(FindspotError, match="10,000"):
        after("a" * 200, "a+", "$&" * 100, regex=True)


def _naive(extracted: Extract, search: str) -> list[tuple[int, int]]:
    """Search each stretch of text between inserted characters, and keep what does not cut a cluster."""
    ranges = []
    for start, end in segments(extracted):
        text = extracted.text[start:end]
        edges = {0}
        while max(edges) < len(text):
            edges.add(cluster_end(text, max(edges)))
        edges -= {match.start() + 1 for match in re.finditer("\r\n", text)}
        plain = (match.span() for match in re.finditer(re.escape(search), text))
        ranges += [(start + first, start + last) for first, last in plain if first in edges and last in edges]
    return ranges


@settings(max_examples=300)
@given(contents, st.data())
def test_matching_equals_a_plain_search_over_the_text(content: tuple[Format, str], data: st.DataObject) -> None:
    extracted = read(content[1], content[0])
    search = a_part_of(data.draw, extracted.text)
    for regex in (False, True):
        rule = ReplaceRule(re.escape(search) if regex else search, "", case_sensitive=True, regex=regex)
        try:
            matcher = Matcher(rule)
        except FindspotError:
            assert regex  # Python escapes some characters that need no escape
            continue
        assert list(matcher.ranges(extracted)) == _naive(extracted, search)


@given(contents)
def test_segments_are_all_text_but_inserted_characters(content: tuple[Format, str]) -> None:
    extracted = read(content[1], content[0])
    covered = {index for start, end in segments(extracted) for index in range(start, end)}
    for index in range(len(extracted.text)):
        place = extracted.place(index)
        is_node = extracted.nodes is not None and not place.field
        assert (index in covered) == (place.start < place.end or is_node)


def test_matches_have_their_replacements_in_order() -> None:
    tree = {"type": "doc", "content": [{"type": "paragraph", "content": [{"type": "text", "text": "a1 a2"}]}]}
    extracted = extract(json.loads(json.dumps(tree)), "tiptap")
    assert found(extracted, r"a(\d)", "b$1", regex=True) == [Match(0, 2, "b1"), Match(3, 5, "b2")]
