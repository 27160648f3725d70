"""Reading and editing at pointers leaves every other byte unchanged."""

import json
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from findspot.errors import FindspotError
from findspot.jsontext.tree import Tree
from findspot.pointer import Missing, parse
from tests.jsontext.cases import TEXTS, in_order, nested, wording
from tests.jsontext.spelling import Spelled, containers, named, no_time_limit, strings, values

# A value decoded along one path, as an edit decodes it. Values beside the path are still text.
Opened: TypeAlias = "Spelled | dict[str, Opened] | list[Opened]"


def opened(value: Spelled, tokens: tuple[str, ...]) -> tuple[Any, Any]:
    """Decode a value down to a container; return both."""
    inside: Any = value.inside.copy() if value.inside is not None else None
    if not tokens:
        return inside, inside
    slot = int(tokens[0]) if isinstance(inside, list) else tokens[0]
    inside[slot], target = opened(inside[slot], tokens[1:])
    return inside, target


def untouched(value: Opened, tokens: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], bytes]]:
    if isinstance(value, Spelled):
        yield tokens, value.data
        return
    for token, deeper in named(value):  # type: ignore[arg-type]  # opened on the way, so not only texts
        yield from untouched(deeper, (*tokens, token))


def wording_of(value: Opened) -> Any:
    if isinstance(value, Spelled):
        return wording(value.text)
    if isinstance(value, list):
        return [wording_of(each) for each in value]
    return in_order([(key, wording_of(each)) for key, each in value.items()])


def raw(text: str | bytes) -> msgspec.Raw:
    return msgspec.Raw(text.encode() if isinstance(text, str) else text)


def edited(text: str, edit: Callable[[Tree], object]) -> str:
    tree = Tree(text.encode())
    edit(tree)
    return tree.dump().decode()


# ── properties of all values ──


@no_time_limit
@given(values)
def test_reading_returns_the_exact_bytes_at_every_pointer(value: Spelled) -> None:
    text = b" \n" + value.data + b"\t"
    for tokens, part in value.everything():
        assert Tree(text).get(tokens) == part.data


@no_time_limit
@given(values)
def test_reading_does_not_change_the_value(value: Spelled) -> None:
    tree = Tree(value.data)
    for tokens, part in value.everything():
        assert wording(tree.get(tokens)) == wording(part.text)
        assert wording(bytes(tree.copy(tokens))) == wording(part.text)
    assert wording(tree.dump()) == wording(value.text)


def check_edit(value: Spelled, tokens: tuple[str, ...], expected: Opened, edit: Callable[[Tree], object]) -> None:
    """Compare with the same edit of lists and dicts, and check that all other bytes are unchanged."""
    changed = edited(value.text, edit).encode()
    assert wording(changed) == wording_of(expected)
    for place, text in untouched(expected):
        assert Tree(changed).get(place) == text


def draw_place(data: st.DataObject, value: Spelled, *, present: bool) -> tuple[tuple[str, ...], str]:
    """Draw a container in a value and a token in it: an existing one, or also one where a value can be added."""
    found = [
        (tokens, part)
        for tokens, part in value.everything()
        if part.inside or (part.inside is not None and not present)
    ]
    tokens, part = data.draw(st.sampled_from(found))
    there = st.sampled_from([token for token, _ in named(part.inside or {})])
    if present:
        return tokens, data.draw(there)
    fresh = (
        strings.map(lambda string: string[0])
        if isinstance(part.inside, dict)
        else st.sampled_from(["-", str(len(part.inside or ()))])
    )
    return tokens, data.draw(there | fresh if part.inside else fresh)


@no_time_limit
@given(st.data(), containers, values)
def test_setting_a_value_changes_that_value_and_no_other_byte(
    data: st.DataObject, value: Spelled, new: Spelled
) -> None:
    tokens, last = draw_place(data, value, present=False)
    expected, target = opened(value, tokens)
    if isinstance(target, dict):
        target[last] = new
    else:
        place = len(target) if last == "-" else int(last)
        target[place : place + 1] = [new]
    check_edit(value, tokens, expected, lambda tree: tree.put((*tokens, last), raw(new.text)))


@no_time_limit
@given(st.data(), containers, values)
def test_adding_a_value_moves_later_elements_up_and_changes_no_other_byte(
    data: st.DataObject, value: Spelled, new: Spelled
) -> None:
    tokens, last = draw_place(data, value, present=False)
    expected, target = opened(value, tokens)
    if isinstance(target, dict):
        target[last] = new
    else:
        target.insert(len(target) if last == "-" else int(last), new)
    check_edit(value, tokens, expected, lambda tree: tree.add((*tokens, last), raw(new.text)))


@no_time_limit
@given(st.data(), containers.filter(lambda value: bool(value.inside)))
def test_removing_a_value_returns_it_and_changes_no_other_byte(data: st.DataObject, value: Spelled) -> None:
    tokens, last = draw_place(data, value, present=True)
    expected, target = opened(value, tokens)
    gone = target.pop(last if isinstance(target, dict) else int(last))
    given_back: list[bytes] = []
    check_edit(value, tokens, expected, lambda tree: given_back.append(bytes(tree.remove((*tokens, last)))))
    assert given_back == [gone.data]


# ── examples ──

