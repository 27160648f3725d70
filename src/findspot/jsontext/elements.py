"""Creates, updates and deletes elements of one object or list: all of a call's elements, or none."""

from collections.abc import Iterable, Sequence
from typing import Any, NoReturn, TypeAlias

import msgspec

from findspot import pointer as pointers
from findspot.errors import FindspotError, invalid, quoted
from findspot.jsontext.check import check
from findspot.jsontext.mismatch import mismatch
from findspot.jsontext.tree import Container, Tree
from findspot.pointer import Missing

Key: TypeAlias = str | int
MAX_POINTERS = 50
SCOPE_ADVICE = "This tool cannot be used until the table or the tool's scope is changed."
_TO_ADD = "; a create tool adds new elements"
_FRAME = 3  # levels around a value: the element, the list, and the arguments


class NewElement(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    content: msgspec.Raw
    key: Key | msgspec.UnsetType = msgspec.UNSET


class Element(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    key: Key
    content: msgspec.Raw


class Create(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    elements: list[NewElement]


class Update(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    updates: list[Element]


class Delete(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    keys: list[Key]


def create(tree: Tree, scope: tuple[str, ...], arguments: bytes) -> tuple[list[Key], list[str]]:
    """Add elements: new keys of an object, or at the end of a list. Return their keys and the changed pointers."""
    elements = _read(arguments, Create).elements
    container = _container(tree, scope)
    created: list[Key] = []
    for number, element in enumerate(elements):
        if isinstance(container, list):
            tree.add((*scope, "-"), element.content)
            created.append(len(container) - 1)
            continue
        key = _object_key(element.key, f"elements[{number}].key")
        if key in created:
            _conflict(f"The key {quoted(key)} is in this call twice; name it once")
        if key in container:
            _conflict(f"The key {quoted(key)} already exists; use an update tool, or another key")
        tree.add((*scope, key), element.content)
        created.append(key)
    return created, _changed_pointers(scope, [] if isinstance(container, list) else created)


def update(tree: Tree, scope: tuple[str, ...], arguments: bytes) -> tuple[list[Key], list[str]]:
    """Replace the values of existing elements. Return their keys and the changed pointers."""
    updates = _read(arguments, Update).updates
    container = _container(tree, scope)
    keys = [_existing_key(container, each.key, f"updates[{at}].key", _TO_ADD) for at, each in enumerate(updates)]
    _require_unique(keys, "updates")
    for key, each in zip(keys, updates, strict=True):
        tree.put((*scope, str(key)), each.content)
    return keys, _changed_pointers(scope, keys)


def delete(tree: Tree, scope: tuple[str, ...], arguments: bytes) -> tuple[list[Key], list[str]]:
    """Remove elements. In a list, keys are the indexes before any element is removed.

    Return the keys and the changed pointers.
    """
    requested = _read(arguments, Delete).keys
    container = _container(tree, scope)
    keys = [_existing_key(container, key, f"keys[{at}]") for at, key in enumerate(requested)]
    _require_unique(keys, "keys")
    if isinstance(container, list):
        removed = set(keys)
        container[:] = [each for at, each in enumerate(container) if at not in removed]
        return keys, _changed_pointers(scope, [])
    for key in keys:
        del container[str(key)]
    return keys, _changed_pointers(scope, keys)


def _read(arguments: bytes, type: Any) -> Any:
    try:
        return msgspec.json.decode(check(arguments, "arguments", frame=_FRAME), type=type)
    except msgspec.ValidationError as error:
        raise mismatch(error, type, "arguments") from None


def _container(tree: Tree, scope: tuple[str, ...]) -> Container:
    try:
        return tree.container(scope)
    except Missing as missing:
        message = f"The tool's scope is not an object or a list: {missing}. Nothing was changed. {SCOPE_ADVICE}"
        raise FindspotError("PATCH_CONFLICT", message) from None


def _object_key(key: Key | msgspec.UnsetType, field: str) -> str:
    if isinstance(key, str):
        return key
    raise invalid(field, "the tool's scope is an object, whose keys are strings")


def _existing_key(container: Container, key: Key, field: str, to_add: str = "") -> Key:
    """Return the key of an existing element: a name, or an index as a number. `to_add` is advice for a new key."""
    if isinstance(container, dict):
        name = _object_key(key, field)
        if name not in container:
            _conflict(f"There is no key {quoted(name)}; use an existing key{to_add}")
        return name
    index = pointers.index(str(key))
    if index is None:
        raise invalid(field, f"the tool's scope is a list, whose keys are indexes from 0, not {quoted(key)}")
    if index >= len(container):
        existing = f"; use 0 to {len(container) - 1}" if container else ""
        _conflict(f"Index {index} is past the end of the list, which has {len(container)} elements{existing}{to_add}")
    return index


def _require_unique(keys: Sequence[Key], field: str) -> None:
    if len(set(keys)) < len(keys):
        twice = next(key for at, key in enumerate(keys) if key in keys[:at])
        raise invalid(field, f"the key {quoted(twice)} is named twice; name it once")


def _conflict(problem: str) -> NoReturn:
    raise FindspotError("PATCH_CONFLICT", f"{problem}. Nothing was changed.")


def _changed_pointers(scope: tuple[str, ...], keys: Iterable[Key]) -> list[str]:
    """Return the pointers of the keys; the scope if there are many, or if other elements moved."""
    base = pointers.write(scope)
    changed = [base + pointers.step(str(key)) for key in keys]
    return changed if 0 < len(changed) <= MAX_POINTERS else [base]
