"""Operations on JSON texts. Helper processes run them for large texts."""

from typing import Literal, TypeAlias

import msgspec

from findspot import pointer as pointers
from findspot.errors import FindspotError
from findspot.jsontext import elements
from findspot.jsontext import patch as patches
from findspot.jsontext.check import check
from findspot.jsontext.children import children
from findspot.jsontext.elements import Key
from findspot.jsontext.mismatch import mismatch
from findspot.jsontext.tree import Tree
from findspot.pointer import Missing

Edit: TypeAlias = Literal["create", "update", "delete"]

_EDITS = {"create": elements.create, "update": elements.update, "delete": elements.delete}


class _NewTable(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    data: msgspec.Raw


_NEW_TABLE = msgspec.json.Decoder(_NewTable)


def accept(text: bytes, limit: int) -> bytes:
    """Return a JSON value as it will be stored: checked, and without white space around it."""
    return _within(check(text), limit)


def open_table(body: bytes, limit: int) -> tuple[str, bytes]:
    """Return the name and the value from the body `{name, data}` that creates a table."""
    try:
        new = _NEW_TABLE.decode(check(body, frame=1))
    except msgspec.ValidationError as error:
        raise mismatch(error, _NewTable) from None
    return new.name, _within(bytes(new.data), limit)


def read(text: bytes, pointer: str) -> bytes:
    """Return the value at a pointer."""
    try:
        return Tree(text).get(pointers.parse(pointer))
    except Missing as missing:
        raise _not_found(missing) from None


def list_children(text: bytes, pointer: str, offset: int, limit: int) -> bytes:
    """Return members of the object or list at a pointer, encoded as the answer of the API."""
    try:
        return msgspec.json.encode(children(text, pointer, offset, limit))
    except Missing as missing:
        raise _not_found(missing) from None


def put(text: bytes, pointer: str, value: bytes, limit: int) -> bytes:
    """Return the text with the value at a pointer replaced."""
    tree = Tree(text)
    try:
        tree.put(pointers.parse(pointer), msgspec.Raw(check(value)))
    except Missing as missing:
        raise _not_found(missing) from None
    return _within(tree.dump(), limit)


def patch(text: bytes, steps: bytes, limit: int) -> tuple[bytes, list[str]]:
    """Return the text after a JSON Patch, and the pointers at or below which it may have changed."""
    tree = Tree(text)
    read = patches.read_steps(check(steps, frame=2))
    patches.apply(tree, read, limit)
    return _within(tree.dump(), limit), patches.changed_pointers(read)


def edit(text: bytes, action: Edit, scope: str, arguments: bytes, limit: int) -> tuple[bytes, list[str], list[Key]]:
    """Create, update or delete elements of the object or list at `scope`.

    Returns the new text, the pointers at or below which it may have changed, and the keys of those elements.
    """
    tree = Tree(text)
    keys, places = _EDITS[action](tree, pointers.parse(scope), arguments)
    return _within(tree.dump(), limit), places, keys


def _within(text: bytes, limit: int) -> bytes:
    if len(text) > limit:
        message = f"The table would have {len(text)} bytes; {limit} is the limit (FINDSPOT_MAX_TABLE)."
        raise FindspotError("CONTENT_TOO_LARGE", message, limit=limit)
    return text


def _not_found(missing: Missing) -> FindspotError:
    return FindspotError("NOT_FOUND", f"The JSON pointer leads nowhere: {missing}.", field="json_pointer")
