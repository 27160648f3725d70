"""Make text safe for a terminal and wrap it by columns."""

import re
from collections.abc import Iterator

_REPLACEMENT = "\ufffd"
# Each character is replaced by one other of one column, so that ranges of a text stay valid.
_VISIBLE = str.maketrans(
    {chr(point): chr(0x2400 + point) for point in range(0x20) if chr(point) not in "\t\n"}  # ␀ … ␛ … ␟
    | {"\x7f": "␡", "\u2028": "␤", "\u2029": "␤"}
    | {chr(point): _REPLACEMENT for point in range(0x80, 0xA0)}
    # Bidirectional controls: they change the visible order of characters, which can hide what a text says.
    | {chr(point): _REPLACEMENT for point in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))}
    | {chr(point): _REPLACEMENT for point in range(0xD800, 0xE000)}
)
_LINE_END = re.compile(r"\r(?=\n)")

# Scripts that wrap between any two characters. Opening and closing punctuation stays with its neighbour.
_WIDE = "[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\U00020000-\U0003fffd]"
_OPEN, _CLOSE = "[（「『【〈《〔“‘«]", "[、。，．：；！？）」』】〉》〕”’»…—·]"
_MARK = "[\u0300-\u036f\u3099\u309a\ufe00-\ufe0f\U000e0100-\U000e01ef]"
_PIECE = re.compile(rf"\s+|{_OPEN}*{_WIDE}{_MARK}*{_CLOSE}*|(?:(?!{_OPEN}*{_WIDE})\S)+{_CLOSE}*")


def visible(text: str) -> str:
    """Replace control characters by visible ones, except line ends and tabs."""
    if text.isascii() and text.isprintable():
        return text
    return _LINE_END.sub(" ", text).translate(_VISIBLE)


def columns(text: str) -> int:
    """Return the width of a text. A Chinese character takes two columns, a combining mark none."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def lines(text: str, width: int) -> Iterator[tuple[int, int]]:
    """Yield the wrapped lines as spans of the text, without empty ones. Only a single long word exceeds `width`."""
    for found in re.finditer(r"[^\n]+", text):
        if found[0].strip():
            yield from _wrapped(found[0], found.start(), width)


def _wrapped(line: str, offset: int, width: int) -> Iterator[tuple[int, int]]:
    if 2 * len(line) <= width or columns(line) <= width:
        yield offset, offset + len(line.rstrip())
        return
    start, end, used = 0, 0, 0  # the line from `start` to `end`; `used` counts trailing blanks too
    for piece in _PIECE.finditer(line):
        taken = columns(piece[0])
        if piece[0].isspace():
            used += taken
            continue
        if used + taken > width and end > start:
            yield offset + start, offset + end
            start, used = piece.start(), 0
        end, used = piece.end(), used + taken
    yield offset + start, offset + end
