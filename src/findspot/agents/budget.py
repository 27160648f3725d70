"""Answers that fit: what is too large for an agent's context window is cut, stays valid JSON, and says what is missing.

The text of an answer and its structure both count, since an agent's client may show it both.
"""

import json
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from findspot import tokens

MARK = "…"
_ROUNDS = 16
_BYTES_A_TOKEN = 16  # text in which tokens are longer than this on average is not what people write
_MOST_NAMED = 3  # places that are named in the notice
_AIM = 0.97


class Number(float):
    """A number as it is spelled in a JSON text. It is compared by its value and written as it was."""

    __slots__ = ("spelling",)
    spelling: str

    def __new__(cls, spelling: str) -> "Number":
        number = super().__new__(cls, spelling)
        number.spelling = spelling
        return number


Number.__name__ = "float"  # JMESPath tells types by their names


def encoded(value: Any) -> bytes:
    return msgspec.json.encode(value, enc_hook=_spelled)


def _spelled(value: Any) -> msgspec.Raw:
    if isinstance(value, Number):
        return msgspec.Raw(value.spelling.encode())
    raise TypeError(f"{type(value)} is not JSON")


def cost(text: bytes) -> int:
    """The tokens of an answer: as structure, and once more as a text within."""
    shown = text.decode()
    return tokens.count(shown) + tokens.count(json.dumps(shown, ensure_ascii=False))


def surely_fits(text: bytes, budget: int) -> bool:
    """Whether an answer is within a budget whatever its tokens are, for none is shorter than a byte. As a text within,
    its quotes and backslashes take another byte each."""
    return 2 * len(text) + 2 + text.count(b'"') + text.count(b"\\") <= budget


def fitted(answer: dict[str, Any], budget: int, say: Callable[[list[str]], str]) -> bytes:
    """The JSON text of an answer within a budget of tokens. If it has to be cut, it gets `truncated` and a `notice`,
    which `say` makes from the places that were cut."""
    size = weight(answer, budget * _BYTES_A_TOKEN)
    if size * 3 <= budget:  # no token is shorter than a byte
        return encoded(answer)
    if size <= budget * _BYTES_A_TOKEN:
        text = encoded(answer)
        if cost(text) <= budget:
            return text
    best, room = b"", budget
    for _ in range(_ROUNDS):
        cuts: list[str] = []
        short = _shortened(answer, room, "", cuts)
        text = encoded({**short, "truncated": True, "notice": say(cuts)})
        spent = cost(text)
        if len(best) < len(text) and spent <= budget:
            best = text
        if 0.85 * budget < spent <= budget:
            break
        room = int(room * min(_AIM * budget / spent, 0.9 if spent > budget else 4))
    return best or text


def weight(value: Any, limit: int) -> int:
    """About how many bytes a value's JSON text has; counting ends above the limit."""
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


def _shortened(value: Any, room: int, place: str, cuts: list[str]) -> Any:
    """The value cut to about so many bytes: text at its end, a list to its first elements, an object evenly."""
    if weight(value, room) <= room:
        return value
    opened = _opened(value)
    if isinstance(opened, str):
        return _first_characters(opened, room, place, cuts)
    if isinstance(opened, dict):
        return _evenly(opened, room, place, cuts)
    if isinstance(opened, list | tuple):
        return _first_elements(opened, room, place, cuts)
    cuts.append(f"{_named(place)}: a number that is too long")
    return None


def _opened(value: Any) -> Any:
    """A JSON text one level deep; other values as they are."""
    if not isinstance(value, msgspec.Raw):
        return value
    first = bytes(memoryview(value)[:1])
    kind: Any = {b"{": dict[str, msgspec.Raw], b"[": list[msgspec.Raw], b'"': str}.get(first)
    return msgspec.json.decode(value, type=kind) if kind else value


def _first_characters(text: str, room: int, place: str, cuts: list[str]) -> str:
    kept = text.encode()[: max(0, room - 8)].decode(errors="ignore")
    cuts.append(f"{_named(place)}: {len(kept)}/{len(text)}")
    return kept + MARK


def _first_elements(elements: Any, room: int, place: str, cuts: list[str]) -> list[Any]:
    kept: list[Any] = []
    left, whole = room - 2, 0
    for element in elements:
        size = weight(element, left) + 1
        if size > left:
            break
        kept.append(element)
        left -= size
        whole += 1
    cuts.append(f"{_named(place)}: {whole}/{len(elements)}")
    if not kept and elements and left > 32:
        kept.append(_shortened(elements[0], left, f"{place}/0", cuts))
    return kept


def _evenly(members: dict[str, Any], room: int, place: str, cuts: list[str]) -> dict[str, Any]:
    """Every member gets a share; what small ones do not need goes to the others. Keys are left out only if they are
    too many to name."""
    names = {key: len(key.encode()) + 5 for key in members}
    left = room - 2 - sum(names.values())
    if left < 8 * len(members):
        return _first_members(members, room, place, cuts)
    sizes = {key: weight(value, left) for key, value in members.items()}
    shares: dict[str, int] = {}
    for count, key in enumerate(sorted(sizes, key=sizes.__getitem__)):
        shares[key] = min(sizes[key], left // (len(members) - count))
        left -= shares[key]
    return {key: _shortened(value, shares[key], f"{place}/{key}", cuts) for key, value in members.items()}


def _first_members(members: dict[str, Any], room: int, place: str, cuts: list[str]) -> dict[str, Any]:
    kept: dict[str, Any] = {}
    left = room - 2
    for key, value in members.items():
        size = len(key.encode()) + 5 + weight(value, left)
        if size > left:
            break
        kept[key] = value
        left -= size
    cuts.append(f"{_named(place)}: {len(kept)}/{len(members)}")
    return kept


def _named(place: str) -> str:
    return place if len(place) <= 60 else place[:60] + MARK


def listed(cuts: list[str]) -> str:
    """The places that were cut, the first few of them, each with how much of it is shown."""
    more = f"; … ({len(cuts) - _MOST_NAMED})" if len(cuts) > _MOST_NAMED else ""
    return "; ".join(cuts[:_MOST_NAMED]) + more
