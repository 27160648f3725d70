"""The members of one object or list: add some, set some, remove some. All of them, or none."""

from collections.abc import Iterable, Sequence
from typing import Any, NoReturn, TypeAlias

import msgspec

from findspot import pointer as pointers
from findspot.errors import FindspotError, invalid
from findspot.jsontext.check import check
from findspot.jsontext.tree import Container, Tree
from findspot.pointer import Missing

Key: TypeAlias = str | int
MAX_PLACES = 50
SCOPE_ADVICE = "This tool cannot be used until the table or the tool's scope is changed."
_FRAME = 3  # a value stands in an element, in a list, in the arguments


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
    """Add elements; answers their keys and the places that changed. An object takes new keys, a list appends."""
    elements = _read(arguments, Create).elements
    container = _opened(tree, scope)
    made: list[Key] = []
    for number, element in enumerate(elements):
        if isinstance(container, list):
            tree.add((*scope, "-"), element.content)
            made.append(len(container) - 1)
            continue
        key = _name(element.key, f"elements[{number}].key")
        if key in container:
            twice = (
                "twice in this call; name it once"
                if key in made
                else "there already; use an update tool, or another key"
            )
            _refuse(f"The key {key!r} is {twice}")
        tree.add((*scope, key), element.content)
        made.append(key)
    return made, _places(scope, [] if isinstance(container, list) else made)


def update(tree: Tree, scope: tuple[str, ...], arguments: bytes) -> tuple[list[Key], list[str]]:
    """Set elements that are there to new values."""
    updates = _read(arguments, Update).updates
    container = _opened(tree, scope)
    keys = [_present(container, each.key, f"updates[{at}].key") for at, each in enumerate(updates)]
    _once(keys, "updates")
    for key, each in zip(keys, updates, strict=True):
        tree.put((*scope, str(key)), each.content)
    return keys, _places(scope, keys)


def delete(tree: Tree, scope: tuple[str, ...], arguments: bytes) -> tuple[list[Key], list[str]]:
    """Remove elements. The keys of a list are the indexes that its elements have before any is removed."""
    asked = _read(arguments, Delete).keys
    container = _opened(tree, scope)
    keys = [_present(container, key, f"keys[{at}]") for at, key in enumerate(asked)]
    _once(keys, "keys")
    if isinstance(container, list):
        gone = set(keys)
        container[:] = [each for at, each in enumerate(container) if at not in gone]
        return keys, _places(scope, [])
    for key in keys:
        del container[str(key)]
    return keys, _places(scope, keys)


def _read(arguments: bytes, type: Any) -> Any:
    try:
        return msgspec.json.decode(check(arguments, "arguments", frame=_FRAME), type=type)
    except msgspec.ValidationError as error:
        raise bad_arguments(error) from None


def bad_arguments(error: msgspec.ValidationError) -> FindspotError:
    """The parser's sentence, with the field it is about in front."""
    sentence, _, place = str(error).partition(" - at `$")
    return invalid(place.rstrip("`").removeprefix(".") or "arguments", sentence[:1].lower() + sentence[1:])


def _opened(tree: Tree, scope: tuple[str, ...]) -> Container:
    try:
        return tree.container(scope)
    except Missing as missing:
        message = f"The tool's scope is no object or list (any more): {missing}. Nothing was changed. {SCOPE_ADVICE}"
        raise FindspotError("PATCH_CONFLICT", message) from None


def _name(key: Key | msgspec.UnsetType, field: str) -> str:
    if isinstance(key, str):
        return key
    raise invalid(field, "the tool's scope is an object, whose keys are strings")


def _present(container: Container, key: Key, field: str) -> Key:
    """The key of an element that is there: a name, or an index as a number."""
    if isinstance(container, dict):
        name = _name(key, field)
        if name not in container:
            _refuse(f"There is no key {name!r}; use one that is there, or a create tool for new keys")
        return name
    place = pointers.index(str(key))
    if place is None:
        raise invalid(field, f"the tool's scope is a list, whose keys are indexes from 0, and not {key!r}")
    if place >= len(container):
        _refuse(f"Index {place} is past the end of the list, which has {len(container)} elements; {_choice(container)}")
    return place


def _choice(container: list[Any]) -> str:
    if not container:
        return "a create tool adds the first"
    return f"use 0 to {len(container) - 1}, or a create tool to append"


def _once(keys: Sequence[Key], field: str) -> None:
    if len(set(keys)) < len(keys):
        twice = next(key for at, key in enumerate(keys) if key in keys[:at])
        raise invalid(field, f"the key {twice!r} is named twice; name it once")


def _refuse(problem: str) -> NoReturn:
    raise FindspotError("PATCH_CONFLICT", f"{problem}. Nothing was changed.")


def _places(scope: tuple[str, ...], keys: Iterable[Key]) -> list[str]:
    """Where something changed: at these keys; if there are many, or others moved, anywhere in the scope."""
    here = pointers.write(scope)
    places = [here + pointers.step(str(key)) for key in keys]
    return places if 0 < len(places) <= MAX_PLACES else [here]
