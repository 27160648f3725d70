"""JSON Patch (RFC 6902): all operations, or none."""

import json
from typing import Any

import pytest
from hypothesis import given

from findspot.errors import FindspotError
from findspot.jsontext.compare import equal
from findspot.jsontext.operations import patch
from findspot.jsontext.patch import changed_pointers, read_steps
from tests.jsontext.cases import TEXTS, meaning, nested, patch_cases
from tests.jsontext.spelling import Spelled, no_time_limit, values

LIMIT = 10_000_000


def patched(text: bytes | str, *steps: dict[str, Any], limit: int = LIMIT) -> str:
    data = text.encode() if isinstance(text, str) else text
    return patch(data, json.dumps(steps).encode(), limit)[0].decode()


def refused(text: bytes | str, *steps: dict[str, Any], limit: int = LIMIT) -> FindspotError:
    with pytest.raises(FindspotError) as caught:
        patched(text, *steps, limit=limit)
    return caught.value


def test_every_case_of_the_patch_suite_has_the_expected_result() -> None:
    cases = patch_cases()
    assert len(cases) == 112
    wrong: list[tuple[str, object]] = []
    for case in cases:
        try:
            result, _ = patch(bytes(case.doc), bytes(case.patch), 1_000_000)
        except FindspotError as error:
            if not case.error or error.code not in ("INVALID_ARGUMENT", "PATCH_CONFLICT"):
                wrong.append((case.name, error.body()))
        else:
            expected = bytes(case.expected)
            if case.error or (expected and meaning(result) != meaning(expected)):
                wrong.append((case.name, result))
    assert wrong == []


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("{}", "it must be an array, not an object"),
        ("null", "it must be an array, not null"),
        ("[1]", "[0] must be an object"),
        ('[{"path": ""}]', "op"),
        ('[{"op": "add", "path": "/a"}]', "value"),
        ('[{"op": "copy", "path": "/a"}]', "from"),
        ('[{"op": "test", "path": "", "value": {}}, {"op": "remove", "path": null}]', "[1].path must be a string"),
        ('[{"op": "spam", "path": "/a"}]', "[0].op must be 'add', 'remove'"),
        ('[{"op": "ADD", "path": "/a", "value": 1}]', "[0].op must be 'add'"),
        ('[{"op": null, "path": "/a", "value": 1}]', "op"),
        ('[{"op": "add", "path": "/a", "value": 1, "op": "remove"}]', "op"),
    ],
)
def test_an_invalid_patch_is_refused_with_the_position(text: str, place: str) -> None:
    with pytest.raises(FindspotError, match="is not a JSON Patch") as caught:
        read_steps(text.encode())
    assert caught.value.code == "INVALID_ARGUMENT"
    assert place in caught.value.message


def test_unknown_members_are_ignored() -> None:
    assert patched("{}", {"op": "add", "path": "/a", "value": None, "why": {"x": [1]}, "from": 7}) == '{"a":null}'


def test_an_empty_patch_changes_no_byte() -> None:
    assert patched('{ "b" : 1.0 }') == '{ "b" : 1.0 }'


# ── all or nothing ──


def test_a_failing_operation_stops_the_patch_and_is_named() -> None:
    good = {"op": "replace", "path": "/a", "value": 2}
    error = refused('{"a":1}', good, {"op": "remove", "path": "/x~1y"}, good)
    assert error.body() == {
        "code": "PATCH_CONFLICT",
        "message": "Operation 1 (remove '/x~1y') failed: there is no key 'x/y' at the top. Nothing was changed.",
        "operation": 1,
    }


@pytest.mark.parametrize(
    ("step", "field"),
    [
        ({"op": "add", "path": "a", "value": 1}, "[1].path"),
        ({"op": "test", "path": "/a~2", "value": 1}, "[1].path"),
        ({"op": "move", "path": "/b", "from": "a"}, "[1].from"),
        ({"op": "copy", "path": "/b", "from": "/~"}, "[1].from"),
    ],
)
def test_a_malformed_pointer_in_the_middle_is_named(step: dict[str, Any], field: str) -> None:
    good = {"op": "replace", "path": "/a", "value": 2}
    error = refused('{"a":1}', good, step, good)
    assert (error.code, error.fields) == ("INVALID_ARGUMENT", {"field": field})


