from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from findspot.replacing.rewrite import rewrite
from findspot.sources import extract
from tests.replacing.documents import a_part_of, found, replaced_text, replacements
from tests.sources.test_tiptap import DOCUMENTS, Node, documents

TEXTS = {"text", "alt", "label", "latex"}


def text(value: str, *marks: str) -> Node:
    return {"type": "text", "text": value} | ({"marks": [{"type": mark} for mark in marks]} if marks else {})


def document(*content: Node) -> Node:
    return {"type": "doc", "content": [{"type": "paragraph", "content": list(content)}]}


def replaced(tree: Node, search: str, replace: str, **options: bool) -> Any:
    content = json.dumps(tree)
    extracted = extract(tree, "tiptap")
    outcome = rewrite(content, "tiptap", extracted, found(extracted, search, replace, **options))
    assert outcome.left == ()
    return json.loads(outcome.content)


def without_text(value: Any) -> Any:
    """Return a tree without its texts: nodes, marks and attributes."""
    if isinstance(value, dict):
        return {key: "" if key in TEXTS else without_text(member) for key, member in value.items()}
    return [without_text(each) for each in value] if isinstance(value, list) else value


@pytest.mark.parametrize(
    ("before", "search", "replace", "after"),
    [
        ([text("见林小雨了")], "林小雨", "林小溪", [text("见林小溪了")]),
        ([text("林"), text("小雨走", "bold")], "林小雨", "王五", [text("王五"), text("走", "bold")]),
        ([text("ware", "bold"), text("house")], "warehouse", "factory", [text("factory", "bold")]),
        ([text("a"), text("b", "bold"), text("c")], "b", "", [text("a"), text("c")]),
        ([text("a"), text("b", "bold")], "ab", "", []),
        ([text("ab"), text("ab", "em"), text("x")], "ab", "", [text("x")]),
        ([text("x"), text("ab"), text("ab", "em")], "ab", "", [text("x")]),
        (
            [text("see "), {"type": "image", "attrs": {"alt": "a cat", "n": 1.50}}],
            "cat",
            "",
            [text("see "), {"type": "image", "attrs": {"alt": "a ", "n": 1.50}}],
        ),
        (
            [{"type": "mention", "attrs": {"id": 7, "label": "雨"}}],
            "雨",
            "溪",
            [{"type": "mention", "attrs": {"id": 7, "label": "溪"}}],
        ),
    ],
)
def test_only_text_changes_and_a_replacement_has_the_marks_of_the_first_character(
    before: list[Node], search: str, replace: str, after: list[Node]
) -> None:
    assert replaced(document(*before), search, replace) == document(*after)


def test_a_hard_break_inside_a_match_is_removed() -> None:
    tree = document(text("a"), {"type": "hardBreak"}, text("b"))
    assert replaced(tree, "a\nb", "x") == document(text("x"))
    assert replaced(tree, r"\nb", "", regex=True) == document(text("a"))


def test_a_match_that_begins_with_a_hard_break_leaves_text_with_its_marks() -> None:
    tree = document(text("a"), {"type": "hardBreak", "marks": [{"type": "bold"}]}, text("b"))
    assert replaced(tree, r"\n", "-", regex=True) == document(text("a"), text("-", "bold"), text("b"))


def test_every_other_byte_of_the_json_text_stays() -> None:
    content = (
        '{ "type":"doc" ,"n":1.0e+2, "content":[\n\t{"content":[{"text":'
        '"\\u0061\\n林\\uD83D\\uDE00 b\\/林","type":"text"}],'
        '"\\u0074ype":"paragraph","attrs":{"x":0.10,"text":"林"}} ] }'
    )
    extracted = extract(json.loads(content), "tiptap")
    matches = found(extracted, "林", '"中"')
    after = rewrite(content, "tiptap", extracted, matches).content
    assert after == content.replace("林", '\\"中\\"', 2)
    assert rewrite(content, "tiptap", extracted, []).content == content


@settings(max_examples=300)
@given(documents, replacements, st.data(), st.booleans())
def test_any_tree_reads_as_expected_and_keeps_its_nodes_and_marks(
    tree: Node, replace: str, data: st.DataObject, compact: bool
) -> None:
    content = json.dumps(tree, ensure_ascii=compact, indent=None if compact else 2)
    extracted = extract(tree, "tiptap")
    matches = found(extracted, a_part_of(data.draw, extracted.text), replace, case_sensitive=True)
    after = rewrite(content, "tiptap", extracted, matches).content
    new = json.loads(after)
    shown, expected = extract(new, "tiptap").text, replaced_text(extracted, matches)
    if not replace:  # breaks beside an empty text are not shown
        shown, expected = (re.sub(r"[\n\t]", "", each) for each in (shown, expected))
    assert shown == expected
    assert '"text": ""' not in after
    crosses = any(len(extracted.spans(match.start, match.end)) > 1 for match in matches)
    if replace and not crosses and not any("\n" in extracted.text[match.start : match.end] for match in matches):
        assert without_text(new) == without_text(tree)
        assert re.sub(r'"(?:[^"\\]|\\.)*"', "", after) == re.sub(r'"(?:[^"\\]|\\.)*"', "", content)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_real_documents_read_as_expected(name: str) -> None:
    tree = DOCUMENTS[name]
    extracted = extract(tree, "tiptap")
    for search, replace in (("a", '\\"'), ("的", "之"), ("the", "der")):
        matches = found(extracted, search, replace)
        after = rewrite(json.dumps(tree), "tiptap", extracted, matches).content
        assert extract(json.loads(after), "tiptap").text == replaced_text(extracted, matches)
        assert without_text(json.loads(after)) == without_text(tree)