SHOP = (
    '{"b": 1.10, "a": [1e2, -0.0,\t{"deep" : "\\u00e9"}], "z": { "k":1,"k2" : 2 }, "n": 123456789012345678901234567890}'
)


def test_an_edit_keeps_the_order_of_keys_and_the_spelling_of_everything_else() -> None:
    changed = edited(SHOP, lambda tree: tree.put(("a", "1"), raw("0")))
    assert changed == (
        '{"b":1.10,"a":[1e2,0,{"deep" : "\\u00e9"}],"z":{ "k":1,"k2" : 2 },"n":123456789012345678901234567890}'
    )


def test_a_replaced_key_keeps_its_position_and_a_new_one_comes_last() -> None:
    assert edited('{"b":1,"a":2}', lambda tree: tree.put(("b",), raw("3"))) == '{"b":3,"a":2}'
    assert edited('{"b":1,"a":2}', lambda tree: tree.put(("c",), raw("3"))) == '{"b":1,"a":2,"c":3}'


def test_the_whole_value_can_be_read_set_and_replaced() -> None:
    for text in ("null", "0", '""', "[]", "{}", "false", "-0.0", '"\\u0000"'):
        assert Tree(text.encode()).get(()) == text.encode()
        assert edited(SHOP, lambda tree, text=text: tree.put((), raw(text))) == text  # type: ignore[misc]
        assert edited(text, lambda tree: tree.replace((), raw("[1, 2]"))) == "[1, 2]"
        assert edited(text, lambda tree: tree.add((), raw("1.0"))) == "1.0"


def test_keys_of_every_script_are_found_in_any_escaping() -> None:
    for text in TEXTS:
        for ascii_only in (True, False):
            source = json.dumps({"x": 0, text: {text: text}}, ensure_ascii=ascii_only, separators=(",", ":")).encode()
            assert json.loads(Tree(source).get((text, text))) == text
            tree = Tree(source)
            tree.put((text, "new " + text), raw(json.dumps(text)))
            assert json.loads(tree.dump()) == {"x": 0, text: {text: text, "new " + text: text}}


def test_of_duplicate_keys_the_last_counts() -> None:
    text = b'{"a":1, "b":2, "\\u0061":3}'
    assert Tree(text).get(("a",)) == b"3"
    assert Tree(text).get(()) == text
    assert edited(text.decode(), lambda tree: tree.put(("c",), raw("4"))) == '{"a":3,"b":2,"c":4}'


def test_later_edits_do_not_change_a_copy() -> None:
    tree = Tree(b'{"a":{"b":[1]}}')
    tree.add(("c",), tree.copy(("a",)))
    tree.add(("a", "b", "-"), raw("2"))
    tree.put(("c", "b", "0"), raw("0"))
    assert tree.dump() == b'{"a":{"b":[1,2]},"c":{"b":[0]}}'


@pytest.mark.parametrize(
    ("pointer", "sentence"),
    [
        ("/nope", "there is no key 'nope' at the top"),
        ("/z/a~1b/c", "there is no key 'a/b' at '/z'"),
        ("/b/x", "the value at '/b' is neither an object nor a list"),
        ("/a/2/deep/0", "the value at '/a/2/deep' is neither an object nor a list"),
        ("/a/3", "index 3 is past the end of the list at '/a', which has 3 elements"),
        ("/a/01", "'01' is not an index of the list at '/a'"),
        ("/a/-1", "'-1' is not an index of the list at '/a'"),
        ("/a/-", "'-' is not an index of the list at '/a'"),
        ("/a/deep", "'deep' is not an index of the list at '/a'"),
    ],
)
def test_a_missing_value_cannot_be_read_replaced_or_removed(pointer: str, sentence: str) -> None:
    tokens = parse(pointer)
    for attempt in (Tree.get, Tree.copy, Tree.remove, lambda tree, where: tree.replace(where, raw("1"))):
        tree = Tree(SHOP.encode())
        with pytest.raises(Missing) as caught:
            attempt(tree, tokens)
        assert str(caught.value) == sentence
        assert wording(tree.dump()) == wording(SHOP)


@pytest.mark.parametrize("pointer", ["/nope/x", "/b/x", "/a/4", "/a/01", "/a/-1", "/a/x", "/a/-/x", f"/a/{'9' * 5000}"])
def test_a_value_cannot_be_set_where_it_would_leave_a_gap(pointer: str) -> None:
    for attempt in (Tree.put, Tree.add):
        tree = Tree(SHOP.encode())
        with pytest.raises(Missing):
            attempt(tree, parse(pointer), raw("1"))
        assert wording(tree.dump()) == wording(SHOP)


def test_the_whole_value_cannot_be_removed() -> None:
    with pytest.raises(Missing, match="cannot be removed"):
        Tree(b"[1]").remove(())


def test_an_edit_cannot_exceed_the_depth_limit() -> None:
    text = nested(400)
    place = ("0", "") * 200
    tree = Tree(text)
    tree.put(place, raw(nested(100)))
    assert Tree(tree.dump()).get(place) == nested(100)
    for attempt in (Tree.put, Tree.add, Tree.replace):
        with pytest.raises(FindspotError, match="nested more than 500 levels deep") as caught:
            attempt(Tree(text), place, raw(nested(101)))
        assert caught.value.code == "INVALID_ARGUMENT"