def test_later_operations_see_the_effect_of_earlier_ones() -> None:
    assert patched(
        '{"a": {"b": [1, 2]}}',
        {"op": "add", "path": "/a/b/1", "value": 1.5},
        {"op": "test", "path": "/a", "value": {"b": [1, 1.5, 2]}},
        {"op": "move", "from": "/a/b", "path": "/c"},
        {"op": "copy", "from": "/c/1", "path": "/c/-"},
        {"op": "test", "path": "", "value": {"a": {}, "c": [1, 1.5, 2, 1.5]}},
        {"op": "remove", "path": "/a"},
    ) == ('{"c":[1,1.5,2,1.5]}')


# ── move and copy ──


@pytest.mark.parametrize(("source", "path"), [("/a", "/a/b"), ("/a", "/a/b/c"), ("", "/a"), ("/a/b", "/a/b/0")])
def test_a_value_cannot_be_moved_into_itself(source: str, path: str) -> None:
    error = refused('{"a":{"b":{}}}', {"op": "move", "from": source, "path": path})
    assert error.code == "PATCH_CONFLICT"
    assert "cannot be moved into itself" in error.message


def test_a_value_can_be_moved_onto_itself_to_its_parent_and_beside_a_key_with_the_same_prefix() -> None:
    text = '{"a":{"b":1},"ab":2}'
    assert meaning(patched(text, {"op": "move", "from": "/a", "path": "/a"})) == meaning(text)
    assert patched(text, {"op": "move", "from": "/a/b", "path": "/a"}) == '{"a":1,"ab":2}'
    assert patched(text, {"op": "move", "from": "/a", "path": "/abc"}) == '{"ab":2,"abc":{"b":1}}'
    assert patched(text, {"op": "move", "from": "/a/b", "path": ""}) == "1"
    assert refused(text, {"op": "move", "from": "/x", "path": "/x"}).code == "PATCH_CONFLICT"


def test_a_list_element_can_be_moved_to_either_side() -> None:
    assert patched("[1, 2, 3]", {"op": "move", "from": "/0", "path": "/2"}) == "[2,3,1]"
    assert patched("[1, 2, 3]", {"op": "move", "from": "/2", "path": "/0"}) == "[3,1,2]"
    assert refused("[1, 2, 3]", {"op": "move", "from": "/0", "path": "/3"}).code == "PATCH_CONFLICT"


def test_a_value_can_be_copied_into_itself() -> None:
    assert patched('{"a": [ 1 ]}', {"op": "copy", "from": "", "path": "/a/0"}) == '{"a":[{"a": [ 1 ]},1]}'


@pytest.mark.parametrize(
    ("text", "step", "times"),
    [
        ('{"a":["x"]}', {"op": "copy", "from": "/a", "path": "/a/-"}, 22),
        ('{"a":{"k":"x"}}', {"op": "copy", "from": "/a", "path": "/a/b"}, 300),
        (json.dumps(["x" * 1000]), {"op": "copy", "from": "/0", "path": "/-"}, 200),
        ('["x"]', {"op": "copy", "from": "", "path": "/-"}, 22),
    ],
)
def test_repeated_copies_are_limited(text: str, step: dict[str, Any], times: int) -> None:
    error = refused(text, *[step] * times, limit=100_000)
    assert error.body() == {
        "code": "CONTENT_TOO_LARGE",
        "message": "The patch copies more than 100000 bytes in total.",
        "limit": 100_000,
    }


def test_a_patch_whose_result_exceeds_the_limit_is_refused() -> None:
    error = refused("[]", *[{"op": "add", "path": "/-", "value": "x" * 40}] * 3, limit=100)
    assert (error.code, error.fields) == ("CONTENT_TOO_LARGE", {"limit": 100})
    assert refused("[]", {"op": "add", "path": "/-", "value": 1}, limit=2).code == "CONTENT_TOO_LARGE"
    assert patched("[]", {"op": "add", "path": "/-", "value": 1}, limit=3) == "[1]"


def test_a_patch_cannot_exceed_the_depth_limit() -> None:
    text = nested(300)
    error = refused(text, {"op": "copy", "from": "", "path": "/0/" + "/0/" * 100})
    assert error.code == "INVALID_ARGUMENT"
    assert "nested more than 500 levels deep" in error.message


