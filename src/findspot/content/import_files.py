"""Converts imported files to documents and tables. Runs in helper processes."""

from typing import Literal

import msgspec

from findspot.content.document_bodies import Format
from findspot.errors import FindspotError
from findspot.jsontext.check import check
from findspot.sources import Extract
from findspot.sources.files import base_name, clean_title, decode_text, file_type, opens_with_title
from findspot.sources.paths import UnsupportedFile
from findspot.sources.stored import read_stored
from findspot.versions.words import word_count

_SKIM = msgspec.json.Decoder(msgspec.Raw)
_UNNAMED = "untitled"


class ImportFile(msgspec.Struct, frozen=True):
    """A file without its bytes, and what an export recorded about it."""

    name: str
    kind: str | None = None
    title: str | None = None
    type: str | None = None


class Converted(msgspec.Struct, frozen=True):
    """The result of a conversion without the content. For "nothing", `reason` says why."""

    kind: Literal["document", "table", "nothing"]
    title: str = ""
    type: str = ""
    format: Format | None = None
    word_count: int = 0
    reason: str = ""


class SizeLimits(msgspec.Struct, frozen=True):
    """The largest document and the largest table, in bytes."""

    document: int
    table: int


class _Tree(msgspec.Struct):
    """The outermost node of a TipTap document."""

    type: Literal["doc"]
    content: list[msgspec.Raw]


_TREE = msgspec.json.Decoder(_Tree)


def convert_files(
    files: list[ImportFile], limits: SizeLimits, contents: list[bytes]
) -> tuple[list[Converted], list[bytes]]:
    """Return for each file the result and the content to store."""
    results, stored = [], []
    for each, data in zip(files, contents, strict=True):
        try:
            result, content = _convert(each, data, limits)
        except UnsupportedFile as error:
            result, content = Converted("nothing", reason=error.reason), b""
        except FindspotError as error:
            result, content = Converted("nothing", reason=_reason(error)), b""
        results.append(result)
        stored.append(content)
    return results, stored


def _convert(file: ImportFile, data: bytes, limits: SizeLimits) -> tuple[Converted, bytes]:
    if not data.strip() and file.kind != "document":
        raise UnsupportedFile("it is empty")
    form = file_type(file.name)
    text = decode_text(data)
    if form == "markdown" or form == "text":
        return _document(file, form, text, limits)
    value = _lines(text) if form == "jsonl" else check(text)
    if form == "json" and file.kind != "table" and _is_tree(value):
        return _document(file, "tiptap", value, limits)
    if len(value) > limits.table:
        raise UnsupportedFile(
            f"a table may have {limits.table:,} bytes (FINDSPOT_MAX_TABLE); this one has {len(value):,}"
        )
    return Converted("table", _title(file.title, base_name(file.name))), value


def _document(file: ImportFile, form: Format, content: bytes, limits: SizeLimits) -> tuple[Converted, bytes]:
    if len(content) > limits.document:
        most = f"{limits.document:,} bytes (FINDSPOT_MAX_DOCUMENT)"
        raise UnsupportedFile(f"a document may have {most}; this one has {len(content):,}")
    found = read_stored(content, form)
    heading = _heading(content, found) if form == "markdown" else ""
    title = _title(file.title, heading, base_name(file.name))
    return Converted("document", title, _title(file.type, "document"), form, word_count(found.text)), content


def title_of_file(path: str) -> str:
    """Return the title that an import gives to a file that has none of its own."""
    return _title(base_name(path))


def _heading(content: bytes, found: Extract) -> str:
    """Return the text of the heading that opens a Markdown document, or an empty string."""
    if not found.blocks or found.blocks[0].kind != "heading" or not opens_with_title(content.decode()):
        return ""
    return found.text[found.blocks[0].start : found.blocks[0].end]


def _title(*candidates: str | None) -> str:
    """Return the first candidate that is not empty after cleaning."""
    return next((title for each in candidates if each and (title := clean_title(each))), _UNNAMED)


def _lines(text: bytes) -> bytes:
    """Return JSONL as a JSON list. Only line feeds end a line: U+2028 may occur inside a string."""
    lines = []
    for number, line in enumerate(text.split(b"\n"), 1):
        line = line.strip(b" \t\r")
        if line:
            try:
                _SKIM.decode(line)
            except (msgspec.DecodeError, RecursionError):
                _check_line(number, line)
            lines.append((number, line))
    try:
        return check(b"[" + b",".join(line for _, line in lines) + b"]", frame=1)
    except FindspotError:
        for number, line in lines:
            _check_line(number, line)
        raise


def _check_line(number: int, line: bytes) -> None:
    try:
        check(line)
    except FindspotError as error:
        raise UnsupportedFile(f"line {number} {_reason(error).removeprefix('it ')}") from None


def _is_tree(value: bytes) -> bool:
    try:
        _TREE.decode(value)
    except msgspec.ValidationError:
        return False
    return True


def _reason(error: FindspotError) -> str:
    """Return the message of an error about a field, rewritten for a file."""
    field = error.fields.get("field")
    return f"it {error.message.removeprefix(f'{field}: ')}" if field else error.message
