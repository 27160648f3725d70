"""Which of many names are wanted: the same answer for a folder, an archive and a single file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import get_args

from findspot.sources.files import Kind, Known, Skipped, ending
from findspot.sources.paths import Unfit, hidden, safe, shown

_RECORD = "FINDSPOT."
_NOT_AGAIN = {"version": "versions/", "manifest": "manifest.json"}


@dataclass(frozen=True, slots=True)
class Wanted:
    """A file that is worth reading."""

    name: str
    path: str
    known: Known | None


class Sieve:
    """Looks at one name after another. What is said of a whole folder is said once."""

    def __init__(self) -> None:
        self._seen: set[str] = set()
        self._said: set[str] = set()

    def pick(self, raw: str, known: Known | None = None) -> Wanted | Skipped | None:
        """A file to read, or why it is not wanted; None if that has been said already."""
        try:
            name = safe(raw)
            if known is not None and known.kind in _NOT_AGAIN:
                return self._once(_NOT_AGAIN[known.kind], "an export's history and manifest are not imported")
            where = hidden(name)
            if where is not None:
                return self._once(where, "it is hidden")
            ending(name)
            path = safe(known.path) if known is not None and known.path else name
        except Unfit as unfit:
            return Skipped(shown(raw), unfit.reason)
        if path in self._seen:
            return Skipped(shown(path), "its name comes twice; the first was taken")
        self._seen.add(path)
        return Wanted(name, path, known)

    def _once(self, name: str, reason: str) -> Skipped | None:
        if name in self._said:
            return None
        self._said.add(name)
        return Skipped(shown(name), reason)


def known_from(records: Mapping[str, str]) -> Known | None:
    """What an export wrote into the header of a file."""
    kind = records.get(_RECORD + "kind")
    for one in get_args(Kind):
        if kind == one:
            return Known(one, *(records.get(_RECORD + key) for key in ("path", "title", "type")))
    return None


def records_of(known: Known) -> dict[str, str]:
    """The same, to be written."""
    values = {"kind": known.kind, "path": known.path, "title": known.title, "type": known.type}
    return {_RECORD + key: value for key, value in values.items() if value is not None}
