"""RFC 6902 JSON Patch over a tree: all operations, or none."""

import json
import time
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import Any, ClassVar, TypeAlias

import msgspec

from findspot import pointer as pointers
from findspot.errors import FindspotError, invalid
from findspot.jsontext.tree import Tree
from findspot.pointer import Missing

MAX_PLACES = 50
MAX_SECONDS = 10  # many moves in a large list can cost far more than the patch is long


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
    """An operation does not fit the value as it stands."""


def read_steps(text: bytes) -> list[Step]:
    """The operations of a patch document, or INVALID_ARGUMENT naming the first that is malformed."""
    try:
        return _STEPS.decode(text)
    except msgspec.ValidationError as error:
        raise invalid("body", f"is not a JSON Patch: {error}") from None


def touched(steps: list[Step]) -> list[str]:
    """The pointers at or below which these operations change something; all of it, if there are many."""
    places: dict[str, None] = {}
    for step in steps:
        if isinstance(step, Test):
            continue
        for path in (step.path, step.source) if isinstance(step, Move) else (step.path,):
            places[path if isinstance(step, Replace) else _shifted(path)] = None
    return list(places) if len(places) <= MAX_PLACES else [""]


def _shifted(path: str) -> str:
    """What moves when a value is added or removed here: in a list, also its neighbours."""
    parent, _, token = path.rpartition("/")
    return parent if token == "-" or pointers.index(token) is not None else path


def apply(tree: Tree, steps: list[Step], limit: int) -> None:
    """Apply every operation in order. On the first that does not fit, PATCH_CONFLICT; the caller drops the tree."""
    budget, deadline = limit, time.monotonic() + MAX_SECONDS
    for number, step in enumerate(steps):
        if time.monotonic() > deadline:
            message = f"The patch takes more than {MAX_SECONDS} seconds. Nothing was changed; send it in parts."
            raise FindspotError("CONTENT_TOO_LARGE", message)
        path = pointers.parse(step.path, f"[{number}].path")
        try:
            if isinstance(step, Copy):
                budget -= _copy(tree, path, step, number)
            else:
                _apply_one(tree, path, step, number)
        except (Missing, Conflict) as error:
            name = step.__struct_config__.tag
            message = f"Operation {number} ({name} {step.path!r}) does not fit: {error}. Nothing was changed."
            raise FindspotError("PATCH_CONFLICT", message, operation=number) from None
        if budget < 0:
            raise FindspotError("CONTENT_TOO_LARGE", f"The patch copies more than {limit} bytes in all.", limit=limit)


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
                tree.get(path)  # moving a value onto itself changes nothing, but it has to be there
            elif path[: len(source)] == source:
                raise Conflict("a value cannot be moved into itself")
            else:
                tree.add(path, tree.remove(source))
        case Test():
            if not equal(tree.get(path), bytes(step.value)):
                raise Conflict("the value there is another one")


def _copy(tree: Tree, path: tuple[str, ...], step: Copy, number: int) -> int:
    """Copying can double a value again and again, so what it costs is counted."""
    value = tree.copy(pointers.parse(step.source, f"[{number}].from"))
    tree.add(path, value)
    return len(memoryview(value))


class _Spelling(str):
    """A number with an exponent past what decimals hold: equal only to itself, and never to a string."""


def _number(text: str) -> Decimal | _Spelling:
    try:
        return Decimal(text)
    except InvalidOperation:
        return _Spelling(text)


_load: Callable[[bytes], Any] = json.JSONDecoder(parse_float=_number, parse_int=_number).decode  # type: ignore[assignment]


def equal(left: bytes, right: bytes) -> bool:
    """Whether two JSON texts mean the same: numbers by value, objects without regard to order."""
    pairs = [(_load(left.decode()), _load(right.decode()))]  # type: ignore[arg-type]
    while pairs:
        one, other = pairs.pop()
        if type(one) is not type(other):
            return False
        if isinstance(one, dict):
            if one.keys() != other.keys():
                return False
            pairs.extend((value, other[key]) for key, value in one.items())
        elif isinstance(one, list):
            if len(one) != len(other):
                return False
            pairs.extend(zip(one, other, strict=True))
        elif one != other:
            return False
    return True
