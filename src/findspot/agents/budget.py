"""Cuts answers to a token budget. A cut answer is valid JSON and says what was cut.

The text of an answer and its structured content both count, because a client may show the model both.
"""

import json
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from findspot import pointer as pointers
from findspot import tokens
from findspot.agents.shapes import opened
from findspot.errors import shortened

MARK = "…"
_ROUNDS = 16
_MAX_BYTES_PER_TOKEN = 16  # real text has shorter tokens on average
_CUTS_LISTED = 3  # in the notice
_TARGET = 0.97


class Number(float):
    """A number that keeps its spelling in the JSON text. It is compared by value and written as spelled."""

    __slots__ = ("spelling",)
    spelling: str

    def __new__(cls, spelling: str) -> "Number":
        number = super().__new__(cls, spelling)
        number.spelling = spelling
        return number


Number.__name__ = "float"  # JMESPath recognises types by name


def encode(value: Any) -> bytes:
    return msgspec.json.encode(value, enc_hook=_spelled)


def _spelled(value: Any) -> msgspec.Raw:
    if isinstance(value, Number):
        return msgspec.Raw(value.spelling.encode())
    raise TypeError(f"{type(value)} is not JSON")


def token_cost(text: bytes) -> int:
    """Return the tokens of an answer: as structured content, and again as a text block."""
    shown = text.decode()
    return tokens.count(shown) + tokens.count(json.dumps(shown, ensure_ascii=False))


def surely_fits(text: bytes, budget: int) -> bool:
    """Return whether an answer fits a budget without counting tokens: a token has at least one byte.

    In the text block, quotes and backslashes take another byte each.
    """
    return 2 * len(text) + 2 + text.count(b'"') + text.count(b"\\") <= budget


def fit(answer: dict[str, Any], budget: int, notice: Callable[[list[str]], str]) -> bytes:
    """Return the JSON text of an answer within a token budget.

    A cut answer gets `truncated` and a `notice`, which `notice` builds from the list of cuts.
    """
    size = estimated_size(answer, budget * _MAX_BYTES_PER_TOKEN)
    if size * 3 <= budget:  # a token has at least one byte
        return encode(answer)
    if size <= budget * _MAX_BYTES_PER_TOKEN:
        text = encode(answer)
        if token_cost(text) <= budget:
            return text
    best, room = b"", budget
    for _ in range(_ROUNDS):
        cuts: list[str] = []
        short = _shortened(answer, room, "", cuts)
        told = f"{answer['notice']} {notice(cuts)}" if "notice" in answer else notice(cuts)
        text = encode({**short, "truncated": True, "notice": told})
        spent = token_cost(text)
        if len(best) < len(text) and spent <= budget:
            best = text
        if 0.85 * budget < spent <= budget:
            break
        room = int(room * min(_TARGET * budget / spent, 0.9 if spent > budget else 4))
    return best or text


def estimated_size(value: Any, limit: int) -> int:
    """Return the approximate size of a value's JSON text in bytes. Counting stops above the limit."""
    total, open_values = 0, [iter((value,))]
    while open_values and total <= limit:
        for each in open_values[-1]:
            if isinstance(each, dict):
                total += 2
                open_values.append(_parts(each))
                break
            if isinstance(each, list | tuple):
                total += 2 + len(each)
                open_values.append(iter(each))
                break
            total += _scalar(each)
            if total > limit:
                break
        else:
            open_values.pop()
    return total


def _parts(container: dict[str, Any]) -> Iterator[Any]:
    for key, value in container.items():
        yield key
        yield value


def _scalar(value: Any) -> int:
    if isinstance(value, str):
        return len(value.encode()) + 4
    if isinstance(value, msgspec.Raw):
        return len(memoryview(value))
    return len(value.spelling) if isinstance(value, Number) else 8 if not isinstance(value, int) else len(str(value))


def _shortened(value: Any, room: int, path: str, cuts: list[str]) -> Any:
    """Cut a value to about `room` bytes: text at its end, a list to its first elements, an object evenly."""
    if estimated_size(value, room) <= room:
        return value
    value = opened(value)
    if isinstance(value, str):
        return _first_characters(value, room, path, cuts)
    if isinstance(value, dict):
        return _evenly(value, room, path, cuts)
    if isinstance(value, list | tuple):
        return _first_elements(value, room, path, cuts)
    cuts.append(f"{shortened(path)}: a number that is too long")
    return None


def _first_characters(text: str, room: int, path: str, cuts: list[str]) -> str:
    kept = text.encode()[: max(0, room - 8)].decode(errors="ignore")
    cuts.append(f"{shortened(path)}: {len(kept)}/{len(text)} characters")
    return kept + MARK


def _first_elements(elements: Any, room: int, path: str, cuts: list[str]) -> list[Any]:
    kept: list[Any] = []
    left, whole = room - 2, 0
    for element in elements:
        size = estimated_size(element, left) + 1
        if size > left:
            break
        kept.append(element)
        left -= size
        whole += 1
    cuts.append(f"{shortened(path)}: {whole}/{len(elements)}")
    if not kept and elements and left > 32:
        kept.append(_shortened(elements[0], left, f"{path}/0", cuts))
    return kept


def _evenly(members: dict[str, Any], room: int, path: str, cuts: list[str]) -> dict[str, Any]:
    """Give every member an equal share of the room; what small members do not need goes to the others.

    Keys are left out only if there are too many of them.
    """
    names = {key: len(key.encode()) + 5 for key in members}
    left = room - 2 - sum(names.values())
    if left < 8 * len(members):
        return _first_members(members, room, path, cuts)
    sizes = {key: estimated_size(value, left) for key, value in members.items()}
    shares: dict[str, int] = {}
    for count, key in enumerate(sorted(sizes, key=sizes.__getitem__)):
        shares[key] = min(sizes[key], left // (len(members) - count))
        left -= shares[key]
    return {key: _shortened(value, shares[key], path + pointers.step(key), cuts) for key, value in members.items()}


def _first_members(members: dict[str, Any], room: int, path: str, cuts: list[str]) -> dict[str, Any]:
    kept: dict[str, Any] = {}
    left = room - 2
    for key, value in members.items():
        size = len(key.encode()) + 5 + estimated_size(value, left)
        if size > left:
            break
        kept[key] = value
        left -= size
    cuts.append(f"{shortened(path)}: {len(kept)}/{len(members)}")
    return kept


def summarize_cuts(cuts: list[str]) -> str:
    """Return the first few cuts, each with how much of it is shown."""
    more = f"; … ({len(cuts) - _CUTS_LISTED})" if len(cuts) > _CUTS_LISTED else ""
    return "; ".join(cuts[:_CUTS_LISTED]) + more
