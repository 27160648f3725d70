"""Reads, renders and compares the contents of documents. Runs in helper processes."""

from typing import Literal

import msgspec

from findspot.errors import FindspotError, invalid
from findspot.jsontext.check import check
from findspot.jsontext.mismatch import mismatch
from findspot.sources.lines import line_pieces
from findspot.sources.stored import read_stored
from findspot.versions.diff import diff
from findspot.versions.words import word_count

MAX_DIFF = 2_000_000  # bytes of either text

Format = Literal["tiptap", "markdown", "text"]

_TEXT = msgspec.json.Decoder(str)


class _Root(msgspec.Struct):
    type: str


_ROOT = msgspec.json.Decoder(_Root)


class _Body(msgspec.Struct, forbid_unknown_fields=True):
    """The JSON body that creates or changes a document. Which fields are required depends on the request."""

    title: str | None = None
    type: str | None = None
    content: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    format: Format | None = None
    baseRevision: int | None = None
    reason: Literal["manual", "autosave", "replace", "restore"] | None = None


class DocumentBody(msgspec.Struct, frozen=True):
    """A validated body without its content."""

    has_content: bool
    word_count: int
    title: str | None
    type: str | None
    format: Format | None
    baseRevision: int | None
    reason: str | None


_BODY = msgspec.json.Decoder(_Body)


def parse_body(body: bytes, default_format: str, limit: int) -> tuple[DocumentBody, bytes]:
    """Validate a body. Return its fields, and the content to store: a tree as JSON, other formats as their source."""
    try:
        sent = _BODY.decode(check(body))
    except msgspec.ValidationError as error:
        raise mismatch(error, _Body) from None
    content, words = b"", 0
    if sent.content is not msgspec.UNSET:
        form = sent.format or default_format
        if not form:
            raise invalid("format", "is missing: 'tiptap', 'markdown' or 'text'")
        content = _content(sent.content, form, limit)
        words = word_count(read_stored(content, form).text)
    parsed = DocumentBody(
        sent.content is not msgspec.UNSET, words, sent.title, sent.type, sent.format, sent.baseRevision, sent.reason
    )
    return parsed, content


def _content(sent: msgspec.Raw, form: str, limit: int) -> bytes:
    if form == "tiptap":
        content = bytes(sent)
        _require_doc_root(content)
    else:
        try:
            content = _TEXT.decode(sent).encode()
        except msgspec.ValidationError:
            raise invalid("content", f"must be a string when the format is '{form}'") from None
    if len(content) > limit:
        message = f"A document may have {limit} bytes (FINDSPOT_MAX_DOCUMENT); this one has {len(content)}."
        raise FindspotError("CONTENT_TOO_LARGE", message, limit=limit)
    return content


def _require_doc_root(content: bytes) -> None:
    """Refuse a tree with another root. Only what is saved is checked: older documents stay readable."""
    try:
        root = _ROOT.decode(content).type
    except msgspec.ValidationError:
        return  # not even a node: extraction says what is wrong
    if root != "doc":
        raise invalid("content", "the root of a TipTap document must be a node of type 'doc'", json_pointer="")


def content_members(content: bytes, form: str) -> bytes:
    """Return a stored content and its text as two members of a JSON object: `"content":…,"text":…`."""
    text = read_stored(content, form).text
    kept = content if form == "tiptap" else msgspec.json.encode(content.decode())
    return b'"content":' + kept + b',"text":' + msgspec.json.encode(text)


def texts_and_lines(formats: list[str], contents: list[bytes]) -> tuple[list[bytes], list[list[bytes] | None]]:
    """Return the text of each stored content in UTF-8, and its line index in pieces; None if it is damaged."""
    texts, lines = list[bytes](), list[list[bytes] | None]()
    for form, content in zip(formats, contents, strict=True):
        try:
            found = read_stored(content, form)
        except FindspotError as error:
            if error.code != "INTERNAL":
                raise
            texts.append(b"")
            lines.append(None)
            continue
        texts.append(found.text.encode())
        lines.append(line_pieces(found, content.decode()))
    return texts, lines


def compare_documents(old: bytes, old_form: str, new: bytes, new_form: str) -> bytes:
    """Return the changes from one text to the other, word by word, as a JSON list."""
    texts = read_stored(old, old_form).text, read_stored(new, new_form).text
    for text in texts:
        if len(text.encode()) > MAX_DIFF:
            message = f"Texts of more than {MAX_DIFF:,} bytes are not compared by word. Read both versions instead."
            raise FindspotError("CONTENT_TOO_LARGE", message, limit=MAX_DIFF)
    return msgspec.json.encode([{"op": change.op, "text": change.text} for change in diff(*texts)])
