"""The shape of a value: its type and its first keys, never its content. For descriptions, advice and errors.

Pure functions that run in a helper process if the table is large.
"""

import difflib
import json
import re
from itertools import islice
from typing import Any

import msgspec

from findspot import pointer as pointers
from findspot.errors import quoted
from findspot.jsontext.lists import elements
from findspot.jsontext.tree import Tree
from findspot.pointer import Missing

KEYS_NAMED = 8
_MAX_KEY = 40  # characters; longer keys, and keys with control characters, are not examples
_COMPARED = 5000  # keys that a mistyped one is compared with
_SHORT = 3  # characters of a key in which one may be wrong
_FEW = 20  # elements of a list whose keys are looked at
_TYPES = {
    b"{": "object",
    b"[": "array",
    b'"': "string",
    b"t": "boolean",
    b"f": "boolean",
    b"n": "null",
}  # by first byte
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)


class Shape(msgspec.Struct, frozen=True):
    """The type of a value and its first keys; for a list, those of its first objects."""

    type: str
    keys: tuple[str, ...] = ()
    queries: tuple[str, ...] = ()  # JMESPath expressions that find something in it


class Absent(msgspec.Struct, frozen=True):
    """There is no value at a pointer. `hint` says what is there instead."""

    hint: str


class Looked(msgspec.Struct, frozen=True):
    """The result of `look`: one of the two is set."""

    shape: Shape | None = None
    absent: Absent | None = None


def look(text: bytes, scope: str) -> Looked:
    """Return the shape of the value at a scope of a table, or a hint where else to look."""
    tree, tokens = Tree(text), pointers.parse(scope)
    try:
        return Looked(shape=shape_of(msgspec.Raw(tree.get(tokens))))
    except Missing:
        return Looked(absent=Absent(_hint(tree, tokens)))


def opened(value: Any) -> Any:
    """Decode a JSON text one level deep; return other values, and numbers, unchanged."""
    if not isinstance(value, msgspec.Raw):
        return value
    first = bytes(memoryview(value)[:1])
    kind: Any = {b"{": dict[str, msgspec.Raw], b"[": list[msgspec.Raw], b'"': str}.get(first)
    if kind is not None:
        return msgspec.json.decode(value, type=kind)
    return {b"t": True, b"f": False, b"n": None}.get(first, value)


def _begun(value: Any) -> Any:
    """Decode a JSON text as `opened` does, but of a list only the first elements: it may have millions."""
    if isinstance(value, msgspec.Raw) and type_of(value) == "array":
        return list(islice(elements(bytes(value)), _FEW))
    return opened(value)


def type_of(value: Any) -> str:
    """Return the JSON type of a value, which may be a JSON text."""
    if isinstance(value, msgspec.Raw):
        return _TYPES.get(bytes(memoryview(value)[:1]), "number")
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case str():
            return "string"
        case dict():
            return "object"
        case list():
            return "array"
    return "number"


def shape_of(value: Any) -> Shape:
    value = _begun(value)
    keys = tuple(key for key in _keys(value) if len(key) <= _MAX_KEY and key.isprintable())[:KEYS_NAMED]
    return Shape(type_of(value), keys, tuple(_queries(value, keys)))


def described(value: Any) -> str:
    """Return a phrase such as "a list of 12 elements, the first an object with the keys 'id', 'title'"."""
    value = opened(value)
    if isinstance(value, str):
        return f"a string of {len(value):,} characters"
    if isinstance(value, dict):
        names = ", ".join(quoted(key) for key in list(value)[:KEYS_NAMED])
        more = f" and {len(value) - KEYS_NAMED:,} more" if len(value) > KEYS_NAMED else ""
        return f"an object with the keys {names}{more}" if value else "an empty object"
    if isinstance(value, list):
        first = "" if not value else f", the first {_flat(value[0])}"
        return f"a list of {len(value):,} elements{first}" if value else "an empty list"
    kind = type_of(value)
    return kind if kind == "null" else f"a {kind}"


