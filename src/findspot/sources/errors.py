"""Why a content cannot be read as a document."""

from __future__ import annotations


class SourceError(ValueError):
    """A content that is not a document of its format; `pointer` says which part of it."""

    def __init__(self, reason: str, pointer: str = "") -> None:
        super().__init__(f"{reason} (at {pointer})" if pointer else reason)
        self.reason = reason
        self.pointer = pointer


def require_scalar_text(text: str, pointer: str = "") -> None:
    """Refuse lone surrogates: they are no characters, and neither database stores them."""
    if text.isascii():
        return
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise SourceError(f"a lone surrogate stands at character {error.start}", pointer) from None
