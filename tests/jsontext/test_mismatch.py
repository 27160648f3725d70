"""What is said about JSON that does not have the expected type."""

from typing import Literal

import msgspec
import pytest

from findspot.jsontext.mismatch import mismatch


class Part(msgspec.Struct, forbid_unknown_fields=True):
    id: int
    format: Literal["text", "markdown"] | None = None


class Add(msgspec.Struct, tag_field="op", tag="add"):
    path: str


class Move(msgspec.Struct, tag_field="op", tag="move"):
    source: str = msgspec.field(name="from")


class Request(msgspec.Struct, forbid_unknown_fields=True):
    query: str
    top_k: int | float | None = None  # takes 5.0 as an integer
    size: float = 0
    key: int | str = 0
    parts: list[Part] = []
    steps: list[Add | Move] = []


class Nothing(msgspec.Struct, forbid_unknown_fields=True):
    """No fields."""


def complaint(text: str, type: type[msgspec.Struct] = Request) -> str:
    with pytest.raises(msgspec.ValidationError) as caught:
        msgspec.json.decode(text, type=type)
    error = mismatch(caught.value, type, "arguments")
    assert error.code == "INVALID_ARGUMENT"
    assert error.message.startswith(f"{error.fields['field']}: ")
    return error.message


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"query": 5}', "query: must be a string, not an integer"),
        ('{"query": null}', "query: must be a string, not null"),
        ('{"query": ["潮汐"]}', "query: must be a string, not an array"),
        ('{"query": "潮汐", "top_k": "3"}', "top_k: must be an integer or null, not a string"),
        ('{"query": "潮汐", "size": "3"}', "size: must be a number, not a string"),
        ('{"query": "潮汐", "key": true}', "key: must be an integer or a string, not a boolean"),
        ('{"query": "潮汐", "parts": [{"id": {}}]}', "parts[0].id: must be an integer, not an object"),
        ("[]", "arguments: must be an object, not an array"),
    ],
)
def test_a_wrong_type_is_named_in_the_words_of_json(text: str, said: str) -> None:
    assert complaint(text) == said


def test_an_unknown_field_is_refused_with_the_known_ones() -> None:
    assert complaint('{"q": "潮汐"}') == "q: is unknown; the known fields are query, top_k, size, key, parts, steps"
    nested = '{"query": "潮汐", "parts": [{"id": 1}, {"id": 2, "标题": 3}]}'
    assert complaint(nested) == "parts[1].标题: is unknown; the known fields are id, format"
    assert complaint('{"q": 1}', Nothing) == "q: is unknown; no field is expected"


def test_a_missing_field_is_named_with_its_place() -> None:
    assert complaint("{}") == "query: is missing"
    assert complaint('{"query": "潮汐", "steps": [{"op": "move"}]}') == "steps[0].from: is missing"


def test_a_value_that_is_not_allowed_is_refused_with_those_that_are() -> None:
    text = '{"query": "潮汐", "parts": [{"id": 1, "format": "html"}]}'
    assert complaint(text) == "parts[0].format: must be 'markdown' or 'text'"
    assert complaint('{"query": "潮汐", "steps": [{"op": "ad"}]}') == "steps[0].op: must be 'add' or 'move'"


def test_the_name_of_an_unknown_field_is_shortened() -> None:
    said = complaint(f'{{"{"潮" * 500}": 1}}', Nothing)
    assert said == f"{'潮' * 79}…: is unknown; no field is expected"
