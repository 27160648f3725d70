"""English words as they are written: those that the offline model has a row for, 20,000 of them.

An index has stems only. `way` and `waye` have the same one, and a correction must not show a word that nobody writes.
"""

import json
from functools import cache
from importlib import resources


def is_word(text: str) -> bool:
    """Return whether the list has this word, in small letters."""
    return text in _words()


@cache
def _words() -> frozenset[str]:
    file = resources.files("findspot.embedding").joinpath("model", "en_tokenizer.json")
    pieces = json.loads(file.read_bytes())["model"]["vocab"]
    return frozenset(piece for piece in pieces if piece.isascii() and piece.isalpha())
