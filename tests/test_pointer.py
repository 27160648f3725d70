"""JSON pointers as RFC 6901 has them."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from findspot import pointer as pointers
from findspot.errors import FindspotError
from findspot.jsontext.tree import Tree
from findspot.pointer import Missing
from tests.jsontext.cases import TEXTS, naughty_strings, pointer_table
from tests.jsontext.spelling import no_time_limit

tokens_of_a_pointer = st.lists(st.text("ab/~01-", max_size=3) | st.text(max_size=3), max_size=4).map(tuple)


@pytest.mark.scenario("D04")
def test_every_pointer_of_the_rfc_resolves_to_its_value() -> None:
    table = pointer_table()
    text = json.dumps(table.document).encode()
    found = {case.pointer: json.loads(Tree(text).get(pointers.parse(case.pointer))) for case in table.valid}
    assert len(found) == 12
    assert found == {case.pointer: case.value for case in table.valid}


def test_every_invalid_pointer_is_refused_or_does_not_resolve() -> None:
    table = pointer_table()
    text = json.dumps(table.document).encode()
    outcomes = {}
    for pointer in table.must_fail:
        with pytest.raises((FindspotError, Missing)) as caught:
            Tree(text).get(pointers.parse(pointer))
        outcomes[pointer] = caught.type
    assert {pointer for pointer, outcome in outcomes.items() if outcome is FindspotError} == {"foo", "/a~2b", "/m~n"}


@pytest.mark.scenario("D04")
def test_the_pointer_to_any_key_resolves_to_that_key() -> None:
    keys = [*TEXTS, *naughty_strings(), "", "/", "~", "~1", "~0", "~01", "~10", "a/b~c", "//", "~~", "0", "-"]
    text = json.dumps({key: [at] for at, key in enumerate(keys)}).encode()
    last = {key: at for at, key in enumerate(keys)}
    for key, at in last.items():
        pointer = pointers.write((key, "0"))
        assert pointer.count("/") == 2
        assert Tree(text).get(pointers.parse(pointer)) == str(at).encode()


@pytest.mark.parametrize(
    ("pointer", "expected"),
    [
        ("", ""),
        ("/章/a", "/章/a"),
        ("/a/b\0/c", "/a"),
        ("/\0", ""),
        ("/" + "k" * 2399, "/" + "k" * 2399),
        ("/章/" + "k" * 2396, "/章"),
        ("/a/" + "章" * 800 + "/b", "/a"),
        ("/a" * 50_000, "/a" * 1200),
    ],
)
def test_a_pointer_that_the_store_cannot_index_becomes_the_nearest_one_above(pointer: str, expected: str) -> None:
    assert pointers.indexable(pointer) == expected


@pytest.mark.scenario("D04")
@no_time_limit
@given(tokens_of_a_pointer)
def test_writing_and_parsing_are_inverse(tokens: tuple[str, ...]) -> None:
    assert pointers.parse(pointers.write(tokens)) == tokens


@pytest.mark.parametrize(
    ("pointer", "tokens"),
    [
        ("", ()),
        ("/", ("",)),
        ("//", ("", "")),
        ("/a~1b", ("a/b",)),
        ("/m~0n", ("m~n",)),
        ("/~01", ("~1",)),
        ("/~10", ("/0",)),
        ("/~0~1~0", ("~/~",)),
        ("/%2F/+/ /\\", ("%2F", "+", " ", "\\")),
        ("/世界/繁體/👩‍👩‍👧/e\u0301/\u2028/\x00", ("世界", "繁體", "👩‍👩‍👧", "e\u0301", "\u2028", "\x00")),
    ],
)
def test_a_pointer_is_parsed_into_its_tokens(pointer: str, tokens: tuple[str, ...]) -> None:
    assert pointers.parse(pointer) == tokens
    assert pointers.write(tokens) == pointer


@pytest.mark.parametrize("pointer", ["a", "a/b", "0", "-", " /a", "~0", "#/a", "世界"])
def test_a_pointer_that_does_not_start_with_a_slash_is_refused(pointer: str) -> None:
    with pytest.raises(FindspotError, match="starts with '/'") as caught:
        pointers.parse(pointer)
    assert (caught.value.code, caught.value.fields) == ("INVALID_ARGUMENT", {"field": "json_pointer"})


@pytest.mark.parametrize("pointer", ["/~", "/a~", "/a~/b", "/~2", "/~~0", "/a/~b", "/~０"])
def test_a_tilde_that_is_not_an_escape_is_refused(pointer: str) -> None:
    with pytest.raises(FindspotError, match="must be written '~0'") as caught:
        pointers.parse(pointer, "from")
    assert (caught.value.code, caught.value.fields) == ("INVALID_ARGUMENT", {"field": "from"})


@pytest.mark.parametrize(
    ("scope", "pointer", "held"),
    [
        ("", "", True),
        ("", "/", True),
        ("", "/a", True),
        ("/a", "/a", True),
        ("/a", "/a/b", True),
        ("/a", "/a/", True),
        ("/a", "/ab", False),
        ("/a", "/a~1b", False),
        ("/a", "/a~0", False),
        ("/a", "", False),
        ("/a/b", "/a", False),
        ("/", "/", True),
        ("/", "//a", True),
        ("/", "/a", False),
        ("/1", "/10", False),
        ("/a", "/A", False),
        ("/世", "/世/界", True),
        ("/世", "/世界", False),
        ("/e", "/e\u0301", False),
    ],
)
def test_a_scope_holds_itself_and_everything_below_it(scope: str, pointer: str, held: bool) -> None:
    assert pointers.holds(scope, pointer) is held


@no_time_limit
@given(tokens_of_a_pointer, tokens_of_a_pointer)
def test_a_scope_holds_exactly_the_pointers_that_begin_with_its_tokens(
    scope: tuple[str, ...], more: tuple[str, ...]
) -> None:
    for tokens in (scope + more, more, more + scope):
        held = tokens[: len(scope)] == scope
        assert pointers.holds(pointers.write(scope), pointers.write(tokens)) is held


@pytest.mark.parametrize(("token", "index"), [("0", 0), ("1", 1), ("10", 10), ("999999999999999999", 10**18 - 1)])
def test_a_token_of_plain_digits_is_an_index(token: str, index: int) -> None:
    assert pointers.index(token) == index


@pytest.mark.parametrize(
    "token",
    [
        "",
        "01",
        "00",
        "-1",
        "-0",
        "-",
        "+1",
        "1e0",
        "1.0",
        " 0",
        "0 ",
        "0\n",
        "1_0",
        "0x1",
        "٠",
        "１",
        "²",
        "a",
        "9" * 5000,
    ],
)
def test_any_other_token_is_no_index(token: str) -> None:
    assert pointers.index(token) is None
