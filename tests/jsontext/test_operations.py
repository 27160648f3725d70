"""Operations on JSON texts: what is accepted, read, set and refused."""

import json
from collections.abc import Callable

import pytest

from findspot.errors import FindspotError
from findspot.jsontext.operations import accept, open_table, patch, put, read
from tests.jsontext.cases import TEXTS, nested

LIMIT = 100_000


def refused(operation: Callable[..., object], *arguments: object) -> FindspotError:
    with pytest.raises(FindspotError) as caught:
        operation(*arguments)
    return caught.value


def test_a_value_is_accepted_without_the_white_space_around_it() -> None:
    assert accept(b'\r\n { "a" : 1.0 }\t', LIMIT) == b'{ "a" : 1.0 }'


def test_a_value_over_the_limit_is_refused() -> None:
    assert accept(b"[1, 2]", 6) == b"[1, 2]"
    error = refused(accept, b"[1, 2]", 5)
    assert error.body() == {
        "code": "CONTENT_TOO_LARGE",
        "message": "The table would have 6 bytes; 5 is the limit (FINDSPOT_MAX_TABLE).",
        "limit": 5,
    }


# ── a new table ──


def test_a_new_table_has_a_name_and_the_bytes_of_its_value() -> None:
    assert open_table(b'{"name": "t", "data":  { "b" : 1.10 }  }', LIMIT) == ("t", b'{ "b" : 1.10 }')
    assert open_table(b' {"data":null,"name":"\\u4e16\\u754c"} ', LIMIT) == ("世界", b"null")


def test_a_value_in_a_new_table_may_be_as_deep_as_a_value_alone() -> None:
    assert accept(nested(500), LIMIT) == nested(500)
    assert open_table(b'{"name":"t","data":' + nested(500) + b"}", LIMIT) == ("t", nested(500))
    error = refused(open_table, b'{"name":"t","data":' + nested(501) + b"}", LIMIT)
    assert error.message == "body: is nested more than 500 levels deep"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        (b'{"name":"t"}', "data"),
        (b'{"data":1}', "name"),
        (b'{"name":1,"data":1}', "name"),
        (b'{"name":null,"data":1}', "name"),
        (b'{"name":"t","data":1,"more":2}', "more"),
        (b"[]", "body"),
        (b'"t"', "body"),
        (b'{"name":"t","data":}', "body"),
        (b'{"name":"t","data":"\\ud800"}', "body"),
        (b'{"name":"\\udc00","data":1}', "body"),
        (b"", "body"),
    ],
)
def test_the_invalid_field_of_a_new_table_is_named(body: bytes, field: str) -> None:
    error = refused(open_table, body, LIMIT)
    assert (error.code, error.fields) == ("INVALID_ARGUMENT", {"field": field})
    assert error.message.startswith(field)


def test_only_the_value_of_a_new_table_counts_against_the_limit() -> None:
    assert open_table(b'{"name":"a long name","data":[1]}', 3) == ("a long name", b"[1]")
    assert refused(open_table, b'{"name":"t","data":[1]}', 2).code == "CONTENT_TOO_LARGE"


# ── at a pointer ──


def test_reading_returns_the_bytes_of_the_value() -> None:
    text = b' {"a/b": [ 1.0 , {"~":"\\u00e9"} ] } '
    assert read(text, "") == text.strip()
    assert read(text, "/a~1b") == b'[ 1.0 , {"~":"\\u00e9"} ]'
    assert read(text, "/a~1b/1/~0") == b'"\\u00e9"'


def test_every_script_can_be_read_and_set_at_its_own_pointer() -> None:
    for text in TEXTS:
        pointer = "/" + text.replace("~", "~0").replace("/", "~1")
        table = json.dumps({text: text}).encode()
        assert json.loads(read(table, pointer)) == text
        changed = put(table, pointer, json.dumps([text], ensure_ascii=False).encode(), LIMIT)
        assert json.loads(changed) == {text: [text]}


@pytest.mark.parametrize("pointer", ["/x", "/a/2", "/a/-", "/a/01", "/a/0/x"])
def test_reading_a_missing_value_is_not_found_with_a_reason(pointer: str) -> None:
    error = refused(read, b'{"a":[1,2]}', pointer)
    assert (error.code, error.fields) == ("NOT_FOUND", {"field": "json_pointer"})
    assert error.message.startswith("The JSON pointer leads nowhere: ")


def test_setting_below_a_missing_value_is_not_found() -> None:
    error = refused(put, b'{"a":[1,2]}', "/b/c", b"1", LIMIT)
    assert (error.code, error.fields) == ("NOT_FOUND", {"field": "json_pointer"})


@pytest.mark.parametrize("pointer", ["a", "/~2"])
def test_a_malformed_pointer_is_refused_by_reading_and_setting(pointer: str) -> None:
    for error in (refused(read, b"{}", pointer), refused(put, b"{}", pointer, b"1", LIMIT)):
        assert (error.code, error.fields) == ("INVALID_ARGUMENT", {"field": "json_pointer"})


@pytest.mark.parametrize("value", [b"", b"nope", b"[1,]", b'"\\ud800"', b'"\xff"', b"01", nested(501)])
def test_a_value_that_is_not_json_is_not_set(value: bytes) -> None:
    assert refused(put, b"{}", "/a", value, LIMIT).code == "INVALID_ARGUMENT"


def test_the_limit_counts_the_whole_table_after_the_change() -> None:
    assert put(b"[]", "/-", b"12", 4) == b"[12]"
    assert refused(put, b"[]", "/-", b"123", 4).code == "CONTENT_TOO_LARGE"
    assert refused(put, b"[1, 2]", "", b"12345", 4).code == "CONTENT_TOO_LARGE"


def test_a_patch_is_checked_as_strictly_as_a_value() -> None:
    for steps in (
        b"",
        b"[",
        b'[{"op":"add","path":"/a","value":"\\ud800"}]',
        b'[{"op":"add","path":"/\xff","value":1}]',
    ):
        error = refused(patch, b"{}", steps, LIMIT)
        assert (error.code, error.fields) == ("INVALID_ARGUMENT", {"field": "body"})
