"""The strings of a JSON value, each with its pointer."""

import json
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from findspot import pointer as pointers
from findspot.models import Node, Skipped, SkipReason
from findspot.sources import SourceError, json_tree
from findspot.sources.json_tree import MAX_DEPTH, read, walk

keys = st.text(st.sampled_from("ab~/01"), max_size=3) | st.text(max_size=3)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=25,
)


def strings(value: Any, tokens: tuple[str, ...] = ()) -> list[tuple[str, str]]:
    """A simple recursive implementation to compare with."""
    if isinstance(value, str):
        return [(pointers.write(tokens), value)]
    steps = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [found for key, item in steps for found in strings(item, (*tokens, str(key)))]


def places(found: Any) -> list[tuple[str, str]]:
    return [(each.pointer, each.text if isinstance(each, Node) else each.reason) for each in found]


@pytest.mark.scenario("003.tree-walk.finds-all", "003.tree-walk.objects", "003.tree-walk.lists")
@given(values, st.integers(0, 4))
def test_every_long_string_is_yielded_with_its_pointer_in_document_order(value: Any, threshold: int) -> None:
    expected = [
        (pointer, SkipReason.POINTER_HOLDS_NUL if "\0" in pointer else text)
        for pointer, text in strings(value)
        if len(text) >= threshold
    ]
    assert places(walk(value, threshold=threshold)) == expected
    assert places(read(json.dumps(value).encode(), threshold=threshold)) == expected


@given(values, st.integers(0, 4), st.integers(0, 12), st.integers(0, 3))
def test_decoding_level_by_level_yields_the_same_strings(value: Any, threshold: int, small: int, scans: int) -> None:
    text = json.dumps(value).encode()
    expected = list(read(text, threshold=threshold))
    with patch.object(json_tree, "DECODE_WHOLE", small), patch.object(json_tree, "MAX_SCANS", scans):
        assert list(read(text, threshold=threshold)) == expected


def test_a_large_string_inside_many_levels_is_found() -> None:
    text = b'{"a": [' * 200 + b'"' + b"x" * 4_000_000 + b'"' + b"]}" * 200
    assert [len(each.text) for each in read(text, threshold=10_000) if isinstance(each, Node)] == [4_000_000]


@pytest.mark.scenario("003.tree-walk.base-path")
@given(values, st.integers(0, 30))
def test_a_scope_yields_its_strings_with_pointers_from_the_root(value: Any, choice: int) -> None:
    everything = places(read(json.dumps(value).encode(), threshold=0))
    steps = [pointer.split("/") for pointer, _ in everything]
    scopes = sorted({"/".join(step[:length]) for step in steps for length in range(1, len(step) + 1)})
    scope = scopes[choice % len(scopes)] if scopes else ""
    inside = [found for found in everything if pointers.holds(scope, found[0])]
    assert places(read(json.dumps(value).encode(), threshold=0, scope=scope)) == inside


@pytest.mark.scenario("003.tree-walk.base-path")
def test_a_root_string_has_the_empty_pointer_and_a_walk_below_the_root_starts_there() -> None:
    assert list(read(b'"text"', threshold=1)) == [Node("", "text")]
    assert list(walk({"b": ["x"]}, threshold=1, base="/a")) == [Node("/a/b/0", "x")]


@pytest.mark.scenario("003.tree-walk.threshold")
@pytest.mark.parametrize(("length", "picked"), [(9_999, False), (10_000, True), (10_001, True)])
def test_strings_of_exactly_the_threshold_and_longer_are_yielded(length: int, picked: bool) -> None:
    assert bool(list(read(json.dumps({"a": "字" * length}).encode(), threshold=10_000))) == picked


def test_a_scope_that_does_not_exist_yields_nothing() -> None:
    text = b'{"a": ["x"], "ab": "y"}'
    assert [list(read(text, threshold=1, scope=scope)) for scope in ("/b", "/a/1", "/a/x", "/a/0/0")] == [[]] * 4
    assert places(read(text, threshold=1, scope="/a")) == [("/a/0", "x")]


def test_keys_are_escaped_in_pointers() -> None:
    assert places(walk({"a/b": {"m~n": "x"}}, threshold=1)) == [("/a~1b/m~0n", "x")]


# ── skipped strings ──


def test_a_string_whose_pointer_exceeds_1024_characters_is_skipped() -> None:
    fits, too_long = "k" * 1023, "k" * 1024
    found = list(walk({fits: "x", too_long: "x", "deep": {too_long: [{"a": "x"}]}}, threshold=1))
    assert found[0] == Node("/" + fits, "x")
    assert [each.reason for each in found[1:] if isinstance(each, Skipped)] == [SkipReason.POINTER_TOO_LONG] * 2
    assert [each.pointer for each in found[1:]] == ["/" + "k" * 1023 + "…", "/deep/" + "k" * 1018 + "…"]


def test_a_string_whose_pointer_exceeds_2400_bytes_is_skipped() -> None:
    fits, too_long = "章" * 799 + "kk", "章" * 800
    found = list(walk({fits: "x", too_long: "x"}, threshold=1))
    assert found == [Node("/" + fits, "x"), Skipped("/" + too_long, SkipReason.POINTER_TOO_LONG)]


def test_escapes_count_for_the_length_of_a_pointer() -> None:
    assert [type(each) for each in walk({"/" * 511: "x", "/" * 512: "x"}, threshold=1)] == [Node, Skipped]


def test_keys_with_nul_and_strings_over_the_limit_are_skipped_and_the_rest_is_found() -> None:
    found = list(walk({"a\0b": "xx", "long": "xxx", "fine": "xx"}, threshold=2, max_length=2))
    assert found == [
        Skipped("/a\0b", SkipReason.POINTER_HOLDS_NUL),
        Skipped("/long", SkipReason.CONTENT_TOO_LONG),
        Node("/fine", "xx"),
    ]


def test_a_nul_in_the_text_itself_is_text() -> None:
    assert list(read(b'{"a": "x\\u0000y"}', threshold=1)) == [Node("/a", "x\0y")]


# ── depth and size ──


def test_a_value_nested_a_hundred_thousand_levels_deep_is_refused_with_a_clear_error() -> None:
    with pytest.raises(SourceError, match="1000 levels deep"):
        list(read(b"[" * 100_000 + b'"x"' + b"]" * 100_000, threshold=1))
    nested: Any = "x"
    for _ in range(100_000):
        nested = [nested]
    with pytest.raises(SourceError, match="1000 levels deep"):
        list(walk(nested, threshold=1))


def test_strings_at_the_maximum_depth_are_found() -> None:
    text = b"[" * 500 + b'"x"' + b"]" * 500
    assert list(read(text, threshold=1)) == [Node("/0" * 500, "x")]
    nested: Any = "x"
    for _ in range(MAX_DEPTH):
        nested = {"": nested}
    assert list(walk(nested, threshold=1)) == [Node("/" * MAX_DEPTH, "x")]


def test_pointers_of_nested_long_keys_stop_growing() -> None:
    nested: Any = "x"
    for _ in range(400):
        nested = {"k" * 50_000: nested}
    (skipped,) = walk(nested, threshold=1)
    assert isinstance(skipped, Skipped)
    assert (skipped.reason, len(skipped.pointer)) == (SkipReason.POINTER_TOO_LONG, 1025)


@pytest.mark.parametrize("text", [b"", b"{", b'{"a": }', b'"\xff"'])
def test_invalid_json_is_refused(text: bytes) -> None:
    with pytest.raises(SourceError, match="not a JSON text"):
        list(read(text, threshold=1))
