"""Checks the paths of imported files. A path is accepted as it is or rejected; nothing is guessed or repaired."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

MAX_BYTES = 1000
MAX_PART_BYTES = 255

_SURROGATE = re.compile("[\ud800-\udfff]")
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_DRIVE = re.compile(r"[A-Za-z]:")


class UnsupportedFile(ValueError):
    """A file that is not imported. The reason says why, and what would help."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def safe_path(name: str) -> str:
    """Return the normalised relative path of a file. Raise UnsupportedFile if the name is not accepted."""
    for problem in _problems(name):
        raise UnsupportedFile(problem)
    # macOS writes 'é' as two characters, other systems as one. It is the same file.
    parts = [part for part in unicodedata.normalize("NFC", name).split("/") if part not in ("", ".")]
    path = "/".join(parts)
    if not path:
        raise UnsupportedFile("it has no name")
    if len(path.encode()) > MAX_BYTES or max(len(part.encode()) for part in parts) > MAX_PART_BYTES:
        raise UnsupportedFile(
            f"its name is too long: a path may have {MAX_BYTES} bytes, each part of it {MAX_PART_BYTES}"
        )
    return path


def _problems(name: str) -> Iterator[str]:
    if _SURROGATE.search(name):
        yield "its name is not in UTF-8; rename it, or pack it with a tool that writes names in UTF-8"
    if _CONTROL.search(name):
        yield "its name contains control characters or line breaks; rename it"
    if "\\" in name:
        yield "its name contains a backslash; rename it, or pack it with a tool that writes '/' between folders"
    if name.startswith("/") or _DRIVE.match(name):
        yield "its name is an absolute path; pack it relative to its folder"
    if ".." in name.split("/"):
        yield "its name leads out of the folder with '..'"


def hidden_part(path: str) -> str | None:
    """Return the first hidden file or folder of a path (`.git/` of `.git/config`), or None."""
    parts = path.split("/")
    for number, part in enumerate(parts, 1):
        if part.startswith(".") or part == "__MACOSX":
            return "/".join(parts[:number]) + ("/" if number < len(parts) else "")
    return None


def printable(name: str) -> str:
    """Make any name printable and short enough for a report."""
    text = name.encode("utf-8", "replace").decode()
    text = "".join(character if character.isprintable() else "\ufffd" for character in text)
    return text if len(text) <= 200 else text[:199] + "…"
