"""Which names of files are taken as they are, and which are not at all. Nothing is guessed, nothing repaired."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

MAX_BYTES = 1000
MAX_PART_BYTES = 255

_SURROGATE = re.compile("[\ud800-\udfff]")
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_DRIVE = re.compile(r"[A-Za-z]:")


class Unfit(ValueError):
    """A file that is not imported; the sentence says why, and what would help."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def safe(name: str) -> str:
    """The path of a file relative to what is imported, with one spelling a file; raises Unfit."""
    for problem in _problems(name):
        raise Unfit(problem)
    # macOS writes 'é' as two characters where others write one: it is the same file.
    parts = [part for part in unicodedata.normalize("NFC", name).split("/") if part not in ("", ".")]
    path = "/".join(parts)
    if not path:
        raise Unfit("it has no name")
    if len(path.encode()) > MAX_BYTES or max(len(part.encode()) for part in parts) > MAX_PART_BYTES:
        raise Unfit(f"its name is too long: a path may have {MAX_BYTES} bytes, each part of it {MAX_PART_BYTES}")
    return path


def _problems(name: str) -> Iterator[str]:
    if _SURROGATE.search(name):
        yield "its name is not in UTF-8; rename it, or pack it with a tool that writes names in UTF-8"
    if _CONTROL.search(name):
        yield "its name holds control characters or line breaks; rename it"
    if "\\" in name:
        yield "its name holds a backslash; rename it, or pack it with a tool that writes '/' between folders"
    if name.startswith("/") or _DRIVE.match(name):
        yield "its name is an absolute path; pack it relative to its folder"
    if ".." in name.split("/"):
        yield "its name leads out of the folder with '..'"


def hidden(path: str) -> str | None:
    """The hidden file or folder that a path lies in (`.git` of `.git/config`); None if all of it is to be seen."""
    parts = path.split("/")
    for number, part in enumerate(parts, 1):
        if part.startswith(".") or part == "__MACOSX":
            return "/".join(parts[:number]) + ("/" if number < len(parts) else "")
    return None


def shown(name: str) -> str:
    """A name for a report, whatever it holds."""
    text = name.encode("utf-8", "replace").decode()
    text = "".join(character if character.isprintable() else "\ufffd" for character in text)
    return text if len(text) <= 200 else text[:199] + "…"
