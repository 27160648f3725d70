"""A content that the prefilter rules out has no match."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from findspot.replacing.matching import Matcher
from findspot.replacing.prefilter import Prefilter
from findspot.replacing.rule import ReplaceRule
from findspot.sources.stored import read_stored

ALPHABET = "aAkKsSiIßſ\u212aİı éÉ字廢废🚗e\u0301&*_\\<\n\t\0\ufffd"


def stored(form: str, parts: list[str]) -> bytes:
    if form != "tiptap":
        return "**".join(parts).encode()
    nodes: list[dict[str, Any]] = [{"type": "text", "text": each} for each in parts if each]
    return json.dumps({"type": "doc", "content": [{"type": "paragraph", "content": nodes}]}).encode()


@given(
    st.sampled_from(("tiptap", "markdown", "text")),
    st.lists(st.text(ALPHABET, max_size=6), min_size=1, max_size=4),
    st.text(ALPHABET, min_size=1, max_size=3),
    st.booleans(),
)
def test_a_content_that_is_ruled_out_has_no_match(form: str, parts: list[str], search: str, case: bool) -> None:
    rule, content = ReplaceRule(search, "", case_sensitive=case), stored(form, parts)
    if not Prefilter(rule).may_match(content, form):
        assert list(Matcher(rule).ranges(read_stored(content, form))) == []


@pytest.mark.parametrize(
    ("search", "content", "form", "expected"),
    [
        ("废弃仓库", "荒废工厂", "text", False),
        ("废弃仓库", "**废弃**仓库", "markdown", True),
        ("废弃仓库", "&#24223;弃仓库", "markdown", True),
        ("Warehouse", "WAREHOUSE", "text", True),
        ("Warehouse", "factory", "text", False),
        ("k", "\u212a", "text", True),
        ("é", "nothing", "text", True),  # which letters match it without regard to case is not decided here
        ("a b", "a\u00a0b", "text", True),
    ],
)
def test_a_content_is_ruled_out_by_a_character_that_it_lacks(
    search: str, content: str, form: str, expected: bool
) -> None:
    assert Prefilter(ReplaceRule(search, "")).may_match(content.encode(), form) is expected


def test_a_regular_expression_rules_nothing_out() -> None:
    assert Prefilter(ReplaceRule("废.", "", regex=True)).may_match(b"", "text")
