"""What does a file become? Told by its name and its bytes; the JSON in it is looked at elsewhere."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from findspot.names import MAX_LENGTH
from findspot.sources.front_matter import body_start
from findspot.sources.paths import Unfit, hidden

Ending = Literal["markdown", "text", "json", "jsonl"]
Kind = Literal["document", "table", "version", "manifest"]

ENDINGS: dict[str, Ending] = {
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
_SHOWN_IN_LINE = "\u200c\u200d"


@dataclass(frozen=True, slots=True)
class Known:
    """What an export says about a file of its own."""

    kind: Kind
    path: str | None = None
    title: str | None = None
    type: str | None = None


@dataclass(frozen=True, slots=True)
class File:
    """A file to import. Its name tells what it becomes, its path which document or table it is."""

    name: str
    path: str
    data: bytes
    known: Known | None = None


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file that was not imported, and why."""

    name: str
    reason: str


def ending(name: str) -> Ending:
    """What a file of this name holds; raises Unfit for what is not imported."""
    where = hidden(name)
    if where is not None:
        raise Unfit("it is hidden" if where == name else f"it lies in the hidden folder {where}")
    last = name.rpartition("/")[2]
    dot = last.rfind(".")
    suffix = last[dot:].lower() if dot > 0 else ""
    if suffix in ENDINGS:
        return ENDINGS[suffix]
    if suffix in ARCHIVES or suffix in _OTHER_ARCHIVES:
        raise Unfit("it is an archive inside of what is imported; unpack it, or import it by itself")
    what = f"files that end in {suffix}" if suffix else "files without an ending"
    raise Unfit(f"{what} are not imported; Markdown (.md), text (.txt), JSON and JSONL are")


def stem(name: str) -> str:
    """The name of a file without its folders and its ending."""
    last = name.rpartition("/")[2]
    return last[: last.rfind(".")] if last.rfind(".") > 0 else last


def decoded(data: bytes) -> bytes:
    """The text of a file in UTF-8, without a byte order mark; raises Unfit if it is in some other encoding."""
    try:
        if data.startswith((b"\xff\xfe\x00\x00", b"\x00\x00\xfe\xff")):
            raise Unfit(_convert("it is in UTF-32", "UTF-32"))
        if data.startswith((b"\xff\xfe", b"\xfe\xff")):
            return data.decode("utf-16").encode()
        data = data.removeprefix(b"\xef\xbb\xbf")
        data.decode()
    except UnicodeDecodeError as error:
        if error.encoding.startswith("utf-16"):
            raise Unfit("it begins as UTF-16, but is not valid UTF-16; save it as UTF-8") from None
        raise Unfit(_convert(f"it is not in UTF-8 (byte {error.start} is wrong)", "GB18030")) from None
    return data


def _convert(what: str, example: str) -> str:
    return f"{what}; save it as UTF-8, or convert it: iconv -f {example} -t UTF-8 FILE > NEW"


def opens_with_title(source: str) -> bool:
    """Whether the first thing of a Markdown document is a heading of level 1."""
    blank = _BLANK.match(source, body_start(source))
    start = blank.end() if blank else 0
    return bool(_ATX.match(source, start) or _SETEXT.match(source, start))


def fitting(title: str) -> str:
    """A title that is accepted as a name: one line, printable, cut where it is too long; '' if nothing is left."""
    visible = (each if each.isprintable() or each in _SHOWN_IN_LINE else " " for each in title)
    return " ".join("".join(visible).split())[:MAX_LENGTH].strip()