def _flat(value: Any) -> str:
    """Describe an element without its own elements."""
    value = opened(value)
    return f"a list of {len(value):,} elements" if isinstance(value, list) else described(value)


def _keys(value: Any) -> list[str]:
    """Return the keys of an object, or of the first objects of a list."""
    if isinstance(value, dict):
        return list(value)
    if not isinstance(value, list):
        return []
    objects = (opened(each) for each in value[:_FEW] if type_of(each) == "object")
    return list({key: None for each in objects for key in each})


def _queries(value: Any, keys: tuple[str, ...]) -> list[str]:
    if isinstance(value, list):
        return ["length(@)", *_in_list(value, keys)]
    if not isinstance(value, dict):
        return []
    for key in keys:
        inner = _begun(value[key])
        if isinstance(inner, list) and inner:
            names = tuple(name for name in _keys(inner) if len(name) <= _MAX_KEY and name.isprintable())
            return ["keys(@)", *(f"{_name(key)}{query}" for query in _in_list(inner, names))]
    present = [key for key in keys if type_of(value[key]) != "null"][:1]
    return ["keys(@)", *(_in_object(key, value[key]) for key in present)]


def _in_object(key: str, value: Any) -> str:
    """Return a query for a member of an object. Of another object, it asks for the keys: the whole may be large."""
    inner = _begun(value)
    return f"keys({_name(key)})" if isinstance(inner, dict) and inner else _name(key)


def _in_list(values: list[Any], keys: tuple[str, ...]) -> list[str]:
    first = _begun(values[0]) if values else None
    present = [key for key in keys if isinstance(first, dict) and key in first and type_of(first[key]) != "null"]
    if not present:
        return ["[0:5]"] if first is not None else []
    plain = [key for key in present if type_of(first[key]) not in ("object", "array")] if first else []
    return [f"[0:5].{_name((plain or present)[0])}"]


def _name(key: str) -> str:
    """Return a key as JMESPath writes it."""
    return key if _IDENTIFIER.fullmatch(key) else json.dumps(key, ensure_ascii=False)


# ── a pointer that leads nowhere ──


def _hint(tree: Tree, tokens: tuple[str, ...]) -> str:
    """Say what is near a pointer that leads nowhere: a key that looks like it, or what there is at the last step."""
    at = _first_missing(tree, tokens)
    here = pointers.write(tokens[:at])
    where = f"At {quoted(here)}" if here else "At the top"
    value = opened(msgspec.Raw(tree.get(tokens[:at])))
    if isinstance(value, dict):
        if similar := _similar(tokens[at], value):
            return f"Did you mean {quoted(_completed(tree, (*tokens[:at], similar), tokens[at + 1 :]))}?"
        if value:
            names = ", ".join(quoted(here + pointers.step(key)) for key in list(value)[:KEYS_NAMED])
            more = f" and {len(value) - KEYS_NAMED:,} more" if len(value) > KEYS_NAMED else ""
            return f"{where} there is {names}{more}."
    if isinstance(value, list) and value:
        return f"{where} there is a list: use {quoted(f'{here}/0')} to {quoted(f'{here}/{len(value) - 1}')}."
    return f"{where} there is {described(value)}."


def _first_missing(tree: Tree, tokens: tuple[str, ...]) -> int:
    for at in range(len(tokens)):
        try:
            tree.get(tokens[: at + 1])
        except Missing:
            return at
    raise AssertionError("nothing is missing")


def _similar(key: str, members: dict[str, Any]) -> str | None:
    by_folded = {each.casefold(): each for each in list(members)[:_COMPARED]}
    likeness = 0.5 if len(key) <= _SHORT else 0.6
    found = difflib.get_close_matches(key.casefold(), by_folded, n=1, cutoff=likeness)
    return by_folded[found[0]] if found else None


def _completed(tree: Tree, known: tuple[str, ...], rest: tuple[str, ...]) -> str:
    """Return the pointer with its remaining tokens, if they lead somewhere too."""
    try:
        tree.get((*known, *rest))
    except Missing:
        return pointers.write(known)
    return pointers.write((*known, *rest))
