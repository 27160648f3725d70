"""How many tokens each layer of a prompt context may have, and how a layer is trimmed."""

from collections.abc import Mapping
from enum import StrEnum

from findspot import tokens
from findspot.chunking.graphemes import cluster_end, last_boundary

SEPARATOR = "\n\n"  # between two layers
_NEAR_END = 120  # characters within which a trimmed text is cut at the end of a sentence or word


class LayerName(StrEnum):
    """The layers, in their order in the context."""

    RULES = "rules"
    SETTINGS = "settings"
    RETRIEVED = "retrieved"
    IMMEDIATE = "immediate"


SHARES = {
    LayerName.RULES: 0.15,
    LayerName.SETTINGS: 0.10,
    LayerName.RETRIEVED: 0.25,
    LayerName.IMMEDIATE: 0.50,
}
MINIMUMS = {
    LayerName.RULES: 500,
    LayerName.SETTINGS: 200,
    LayerName.RETRIEVED: 0,
    LayerName.IMMEDIATE: 2000,
}
TRIMMED = (LayerName.RETRIEVED, LayerName.SETTINGS, LayerName.IMMEDIATE)  # in this order; rules never are


def budgets(total: int) -> dict[LayerName, int]:
    """Return the budget of each layer: its share of the total, or its minimum if that is more."""
    return {name: max(int(share * total), MINIMUMS[name]) for name, share in SHARES.items()}


def allotted(total: int, sizes: Mapping[LayerName, int]) -> dict[LayerName, int]:
    """Return how many tokens each layer may have, given how many it would like to have.

    A layer may use what others leave. If all together are too long, layers are trimmed in order: first to their
    budgets, then to their minimums, and in a very small context to nothing. Rules stay, even if they are too long.
    """
    allowed = dict(sizes)
    for floors in (budgets(total), MINIMUMS, dict.fromkeys(LayerName, 0)):
        for name in TRIMMED:
            excess = sum(allowed.values()) - total
            if excess <= 0:
                return allowed
            allowed[name] = min(allowed[name], max(floors[name], allowed[name] - excess))
    return allowed


def first_tokens(text: str, most: int) -> str:
    """Return the beginning of a text with at most this many tokens, cut after a sentence or word if one ends nearby."""
    return _trimmed(text, most, from_end=False)


def last_tokens(text: str, most: int) -> str:
    """Return the end of a text with at most this many tokens, cut before a sentence or word if one begins nearby."""
    return _trimmed(text, most, from_end=True)


def _trimmed(text: str, most: int, *, from_end: bool) -> str:
    whole = text
    while text and (needed := tokens.count(text)) > most:
        length = min(len(text) - 1, int(len(text) * most / needed))
        text = text[len(text) - length :] if from_end else text[:length]
    if len(text) == len(whole) or not text:
        return text
    return _from_boundary(whole, len(whole) - len(text)) if from_end else _to_boundary(whole, len(text))


def _from_boundary(text: str, start: int) -> str:
    """Return the text from the first sentence or word that begins at or after `start`, if one does nearby."""
    near = text[start : start + _NEAR_END]
    for mark in ("\n", "。", "！", "？", ". ", "! ", "? ", " "):
        if (found := near.find(mark)) >= 0:
            return text[start + found + len(mark) :]
    boundary = last_boundary(text, 0, start)
    return text[start if boundary == start else cluster_end(text, boundary) :]


def _to_boundary(text: str, end: int) -> str:
    first = max(0, end - _NEAR_END)
    near = text[first:end]
    for mark in ("\n", "。", "！", "？", ". ", "! ", "? ", " "):
        if (found := near.rfind(mark)) >= 0:
            return text[: first + found + len(mark.rstrip())].rstrip()
    return text[: last_boundary(text, 0, end)]


def around_cursor(before: str, after: str, most: int) -> tuple[str, str]:
    """Trim the text on both sides of a cursor to this many tokens. What is farthest from the cursor goes first."""
    left, right = tokens.count(before), tokens.count(after)
    if left + right <= most:
        return before, after
    half = most // 2
    room_right = min(right, max(half, most - left))
    after = first_tokens(after, room_right)
    return last_tokens(before, max(0, most - tokens.count(after))), after
