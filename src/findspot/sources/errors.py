"""The error for content that cannot be read as a document."""

from __future__ import annotations


class SourceError(ValueError):
    """Content that is not valid in its format. `pointer` is the JSON pointer of the invalid part."""

    def __init__(self, reason: str, pointer: str = "") -> None:
        super().__init__(f"{reason} (at {pointer})" if pointer else reason)
        self.reason = reason
        self.pointer = pointer


def require_scalar_text(text: str, pointer: str = "") -> None:
    """Raise SourceError for lone surrogates: they are not characters, and neither database stores them."""
    if text.isascii():
        return
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise SourceError(f"character {error.start} is a lone surrogate", pointer) from None
