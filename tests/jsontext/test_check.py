"""Which texts are accepted as JSON, and which are refused."""

import json

import pytest
from hypothesis import given

from findspot.errors import FindspotError
from findspot.jsontext.check import check, depth
from tests.jsontext.cases import TEXTS, naughty_strings, nested, suite
from tests.jsontext.spelling import Spelled, no_time_limit, values

WHITE = b" \t\n\r"
HIGH, LOW = "\\ud83d", "\\udE00"


def refusal(text: bytes) -> FindspotError | None:
    try:
        check(text)
    except FindspotError as error:
        return error
    return None


def test_every_valid_text_of_the_suite_is_accepted_unchanged() -> None:
    accepted = suite("y_")
    assert len(accepted) == 95
    assert [name for name, text in accepted.items() if check(text) != text.strip(WHITE)] == []


def test_every_invalid_text_of_the_suite_is_refused() -> None:
    refused = suite("n_")
    assert len(refused) == 188
    answers = {name: refusal(text) for name, text in refused.items()}
    assert [name for name, error in answers.items() if error is None or error.code != "INVALID_ARGUMENT"] == []
    assert [name for name, error in answers.items() if error and error.fields != {"field": "body"}] == []


def test_where_parsers_may_differ_numbers_are_accepted_and_broken_text_is_refused() -> None:
    free = suite("i_")
    answers = {name: refusal(text) for name, text in free.items()}
    kept = {name for name, error in answers.items() if error is None}
    assert kept == {name for name in free if name.startswith("i_number_")} | {"i_structure_500_nested_arrays"}
    assert len(kept) == 11
    sentences = {error.message.split(":")[1].strip() for error in answers.values() if error}
    reasons = ("is not valid JSON", "is not valid UTF-8 near byte", "contains a lone surrogate")
    assert [sentence for sentence in sentences if not sentence.startswith(reasons)] == []


def test_numbers_keys_and_escapes_that_parsers_change_are_unchanged() -> None:
    for name in ("number_", "object_", "string_with_escaped_NULL"):
        assert [each for each, text in suite(name).items() if check(text) != text.strip(WHITE)] == []


@pytest.mark.parametrize(
    "half", ["\\ud800", "\\uDBFF", "\\udc00", "\\uDfff", LOW + HIGH, HIGH + HIGH, HIGH + "\\\\" + LOW]
)
def test_a_lone_surrogate_in_a_key_or_value_is_refused_with_the_reason(half: str) -> None:
    for after in ("", "a", "abcdefghijkl", "\\n", "\\\\", "\\u0041", "\\u1234abcdef", "世界"):
        string = f'"before{half}{after}"'
        for text in (string, f"[1, {string}]", f"{{{string}: 1}}", f'{{"a": {{"b": {string}}}}}'):
            error = refusal(text.encode())
            assert error is not None, text
            assert error.body() == {
                "code": "INVALID_ARGUMENT",
                "message": "body: contains a lone surrogate, which is half a character",
                "field": "body",
            }


def test_a_surrogate_written_in_bytes_is_refused() -> None:
    error = refusal("""["\ud83d\ude00"]""".encode("utf-8", "surrogatepass"))
    assert error is not None
    assert error.message == "body: is not valid UTF-8 near byte 2"


@pytest.mark.parametrize(
    "text", [f'"{HIGH}{LOW}"', r'"\\ud800"', r'"\\\\udc00"', r'["\\", "ud800"]', r'"\ue000\ud7ff"']
)
def test_surrogate_pairs_and_escaped_backslashes_are_accepted(text: str) -> None:
    assert check(text.encode()) == text.encode()


def test_text_of_every_script_is_unchanged() -> None:
    for text in (*TEXTS, *naughty_strings()):
        for spelled in (json.dumps({text: text}), json.dumps({text: [text]}, ensure_ascii=False)):
            assert check(spelled.encode()) == spelled.encode()


def test_five_hundred_levels_are_accepted() -> None:
    for text in (nested(500), nested(499), b"[" * 500 + b"]" * 500, b'{"[":' * 500 + b'"{"' + b"}" * 500):
        assert check(text) == text


@pytest.mark.parametrize("levels", [501, 502, 990, 999, 1000, 1001, 5_000, 100_000])
def test_more_than_five_hundred_levels_are_refused_with_the_reason(levels: int) -> None:
    for text in (nested(levels), b"[" * levels + b"]" * levels, b'{"a":' * levels + b"1" + b"}" * levels):
        error = refusal(text)
        assert error is not None
        assert error.body() == {
            "code": "INVALID_ARGUMENT",
            "message": "body: is nested more than 500 levels deep",
            "field": "body",
        }


def test_depth_ignores_brackets_inside_strings() -> None:
    assert depth(b"1") == 0
    assert depth(b'"[[["') == 0
    assert depth(b'[[],[],{"[{":[]}]') == 3
    assert depth(rb'["\\", "[\"[", "\\\"[[", [""]]') == 2


def naive_depth(text: str) -> int:
    """Count one character at a time."""
    deepest = level = at = 0
    in_string = False
    while at < len(text):
        character = text[at]
        if in_string:
            at += character == "\\"
            in_string = character != '"'
        elif character == '"':
            in_string = True
        elif character in "[{":
            level += 1
        elif character in "]}":
            level -= 1
        deepest, at = max(deepest, level), at + 1
    return deepest


@no_time_limit
@given(values)
def test_depth_agrees_with_a_character_by_character_count(value: Spelled) -> None:
    assert depth(value.data) == naive_depth(value.text)


@no_time_limit
@given(values)
def test_every_spelling_of_a_value_is_unchanged(value: Spelled) -> None:
    assert check(b"\r\n\t " + value.data + b" \n") == value.data


@pytest.mark.parametrize("around", ["\ufeff", "\u00a0", "\x0b", "\x0c", "\u2028", "\x00"])
def test_white_space_that_is_not_json_white_space_is_refused(around: str) -> None:
    for text in (f"{around}[]", f"[]{around}"):
        assert refusal(text.encode()) is not None


@pytest.mark.parametrize("text", [b"", b" ", b"\r\n\t "])
def test_an_empty_text_is_refused(text: bytes) -> None:
    error = refusal(text)
    assert error is not None
    assert error.message == "body: is empty; send a JSON value"


def test_the_error_names_the_field() -> None:
    with pytest.raises(FindspotError) as caught:
        check(b"[1,]", "arguments")
    assert caught.value.fields == {"field": "arguments"}
    assert caught.value.message.startswith("arguments: is not valid JSON")


@pytest.mark.parametrize("shift", range(4))
def test_bytes_are_checked_to_the_end_of_a_text_of_many_slices(shift: int) -> None:
    text = b'"' + b"a" * shift + "😀".encode() * (3 << 18) + b'"'
    assert check(text) == text
    broken = len(text) - 3
    error = refusal(text[:broken] + b"\xff" + text[broken + 1 :])
    assert error is not None
    assert "is not valid UTF-8" in error.message