def test_a_value_at_the_depth_limit_can_be_added_and_tested() -> None:
    deep = nested(500)
    step = b'[{"op":"%s","path":"","value":' + deep + b"}]"
    assert patch(b"1", step.replace(b"%s", b"replace"), 1_000_000)[0] == deep
    assert patch(deep, step.replace(b"%s", b"test"), 1_000_000)[0] == deep


# ── when are two values equal? ──

HUGE = "9" * 6000


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1", "1.0"),
        ("1", "1e0"),
        ("10", "1E+1"),
        ("0", "-0.0"),
        ("100", "1.00e2"),
        ("1e400", "10e399"),
        ("-1.5e-400", "-15e-401"),
        (HUGE, HUGE + ".0"),
        (HUGE, HUGE[:-1] + "9e0"),
        ("1e99999999999999999999", "1e99999999999999999999"),
        ('"é"', '"\\u00E9"'),
        ('"\\/"', '"/"'),
        ('"😀"', '"\\ud83d\\uDE00"'),
        ('{"a":1,"b":[true,null]}', ' { "b" : [ true , null ] , "a" : 1.0 } '),
        ('{"\\u0061":1}', '{"a":1}'),
    ],
)
def test_equal_values_may_be_spelled_differently(one: str, other: str) -> None:
    assert equal(one.encode(), other.encode())
    assert equal(other.encode(), one.encode())


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1", "true"),
        ("0", "false"),
        ("0", "null"),
        ("false", "null"),
        ("1", '"1"'),
        ("1e99999999999999999999", '"1e99999999999999999999"'),
        ("1e400", "1e401"),
        ("1e400", "2e400"),
        ("9007199254740993", "9007199254740992"),
        ("0.1", "0.10000000000000000001"),
        (HUGE, HUGE[:-1] + "8"),
        ("[]", "{}"),
        ("[]", "null"),
        ("[1,2]", "[2,1]"),
        ("[1]", "[1,1]"),
        ("[[1]]", "[[true]]"),
        ('{"a":1}', '{"a":1,"b":1}'),
        ('{"a":1}', '{"b":1}'),
        ('{"a":{"b":1}}', '{"a":{"b":false}}'),
        ('"a"', '"A"'),
        ('"é"', '"e\u0301"'),
        ('"a"', '"a\\u0000"'),
    ],
)
def test_values_of_another_type_or_value_are_not_equal(one: str, other: str) -> None:
    assert not equal(one.encode(), other.encode())
    assert not equal(other.encode(), one.encode())


@no_time_limit
@given(values, values)
def test_equality_agrees_with_the_decoded_values(one: Spelled, other: Spelled) -> None:
    assert equal(one.data, one.data)
    assert equal(one.data, other.data) is (meaning(one.text) == meaning(other.text))


def test_the_test_operation_changes_nothing() -> None:
    for text in TEXTS:
        document = json.dumps({text: {"n": 1.0}})
        path = "/" + text.replace("~", "~0").replace("/", "~1")
        assert meaning(patched(document, {"op": "test", "path": path, "value": {"n": 1}})) == meaning(document)
        assert refused(document, {"op": "test", "path": path, "value": {"n": True}}).code == "PATCH_CONFLICT"


@pytest.mark.parametrize(
    ("steps", "places"),
    [
        ([{"op": "replace", "path": "/a/0", "value": 1}], ["/a/0"]),
        ([{"op": "add", "path": "/a/0", "value": 1}], ["/a"]),  # the others move up
        ([{"op": "add", "path": "/a/-", "value": 1}], ["/a"]),
        ([{"op": "remove", "path": "/a/书"}], ["/a/书"]),
        ([{"op": "move", "from": "/a/1", "path": "/b"}], ["/b", "/a"]),
        ([{"op": "copy", "from": "/a/1", "path": "/b"}], ["/b"]),
        ([{"op": "test", "path": "/a", "value": 1}], []),
        ([{"op": "add", "path": f"/{n}x", "value": 1} for n in range(51)], [""]),
    ],
)
def test_a_patch_reports_the_pointers_that_may_have_changed(steps: list[dict[str, Any]], places: list[str]) -> None:
    assert changed_pointers(read_steps(json.dumps(steps).encode())) == places
