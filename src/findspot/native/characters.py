"""Texts as arrays of code points, which C reads. Halves of surrogate pairs are characters like any other."""

from __future__ import annotations

import re
import sys
from array import array
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

PLANE = 0x10000  # characters of the first plane, for which tables have an entry each; most texts have no others

_UTF_32 = f"utf-32-{sys.byteorder[0]}e"


def encoded(text: str) -> bytes:
    """Return the code points of a text, four bytes each."""
    return text.encode(_UTF_32, "surrogatepass")


def points(text: str) -> npt.NDArray[np.uint32]:
    """Return the code points of a text."""
    import numpy as np

    return np.frombuffer(encoded(text), np.uint32)


def text_of(characters: npt.NDArray[np.uint32] | array[int]) -> str:
    """Return the text that has these code points, four bytes each."""
    return characters.tobytes().decode(_UTF_32, "surrogatepass")


def first_plane() -> str:
    """Return all characters of the first plane in order, in a third of the time of `chr`."""
    return text_of(array("I", range(PLANE)))


def matching(pattern: re.Pattern[str] | str) -> npt.NDArray[np.bool_]:
    """Return which characters of the first plane match a pattern, by code point."""
    import numpy as np

    found = np.zeros(PLANE, np.bool_)
    for match in re.finditer(pattern, first_plane()):
        found[match.start() : match.end()] = True
    return found
