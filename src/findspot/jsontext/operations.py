"""The calculations on JSON texts: bytes in, bytes out, so that any of them can run in a helper process."""

import re
from collections.abc import Callable
from typing import TypeAlias

import msgspec

from findspot import pointer as pointers
from findspot.errors import FindspotError, invalid
from findspot.jsontext import elements
from findspot.jsontext import patch as patches
from findspot.jsontext.check import check
from findspot.jsontext.tree import Tree
from findspot.pointer import Missing

Operation: TypeAlias = Callable[..., tuple[bytes, ...]]

EDITS = {each.__name__: each for each in (elements.create, elements.update, elements.delete)}

_FIELD = re.compile(r"\$\.(\w+)|field `(\w+)`")


class _NewTable(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    data: msgspec.Raw


_NEW_TABLE = msgspec.json.Decoder(_NewTable)


def accept(text: bytes, limit: bytes) -> tuple[bytes, ...]:
    """A value as it will be kept."""
    return (_within(check(text), int(limit)),)


def open_table(body: bytes, limit: bytes) -> tuple[bytes, ...]:
    """The name and the value in the body `{name, data}` that creates a table."""
    try:
        new = _NEW_TABLE.decode(check(body, frame=1))
    except msgspec.ValidationError as error:
        found = _FIELD.search(str(error))
        raise invalid((found[1] or found[2]) if found else "body", str(error)) from None
    return new.name.encode(), _within(bytes(new.data), int(limit))


def read(text: bytes, pointer: bytes) -> tuple[bytes, ...]:
    """The value at a pointer."""
    try:
        return (Tree(text).get(pointers.parse(pointer.decode())),)
    except Missing as missing:
        raise _nothing_there(missing) from None


def put(text: bytes, pointer: bytes, value: bytes, limit: bytes) -> tuple[bytes, ...]:
    """The text with the value at a pointer set to a new one."""
    tree = Tree(text)
    try:
        tree.put(pointers.parse(pointer.decode()), msgspec.Raw(check(value)))
    except Missing as missing:
        raise _nothing_there(missing) from None
    return (_within(tree.dump(), int(limit)),)


def patch(text: bytes, steps: bytes, limit: bytes) -> tuple[bytes, ...]:
    """The text after a JSON Patch, and the pointers at or below which it may have changed."""
    tree = Tree(text)
    read = patches.read_steps(check(steps, frame=2))
    patches.apply(tree, read, int(limit))
    return _within(tree.dump(), int(limit)), msgspec.json.encode(patches.touched(read))


def edit(text: bytes, action: bytes, scope: bytes, arguments: bytes, limit: bytes) -> tuple[bytes, ...]:
    """The text after elements of one object or list were created, updated or deleted; the pointers at or below which
    it may have changed; and the keys of those elements."""
    tree = Tree(text)
    keys, places = EDITS[action.decode()](tree, pointers.parse(scope.decode()), arguments)
    return _within(tree.dump(), int(limit)), msgspec.json.encode(places), msgspec.json.encode(keys)


def _within(text: bytes, limit: int) -> bytes:
    if len(text) > limit:
        message = f"The table would have {len(text)} bytes; {limit} is the limit (FINDSPOT_MAX_TABLE)."
        raise FindspotError("CONTENT_TOO_LARGE", message, limit=limit)
    return text


def _nothing_there(missing: Missing) -> FindspotError:
    return FindspotError("NOT_FOUND", f"The JSON pointer leads nowhere: {missing}.", field="json_pointer")


OPERATIONS: dict[str, Operation] = {each.__name__: each for each in (accept, open_table, read, put, patch, edit)}
