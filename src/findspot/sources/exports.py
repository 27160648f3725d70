"""What the files of an export are called: safe on every system, told apart on all of them, and easy to recognise."""

from __future__ import annotations

import re
import unicodedata

from findspot.sources.files import ENDINGS

_EXTENSIONS = {"markdown": ".md", "text": ".txt", "tiptap": ".json"}
_ENDS_AS = {"markdown": "markdown", "text": "text", "tiptap": "json"}
_NOT_IN_NAMES = re.compile(r'[\\:*?"<>|\x00-\x1f\x7f-\x9f\u2028\u2029]')
_RESERVED = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\.|$)", re.IGNORECASE)
_PART_BYTES = 200


def extension(format: str) -> str:
    """How a file ends that holds a content of this format."""
    return _EXTENSIONS[format]


class Names:
    """Names of files in one export."""

    def __init__(self) -> None:
        # Hashes: a few bytes a file, and a needless '(2)' once in a blue moon does no harm.
        self._files: set[int] = set()
        self._folders: set[int] = set()

    def document(self, wish: str, format: str) -> str:
        return self._free("documents", wish, extension(format), _ENDS_AS[format])

    def table(self, wish: str) -> str:
        return self._free("tables", wish, ".json", "json")

    def _free(self, folder: str, wish: str, suffix: str, ends_as: str) -> str:
        stem = "/".join(_part(part) for part in wish.split("/") if part) or "_"
        at = stem.rfind(".")
        if at > stem.rfind("/") + 1 and ENDINGS.get(stem[at:].lower()) == ends_as:
            stem, suffix = stem[:at], stem[at:]
        if any(key in self._files for key in _folders(folder, stem)):  # a file has the name of this one's folder
            stem = stem.replace("/", "_")
        name, number = stem + suffix, 1
        while (key := _key(folder, name)) in self._files or key in self._folders:
            number += 1
            name = f"{stem} ({number}){suffix}"
        self._files.add(key)
        self._folders.update(_folders(folder, name))
        return name


def _key(folder: str, name: str) -> int:
    """macOS and Windows take 'A.md' and 'a.md' for one file."""
    return hash((folder, unicodedata.normalize("NFC", name).casefold()))


def _folders(folder: str, name: str) -> list[int]:
    parts = name.split("/")
    return [_key(folder, "/".join(parts[:end])) for end in range(1, len(parts))]


def _part(part: str) -> str:
    part = _NOT_IN_NAMES.sub("_", part)
    if len(part.encode()) > _PART_BYTES:
        dot = part.rfind(".")
        ending = part[dot:] if dot > 0 and len(part[dot:].encode()) <= 10 else ""
        part = part.encode()[: _PART_BYTES - len(ending.encode())].decode(errors="ignore") + ending
    part = part.rstrip(" .") or "_"
    return f"_{part}" if part.startswith(".") or part == "__MACOSX" or _RESERVED.match(part) else part
