"""Reading the elements of a list in parts."""

import json
from typing import Any

import pytest
from hypothesis import given

from findspot.jsontext import lists
from findspot.jsontext.check import depth
from findspot.jsontext.compare import canonical, canonical_number, equal
from findspot.jsontext.lists import BATCH, elements, parts
from tests.jsontext.cases import meaning
from tests.jsontext.spelling import Spelled, no_time_limit, values

HARD: list[Any] = [
    *(1, -0.5, None, "", 'a\\"b,]', "\\", '\\\\"', "]}", "世界 🚗 e\u0301, ["),
    *([1, [2, {"k": "]"}]], {"a": [1, 2]}, []),
]


@pytest.fixture
def tiny_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lists, "BATCH", 7)
    monkeypatch.setattr("findspot.jsontext.compare.BATCH", 7)


def spelled(value: Any, **options: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, **options).encode()


def test_a_long_list_is_read_in_parts_and_every_element_arrives() -> None:
    long = HARD * 20_000
    text = spelled(long)
    assert [json.loads(bytes(each)) for each in elements(text)] == long
    assert max(map(len, parts(text))) < 2 * BATCH


@pytest.mark.usefixtures("tiny_batches")
def test_parts_end_between_elements_wherever_a_batch_ends() -> None:
    for shift in range(30):
        long = ["x" * shift, *HARD * 3]
        for text in (spelled(long), spelled(long, indent=1), json.dumps(long).encode()):
            assert [json.loads(bytes(each)) for each in elements(text)] == long
            assert [each for part in parts(text) for each in json.loads(part)] == long


@pytest.mark.usefixtures("tiny_batches")
def test_an_element_larger_than_a_batch_stays_whole() -> None:
    long = [1, "x" * 10_000, [["y" * 9_000] * 3], 2]
    assert [json.loads(bytes(each)) for each in elements(spelled(long))] == long
    assert list(elements(b"[]")) == list(elements(b"[ \n ]")) == []


@pytest.mark.usefixtures("tiny_batches")
def test_long_lists_are_equal_if_all_elements_are_whatever_their_spelling() -> None:
    text = spelled(HARD * 3)
    assert equal(text, spelled(HARD * 3, indent=1))
    assert equal(text, json.dumps(HARD * 3, separators=(",", ":")).encode())
    for longer in (HARD * 3 + [1], HARD * 4, HARD * 3 + [None]):
        assert not equal(text, spelled(longer))
        assert not equal(spelled(longer), text)
    for at in range(len(HARD) * 3):
        other = HARD * 3
        other[at] = "another"
        assert not equal(text, spelled(other))
    ones = b"[" + b"1," * 20 + b"1]"
    for count in range(1, 25):  # one list ends where a batch of the other ends
        assert equal(ones, b"[" + b"1," * (count - 1) + b"1]") is (count == 21)


@no_time_limit
@given(values, values)
def test_two_texts_have_the_same_canonical_text_if_and_only_if_they_are_equal(one: Spelled, other: Spelled) -> None:
    assert (canonical(one.data) == canonical(other.data)) is equal(one.data, other.data)
    assert (canonical(one.data) == canonical(other.data)) is (meaning(one.text) == meaning(other.text))


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("1", "1.0", True),
        ("10", "1e1", True),
        ("-0", "0.000e5", True),
        ("1E400", "10e+399", True),
        ("0.1", "1e-1", True),
        ("100000000000000000000000000000001", "1.00000000000000000000000000000001e32", True),
        ("0.1", "0.10000000000000001", False),
        ("1", "-1", False),
        ("12", "1.2", False),
        ("1e" + "9" * 5000, "1e" + "9" * 5000, True),
    ],
)
def test_numbers_compare_by_value(one: str, other: str, same: bool) -> None:
    assert (canonical_number(one) == canonical_number(other)) is same
    assert equal(one.encode(), other.encode()) is same


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (b'{"a":1,"b":[2.0]}', b'{ "b" : [2], "a": 1e0 }', True),
        (b'"\\u4e16\\u754c"', '"世界"'.encode(), True),
        ('"é"'.encode(), '"e\u0301"'.encode(), False),
        (b'"1"', b"1", False),
        (b"true", b"1", False),
        (b"[1,2]", b"[2,1]", False),
        (b'{"a":null}', b"{}", False),
    ],
)
def test_other_values_compare_as_json(one: bytes, other: bytes, same: bool) -> None:
    assert equal(one, other) is same
    assert (canonical(one) == canonical(other)) is same


def test_the_depth_of_a_text_is_found_across_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    text = spelled({"a\\": ["]", [['\\"[['], {}]], "b": "[[[[" * 50})
    for size in range(1, 40):
        monkeypatch.setattr("findspot.jsontext.check._SLICE", size)
        assert depth(text) == 4
