"""The schema of JSON data: a leaf as its type, an object by its members, a list by all its elements.

Large containers are read in parts, so that the data is never in memory as a whole.
"""

import json
from collections.abc import Sequence
from typing import Any

import msgspec

from findspot.jsontext.lists import BATCH, parts

_KINDS: dict[type, str] = {type(None): "null", bool: "boolean", str: "string", dict: "object", list: "array"}
_OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])
_VALUE = msgspec.json.Decoder(float_hook=lambda spelling: 0.0)  # the value does not matter, and may be out of range
_MIXED = ("object", "array")


class Schema:
    """One schema for several values. Members of objects and elements of lists are merged."""

    def __init__(self) -> None:
        self.kinds: dict[str, None] = {}  # in order of appearance
        self.members: dict[str, Schema] = {}
        self.elements: Schema | None = None  # None while all lists are empty

    def add_text(self, text: bytes) -> None:
        """Add a value by its JSON text, which has no white space around it."""
        if len(text) <= BATCH or text[:1] not in (b"{", b"["):
            self._add([_decoded(text)])
        elif text[:1] == b"{":
            self.kinds["object"] = None
            for key, value in _OBJECT.decode(text).items():
                self._member(key).add_text(bytes(value))
        else:
            self.kinds["array"] = None
            self.elements = self.elements or Schema()
            for part in parts(text):
                self.elements._add_elements(part)

    def described(self) -> Any:
        """Return the schema as JSON."""
        schemas: list[Any] = []
        if names := [kind for kind in self.kinds if kind not in _MIXED]:
            schemas.append(" | ".join(names))
        if "object" in self.kinds:
            schemas.append({key: each.described() for key, each in self.members.items()})
        if "array" in self.kinds:
            schemas.append([self.elements.described()] if self.elements else [])
        return schemas[0] if len(schemas) == 1 else {"anyOf": schemas}

    def _add_elements(self, part: bytes) -> None:
        """Add the elements of a list that is short, or that has one large element."""
        if len(part) <= 2 * BATCH:
            self._add(_decoded(part))
            return
        for element in msgspec.json.decode(part, type=list[msgspec.Raw]):
            self.add_text(bytes(element))

    def _add(self, values: Sequence[Any]) -> None:
        """Add decoded values. Values of the same member are added together, which is much faster than one by one."""
        self.kinds.update(dict.fromkeys(_KINDS.get(kind, "number") for kind in dict.fromkeys(map(type, values))))
        members: dict[str, list[Any]] = {}
        elements: list[Any] = []
        for value in values:
            if type(value) is dict:
                for key, each in value.items():
                    members.setdefault(key, []).append(each)
            elif type(value) is list:
                elements += value
        for key, collected in members.items():
            self._member(key)._add(collected)
        if elements:
            self.elements = self.elements or Schema()
            self.elements._add(elements)

    def _member(self, key: str) -> "Schema":
        return self.members.setdefault(key, Schema())


def _decoded(text: bytes) -> Any:
    try:
        return _VALUE.decode(text)
    except msgspec.ValidationError:  # an integer with thousands of digits
        return json.loads(text, parse_int=lambda spelling: 0, parse_float=lambda spelling: 0)
