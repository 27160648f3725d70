"""Applies a JSON Patch (RFC 6902) to a tree: all operations, or none."""

from typing import ClassVar, TypeAlias

import msgspec

from findspot import pointer as pointers
from findspot.errors import FindspotError, invalid, quoted
from findspot.jsontext.compare import equal
from findspot.jsontext.mismatch import explained
from findspot.jsontext.tree import Tree
from findspot.pointer import Missing

MAX_POINTERS = 50


class _Step(msgspec.Struct, tag_field="op", frozen=True):
    path: str


class Add(_Step, tag="add", frozen=True):
    value: msgspec.Raw


class Remove(_Step, tag="remove", frozen=True):
    pass


class Replace(_Step, tag="replace", frozen=True):
    value: msgspec.Raw


class Move(_Step, tag="move", frozen=True, rename={"source": "from"}):
    source: str


class Copy(_Step, tag="copy", frozen=True, rename={"source": "from"}):
    source: str


class Test(_Step, tag="test", frozen=True):
    __test__: ClassVar[bool] = False  # not a test case, whatever pytest thinks of its name
    value: msgspec.Raw


Step: TypeAlias = Add | Remove | Replace | Move | Copy | Test
_STEPS = msgspec.json.Decoder(list[Step])


class Conflict(Exception):
    """An operation cannot be applied to the current value."""


def read_steps(text: bytes) -> list[Step]:
    """Parse the operations of a patch. Raise INVALID_ARGUMENT that names the first malformed one."""
    try:
        return _STEPS.decode(text)
    except msgspec.ValidationError as error:
        field, sentence = explained(error, list[Step])
        raise invalid("body", f"is not a JSON Patch: {field or 'it'} {sentence}") from None


def changed_pointers(steps: list[Step]) -> list[str]:
    """Return the pointers at or below which these operations change something; the root if there are many."""
    changed: dict[str, None] = {}
    for step in steps:
        if isinstance(step, Test):
            continue
        for path in (step.path, step.source) if isinstance(step, Move) else (step.path,):
            changed[path if isinstance(step, Replace) else _with_neighbours(path)] = None
    return list(changed) if len(changed) <= MAX_POINTERS else [""]


def _with_neighbours(path: str) -> str:
    """Return what changes when a value is added or removed at a path: in a list, the whole list, as others move."""
    parent, _, token = path.rpartition("/")
    return parent if token == "-" or pointers.index(token) is not None else path


def apply(tree: Tree, steps: list[Step], limit: int) -> None:
    """Apply all operations in order. Raise PATCH_CONFLICT at the first that fails; the caller discards the tree."""
    budget = limit
    for number, step in enumerate(steps):
        path = pointers.parse(step.path, f"[{number}].path")
        try:
            if isinstance(step, Copy):
                budget -= _copy(tree, path, step, number)
            else:
                _apply_one(tree, path, step, number)
        except (Missing, Conflict) as error:
            name = step.__struct_config__.tag
            message = f"Operation {number} ({name} {quoted(step.path)}) failed: {error}. Nothing was changed."
            raise FindspotError("PATCH_CONFLICT", message, operation=number) from None
        if budget < 0:
            message = f"The patch copies more than {limit} bytes in total."
            raise FindspotError("CONTENT_TOO_LARGE", message, limit=limit)


def _apply_one(tree: Tree, path: tuple[str, ...], step: Step, number: int) -> None:
    match step:
        case Add():
            tree.add(path, step.value)
        case Remove():
            tree.remove(path)
        case Replace():
            tree.replace(path, step.value)
        case Move():
            source = pointers.parse(step.source, f"[{number}].from")
            if source == path:
                tree.get(path)  # moving a value onto itself changes nothing, but it must exist
            elif path[: len(source)] == source:
                raise Conflict("a value cannot be moved into itself")
            else:
                tree.add(path, tree.remove(source))
        case Test():
            if not equal(tree.get(path), bytes(step.value)):
                raise Conflict("the value is different")


def _copy(tree: Tree, path: tuple[str, ...], step: Copy, number: int) -> int:
    """Copy a value and return its size. The caller limits the total: each copy can double the value."""
    value = tree.copy(pointers.parse(step.source, f"[{number}].from"))
    tree.add(path, value)
    return len(memoryview(value))
