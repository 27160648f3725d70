"""Reads document content from the store: bytes in one of three formats."""

from typing import Any

import msgspec

from findspot.errors import FindspotError, invalid
from findspot.sources import Extract, SourceError, extract


def read_stored(content: bytes, form: str) -> Extract:
    """Return the text of stored content with its places.

    Raise INVALID_ARGUMENT if the content is not in its format, and INTERNAL if it is damaged in the database.
    """
    try:
        value: Any = msgspec.json.decode(content) if form == "tiptap" else content.decode()
    except (UnicodeDecodeError, msgspec.DecodeError) as error:
        advice = "Save the document again, or restore one of its versions."
        raise FindspotError("INTERNAL", f"The content is damaged in the database: {error}. {advice}") from None
    try:
        return extract(value, form)  # type: ignore[arg-type]
    except SourceError as error:
        raise invalid("content", str(error), json_pointer=error.pointer) from None
