"""Edits of a string: what to put in place of some of its ranges."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Edit(NamedTuple):
    """Put `text` in place of `source[start:end]`."""

    start: int
    end: int
    text: str


def apply_edits(source: str, edits: Iterable[Edit]) -> str:
    """Return the source with all edits made. An edit that begins inside another one is dropped."""
    parts: list[str] = []
    done = 0
    for start, end, text in sorted(edits, key=lambda edit: (edit.start, edit.end > edit.start, -edit.end)):
        if start < done:
            continue
        parts += [source[done:start], text]
        done = end
    return "".join([*parts, source[done:]])
