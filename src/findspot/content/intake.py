"""Turns imported files into documents and tables, in helper processes."""

from typing import Literal

import msgspec

from findspot.content.drafts import Format
from findspot.errors import FindspotError
from findspot.jsontext.check import check
from findspot.sources import Extract
from findspot.sources.files import base_name, clean_title, decode_text, file_type, opens_with_title
from findspot.sources.paths import UnsupportedFile
from findspot.sources.stored import read_stored
from findspot.versions.words import word_count

_SKIM = msgspec.json.Decoder(msgspec.Raw)
_UNNAMED = "untitled"


class Given(msgspec.Struct, frozen=True):
    """A file without its bytes, and what is known about it already."""

    name: str
    kind: str | None = None
    title: str | None = None
    type: str | None = None


class Became(msgspec.Struct, frozen=True):
    """What a file became, without its content; or why it became nothing."""

    kind: Literal["document", "table", "nothing"]
    title: str = ""
    type: str = ""
    format: Format | None = None
    word_count: int = 0
    reason: str = ""


class Sizes(msgspec.Struct, frozen=True):
    """The largest document and the largest table, in bytes."""

    document: int
    table: int


class _Tree(msgspec.Struct):
    """The outermost node of a TipTap document."""

    type: Literal["doc"]
    content: list[msgspec.Raw]


_TREE = msgspec.json.Decoder(_Tree)


def read_files(files: list[Given], sizes: Sizes, contents: list[bytes]) -> tuple[list[Became], list[bytes]]:
    """Return for each file what it becomes, and the content to store."""
    became, kept = [], []
    for each, data in zip(files, contents, strict=True):
        try:
            what, content = _read(each, data, sizes)
        except UnsupportedFile as error:
            what, content = Became("nothing", reason=error.reason), b""
        except FindspotError as error:
            what, content = Became("nothing", reason=_reason(error)), b""
        became.append(what)
        kept.append(content)
    return became, kept


def _read(given: Given, data: bytes, sizes: Sizes) -> tuple[Became, bytes]:
    if not data.strip() and given.kind != "document":
        raise UnsupportedFile("it is empty")
    form = file_type(given.name)
    text = decode_text(data)
    if form == "markdown" or form == "text":
        return _document(given, form, text, sizes)
    value = _lines(text) if form == "jsonl" else check(text)
    if form == "json" and given.kind != "table" and _is_tree(value):
        return _document(given, "tiptap", value, sizes)
    if len(value) > sizes.table:
        raise UnsupportedFile(
            f"a table may have {sizes.table:,} bytes (FINDSPOT_MAX_TABLE); this one has {len(value):,}"
        )
    return Became("table", _title(given.title, base_name(given.name))), value


def _document(given: Given, form: Format, content: bytes, sizes: Sizes) -> tuple[Became, bytes]:
    if len(content) > sizes.document:
        most = f"{sizes.document:,} bytes (FINDSPOT_MAX_DOCUMENT)"
        raise UnsupportedFile(f"a document may have {most}; this one has {len(content):,}")
    found = read_stored(content, form)
    heading = _heading(content, found) if form == "markdown" else ""
    title = _title(given.title, heading, base_name(given.name))
    return Became("document", title, _title(given.type, "document"), form, word_count(found.text)), content


def _heading(content: bytes, found: Extract) -> str:
    """The words of the heading that opens a Markdown document; '' if none does."""
    if not found.blocks or found.blocks[0].kind != "heading" or not opens_with_title(content.decode()):
        return ""
    return found.text[found.blocks[0].start : found.blocks[0].end]


def _title(*wishes: str | None) -> str:
    """The first of these that leaves something when it is made to fit."""
    return next((title for wish in wishes if wish and (title := clean_title(wish))), _UNNAMED)


def _lines(text: bytes) -> bytes:
    """JSONL as the list of its lines. Lines end with a line feed only: U+2028 may stand in a string."""
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
    """The sentence of an error about a field, said of a file."""
    field = error.fields.get("field")
    return f"it {error.message.removeprefix(f'{field}: ')}" if field else error.message
