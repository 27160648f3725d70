"""Says what is wrong with JSON that does not have the expected type: the field, and a sentence in the words of JSON."""

import re
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import inspect

from findspot.errors import FindspotError, invalid, shortened

_UNKNOWN, _MISSING = "Object contains unknown field `", "Object missing required field `"
_EXPECTED = re.compile(r"Expected `([^`]+)`( [<>]=? \S+)?(?:, got `(\w+)`)?")
_NAMES = {
    "str": "a string",
    "int": "an integer",
    "float": "a number",
    "bool": "a boolean",
    "array": "an array",
    "object": "an object",
}
_STEP = re.compile(r"\.(\w+)|\[\d+\]")  # of a path: a field, or an element of a list


def mismatch(error: msgspec.ValidationError, type: Any, whole: str = "body") -> FindspotError:
    """Return INVALID_ARGUMENT for JSON that was to be decoded as `type`. `whole` is what the JSON is called."""
    field, sentence = explained(error, type)
    return invalid(field or whole, sentence)


def explained(error: msgspec.ValidationError, type: Any) -> tuple[str, str]:
    """Return the field that an error of the parser is about, "" for the whole value, and what is wrong with it."""
    message, _, path = str(error).partition(" - at `$")
    path = path.removesuffix("`")
    for beginning in (_UNKNOWN, _MISSING):
        if message.startswith(beginning):
            name = shortened(message.removeprefix(beginning).removesuffix("`"))
            sentence = "is missing" if beginning is _MISSING else _known_fields(type, path)
            return _field(f"{path}.{name}"), sentence
    if expected := _EXPECTED.fullmatch(message):
        return _field(path), _expected(*expected.groups())
    allowed = [repr(each) for info in _types_at(type, path) for each in getattr(info, "values", ())]
    if allowed:
        return _field(path), f"must be {_either(allowed)}"
    return _field(path), message[:1].lower() + message[1:]


def _field(path: str) -> str:
    return shortened(path.removeprefix("."))


def _known_fields(type: Any, path: str) -> str:
    known = dict.fromkeys(field for info in _types_at(type, path) for field in _fields(info))
    return f"is unknown; the known fields are {', '.join(known)}" if known else "is unknown; no field is expected"


def _expected(types: str, bound: str | None, got: str | None) -> str:
    """Return the sentence for one of the parser's: "Expected `int | str`, got `bool`"."""
    names = types.split(" | ")
    if "int" in names and "float" in names:  # a decoder accepts 5.0 as an integer so
        names.remove("float")
    instead = f", not {_NAMES.get(got, got)}" if got else ""
    return f"must be {_either([_NAMES.get(name, name) for name in names])}{bound or ''}{instead}"


def _either(names: list[str]) -> str:
    return " or ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _types_at(type: Any, path: str) -> list[Any]:
    """Return the types that a value at a path may have."""
    found = list(_alternatives(inspect.type_info(type)))
    for name in _STEP.findall(path):
        found = [each for info in found for below in _below(info, name) for each in _alternatives(below)]
    return found


def _alternatives(info: Any) -> Iterator[Any]:
    if isinstance(info, inspect.UnionType):
        yield from info.types
    else:
        yield info


def _below(info: Any, name: str) -> Iterator[Any]:
    """Yield the type of a field, or of the elements of a list (`name` is empty)."""
    if isinstance(info, inspect.ListType) and not name:
        yield info.item_type
    elif name and (below := _fields(info).get(name)):
        yield below


def _fields(info: Any) -> dict[str, Any]:
    """Return the types of the fields of an object by their names."""
    if not isinstance(info, inspect.StructType):
        return {}
    tag = {info.tag_field: inspect.LiteralType((info.tag,))} if info.tag_field else {}
    return {**tag, **{each.encode_name: each.type for each in info.fields}}
