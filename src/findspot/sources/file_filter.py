"""Decides which files of a folder or archive are imported. Single files follow the same rules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import get_args

from findspot.sources.files import ExportRecord, Kind, Skipped, file_type
from findspot.sources.paths import UnsupportedFile, hidden_part, printable, safe_path

_TAR_PREFIX = "FINDSPOT."
_NOT_IMPORTED = {"version": "versions/", "manifest": "manifest.json"}


@dataclass(frozen=True, slots=True)
class SelectedFile:
    """A file to read."""

    name: str
    path: str
    record: ExportRecord | None


class FileFilter:
    """Checks file names one after another. A note about a whole folder is returned only once."""

    def __init__(self) -> None:
        self._seen: set[str] = set()
        self._reported: set[str] = set()

    def select(self, raw: str, record: ExportRecord | None = None) -> SelectedFile | Skipped | None:
        """Return the file to read, or why it is skipped; None if its folder was already reported."""
        try:
            name = safe_path(raw)
            if record is not None and record.kind in _NOT_IMPORTED:
                return self._once(_NOT_IMPORTED[record.kind], "an export's history and manifest are not imported")
            hidden = hidden_part(name)
            if hidden is not None:
                return self._once(hidden, "it is hidden")
            file_type(name)
            path = safe_path(record.path) if record is not None and record.path else name
        except UnsupportedFile as error:
            return Skipped(printable(raw), error.reason)
        if path in self._seen:
            return Skipped(printable(path), "another file has the same name; the first one was imported")
        self._seen.add(path)
        return SelectedFile(name, path, record)

    def _once(self, name: str, reason: str) -> Skipped | None:
        if name in self._reported:
            return None
        self._reported.add(name)
        return Skipped(printable(name), reason)


def listed_path(raw: str, record: ExportRecord | None = None) -> str | None:
    """Return the path under which a file of a folder is imported, even if it cannot be read now; None for others."""
    try:
        name = safe_path(raw)
        file_type(name)
        if record is None or record.path is None:
            return name if record is None or record.kind not in _NOT_IMPORTED else None
        return safe_path(record.path)
    except UnsupportedFile:
        return None


def export_record_from(records: Mapping[str, str]) -> ExportRecord | None:
    """Return the export record in the extended tar header of a file, or None."""
    kind = records.get(_TAR_PREFIX + "kind")
    for known in get_args(Kind):
        if kind == known:
            return ExportRecord(known, *(records.get(_TAR_PREFIX + key) for key in ("path", "title", "type")))
    return None


def tar_records_of(record: ExportRecord) -> dict[str, str]:
    """Return an export record as fields of an extended tar header."""
    values = {"kind": record.kind, "path": record.path, "title": record.title, "type": record.type}
    return {_TAR_PREFIX + key: value for key, value in values.items() if value is not None}
