"""Recognises importable files by their name and decodes their bytes. Their JSON is parsed elsewhere."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from findspot.names import MAX_LENGTH
from findspot.sources.front_matter import body_start
from findspot.sources.paths import UnsupportedFile, hidden_part

FileType = Literal["markdown", "text", "json", "jsonl"]
Kind = Literal["document", "table", "version", "manifest"]

FILE_TYPES: dict[str, FileType] = {
    ".md": "markdown",
    ".markdown": "markdown",
    ".txt": "text",
    ".text": "text",
    ".json": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
}
ARCHIVES = (".zip", ".tar", ".gz", ".tgz")
_OTHER_ARCHIVES = (".7z", ".rar", ".bz2", ".xz", ".zst", ".tbz2", ".txz", ".jar")
_BLANK = re.compile(r"(?:[^\S\r\n]*(?:\r\n|\r|\n))*")
_ATX = re.compile(r" {0,3}#(?:[ \t]|\r|\n|\Z)")
_SETEXT = re.compile(r" {0,3}[^\s#>][^\r\n]*(?:\r\n|\r|\n) {0,3}=+[ \t]*(?:\r|\n|\Z)")
_ZERO_WIDTH = "\u200c\u200d"


@dataclass(frozen=True, slots=True)
class ExportRecord:
    """What an export wrote about one of its files."""

    kind: Kind
    path: str | None = None
    title: str | None = None
    type: str | None = None


@dataclass(frozen=True, slots=True)
class File:
    """A file to import. Its name decides the type; its path identifies the document or table."""

    name: str
    path: str
    data: bytes
    record: ExportRecord | None = None
    modified: datetime | None = None


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file that was not imported, and the reason."""

    name: str
    reason: str


def file_type(name: str) -> FileType:
    """Return the type of a file by its name. Raise UnsupportedFile for files that are not imported."""
    hidden = hidden_part(name)
    if hidden is not None:
        raise UnsupportedFile("it is hidden" if hidden == name else f"it is in the hidden folder {hidden}")
    last = name.rpartition("/")[2]
    dot = last.rfind(".")
    suffix = last[dot:].lower() if dot > 0 else ""
    if suffix in FILE_TYPES:
        return FILE_TYPES[suffix]
    if suffix in ARCHIVES or suffix in _OTHER_ARCHIVES:
        raise UnsupportedFile("it is an archive inside the import; unpack it, or import it by itself")
    what = f"{suffix} files" if suffix else "files without an extension"
    raise UnsupportedFile(f"{what} are not imported; Markdown (.md), text (.txt), JSON and JSONL are")


def base_name(name: str) -> str:
    """Return the name of a file without its folders and its extension."""
    last = name.rpartition("/")[2]
    return last[: last.rfind(".")] if last.rfind(".") > 0 else last


def decode_text(data: bytes) -> bytes:
    """Return the text of a file as UTF-8 without a byte order mark. Raise UnsupportedFile for other encodings."""
    try:
        if data.startswith((b"\xff\xfe\x00\x00", b"\x00\x00\xfe\xff")):
            raise UnsupportedFile(_convert("it is in UTF-32", "UTF-32"))
        if data.startswith((b"\xff\xfe", b"\xfe\xff")):
            return data.decode("utf-16").encode()
        data = data.removeprefix(b"\xef\xbb\xbf")
        data.decode()
    except UnicodeDecodeError as error:
        if error.encoding.startswith("utf-16"):
            raise UnsupportedFile("it begins as UTF-16, but is not valid UTF-16; save it as UTF-8") from None
        raise UnsupportedFile(_convert(f"it is not in UTF-8 (byte {error.start} is wrong)", "GB18030")) from None
    return data


def _convert(what: str, example: str) -> str:
    return f"{what}; save it as UTF-8, or convert it: iconv -f {example} -t UTF-8 FILE > NEW"


def opens_with_title(source: str) -> bool:
    """Return whether a Markdown document begins with a level-1 heading."""
    blank = _BLANK.match(source, body_start(source))
    start = blank.end() if blank else 0
    return bool(_ATX.match(source, start) or _SETEXT.match(source, start))


def clean_title(title: str) -> str:
    """Make a title valid as a name: one line, printable, cut to the maximum length. Return '' if nothing is left."""
    visible = (each if each.isprintable() or each in _ZERO_WIDTH else " " for each in title)
    return " ".join("".join(visible).split())[:MAX_LENGTH].strip()
