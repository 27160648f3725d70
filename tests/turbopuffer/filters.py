"""Filters: parsed and checked against the schema, then evaluated row by row (docs/query#filtering)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from tests.turbopuffer.errors import bad_request, require
from tests.turbopuffer.schema import Attribute

Row: TypeAlias = Mapping[str, Any]
Test: TypeAlias = Callable[[Row], bool]

MAX_QUERY = 8192  # characters of a full-text query (docs/limits)
TOKEN_FILTERS = ("ContainsAllTokens", "ContainsAnyToken", "ContainsTokenSequence")
_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "Lt": lambda held, given: held < given,
    "Lte": lambda held, given: held <= given,
    "Gt": lambda held, given: held > given,
    "Gte": lambda held, given: held >= given,
}


def parse(given: object, schema: Mapping[str, Attribute], new: Row | None = None) -> Test:
    """Return the test of a filter. `new` are the values that `$ref_new` refers to, in a condition of a write."""
    parts = _parts(given)
    if parts[0] in ("And", "Or") and len(parts) == 2:
        require(isinstance(parts[1], list), f"{parts[0]} takes an array of filters")
        tests = [parse(each, schema, new) for each in parts[1]]
        combine = all if parts[0] == "And" else any
        return lambda row: combine(test(row) for test in tests)
    if parts[0] == "Not" and len(parts) == 2:
        inner = parse(parts[1], schema, new)
        return lambda row: not inner(row)
    require(len(parts) in (3, 4), f"invalid filter {given!r}")
    name, operator, value, *options = parts
    require(isinstance(name, str) and isinstance(operator, str), f"invalid filter {given!r}")
    attribute = schema.get(name)
    require(attribute is not None, f"filter: attribute {name!r} is not in the schema")
    assert attribute is not None
    if operator in TOKEN_FILTERS:
        return _token_filter(name, operator, value, options, attribute)
    require(not options, f"{operator} takes no options")
    require(attribute.filterable, f"filter: attribute {name!r} is not filterable")
    return _value_filter(name, operator, _resolved(value, schema, new), attribute)


def tokens(given: object, attribute: Attribute) -> list[str]:
    """Return the tokens of a full-text query: an array, with pre_tokenized_array (docs/fts#tokenizers)."""
    assert attribute.text is not None
    require(
        isinstance(given, list) and all(isinstance(each, str) for each in given), "the query must be an array of tokens"
    )
    assert isinstance(given, list)
    require(sum(map(len, given)) <= MAX_QUERY, f"a full-text query may have {MAX_QUERY} characters")
    return [each for each in given if len(each.encode()) <= attribute.text.max_token_length]


def is_prefix(options: Sequence[Any]) -> bool:
    """Return whether the last token of a query is a prefix (docs/query#prefix-queries)."""
    if not options:
        return False
    require(isinstance(options[0], dict) and options[0].keys() <= {"last_as_prefix"}, "unknown option")
    return bool(options[0].get("last_as_prefix", False))


def holds(found: Mapping[str, int], token: str, *, prefix: bool) -> bool:
    return any(each.startswith(token) for each in found) if prefix else token in found


def _parts(given: object) -> list[Any]:
    if not isinstance(given, list) or not given:
        raise bad_request(f"invalid filter {given!r}")
    return given


def _token_filter(name: str, operator: str, value: object, options: list[Any], attribute: Attribute) -> Test:
    require(attribute.text is not None, f"{operator}: attribute {name!r} is not configured for full-text search")
    require(operator != "ContainsTokenSequence", "the stand-in has no ContainsTokenSequence")
    wanted, last = tokens(value, attribute), is_prefix(options)
    tests = [(token, last and position == len(wanted) - 1) for position, token in enumerate(wanted)]
    combine = all if operator == "ContainsAllTokens" else any

    def test(row: Row) -> bool:
        found = row["$tokens"].get(name, {})
        return bool(tests) and combine(holds(found, token, prefix=prefix) for token, prefix in tests)

    return test


def _value_filter(name: str, operator: str, value: Any, attribute: Attribute) -> Test:
    if operator in ("Eq", "NotEq"):  # null: the attribute is missing
        _check_type(name, value, attribute)
        return lambda row: (row.get(name) == value) is (operator == "Eq")
    if operator in ("In", "NotIn"):
        require(isinstance(value, list), f"{operator} takes an array")
        for each in value:
            _check_type(name, each, attribute)
        wanted = set(value)
        return lambda row: (row.get(name) in wanted) is (operator == "In")
    require(operator in _COMPARISONS, f"unknown filter {operator!r}")
    require(not attribute.type.startswith("[]"), f"{operator}: attribute {name!r} is an array")
    _check_type(name, value, attribute)
    compare, matches_null = _COMPARISONS[operator], operator in ("Lt", "Lte") and value is not None

    def test(row: Row) -> bool:
        held = row.get(name)
        if held is None or value is None:  # Lt and Lte match null (docs/query#param-Lt)
            return held is None and matches_null
        return compare(held, value)

    return test


def _resolved(value: Any, schema: Mapping[str, Attribute], new: Row | None) -> Any:
    """Replace a reference to the new row by its value (docs/write#param-upsert_condition)."""
    if not isinstance(value, dict):
        return value
    require(new is not None and value.keys() == {"$ref_new"}, f"invalid value {value!r}")
    name = value["$ref_new"]
    require(name in schema, f"$ref_new: attribute {name!r} is not in the schema")
    assert new is not None
    return new.get(name)


def _check_type(name: str, value: object, attribute: Attribute) -> None:
    """Values must have the type of the attribute (docs/query#filtering)."""
    if value is None:
        return
    kind = attribute.type.removeprefix("[]")
    fits = {"string": str, "uuid": str, "datetime": str, "bool": bool}.get(kind, (int, float))
    ok = isinstance(value, fits) and (kind == "bool" or not isinstance(value, bool))
    require(ok, f"filter: {value!r} is not of the type of {name!r}")
