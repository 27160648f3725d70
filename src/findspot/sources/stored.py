"""Reads the content of a document as the store keeps it: bytes, in one of three formats."""

from typing import Any

import msgspec

from findspot.errors import FindspotError, invalid
from findspot.sources import Extract, SourceError, extract


def read_stored(content: bytes, form: str) -> Extract:
    """The text of a kept content, with its places; INVALID_ARGUMENT if it is not of its format, INTERNAL if what was
    sound when it was kept is not any more."""
    try:
        value: Any = msgspec.json.decode(content) if form == "tiptap" else content.decode()
    except (UnicodeDecodeError, msgspec.DecodeError) as error:
        advice = "Save the document anew, or restore a version of it."
        raise FindspotError("INTERNAL", f"The content is damaged in the database: {error}. {advice}") from None
    try:
        return extract(value, form)  # type: ignore[arg-type]
    except SourceError as error:
        raise invalid("content", str(error), json_pointer=error.pointer) from None
