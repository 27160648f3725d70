"""File names of an export: valid and unique on every operating system, and close to the original name."""

from __future__ import annotations

import re
import unicodedata

from findspot.sources.files import FILE_TYPES

_EXTENSIONS = {"markdown": ".md", "text": ".txt", "tiptap": ".json"}
_FILE_TYPES = {"markdown": "markdown", "text": "text", "tiptap": "json"}
_NOT_IN_NAMES = re.compile(r'[\\:*?"<>|\x00-\x1f\x7f-\x9f\u2028\u2029]')
_RESERVED = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\.|$)", re.IGNORECASE)
_PART_BYTES = 200


def extension(format: str) -> str:
    """Return the file name extension for content of this format."""
    return _EXTENSIONS[format]


class ExportNames:
    """Chooses the file names of one export."""

    def __init__(self) -> None:
        # Hashes take a few bytes per file. A collision only causes a needless '(2)'.
        self._files: set[int] = set()
        self._folders: set[int] = set()

    def document(self, preferred: str, format: str) -> str:
        return self._unique("documents", preferred, extension(format), _FILE_TYPES[format])

    def table(self, preferred: str) -> str:
        return self._unique("tables", preferred, ".json", "json")

    def _unique(self, folder: str, preferred: str, suffix: str, file_type: str) -> str:
        stem = "/".join(_safe_part(part) for part in preferred.split("/") if part) or "_"
        at = stem.rfind(".")
        if at > stem.rfind("/") + 1 and FILE_TYPES.get(stem[at:].lower()) == file_type:
            stem, suffix = stem[:at], stem[at:]
        if any(key in self._files for key in _folders(folder, stem)):  # the folder has the name of a file
            stem = stem.replace("/", "_")
        name, number = stem + suffix, 1
        while (key := _key(folder, name)) in self._files or key in self._folders:
            number += 1
            name = f"{stem} ({number}){suffix}"
        self._files.add(key)
        self._folders.update(_folders(folder, name))
        return name


def _key(folder: str, name: str) -> int:
    """Ignore case: to macOS and Windows, 'A.md' and 'a.md' are the same file."""
    return hash((folder, unicodedata.normalize("NFC", name).casefold()))


def _folders(folder: str, name: str) -> list[int]:
    parts = name.split("/")
    return [_key(folder, "/".join(parts[:end])) for end in range(1, len(parts))]


def _safe_part(part: str) -> str:
    part = _NOT_IN_NAMES.sub("_", part)
    if len(part.encode()) > _PART_BYTES:
        dot = part.rfind(".")
        ending = part[dot:] if dot > 0 and len(part[dot:].encode()) <= 10 else ""
        part = part.encode()[: _PART_BYTES - len(ending.encode())].decode(errors="ignore") + ending
    part = part.rstrip(" .") or "_"
    return f"_{part}" if part.startswith(".") or part == "__MACOSX" or _RESERVED.match(part) else part
