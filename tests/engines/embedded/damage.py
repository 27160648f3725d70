"""Ways to damage the files of an index."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

Damage: TypeAlias = Callable[[Path], None]

FILES = {  # by content: a pattern below the folder of a namespace
    "manifest": "manifest.json",
    "postings": "gen-*/kept/*.idx",
    "terms": "gen-*/kept/*.term",
    "lengths": "gen-*/kept/*.fieldnorm",
    "numbers": "gen-*/kept/*.fast",
    "positions": "gen-*/kept/*.pos",
    "store": "gen-*/kept/*.store",
    "deletions": "gen-*/kept/*.del",
    "codes": "gen-*/vectors-*/codes",
    "rows": "gen-*/vectors-*/rows",
    "sources": "gen-*/vectors-*/sources",
    "dead": "gen-*/vectors-*/dead",
}


def truncated_to_nothing(file: Path) -> None:
    file.write_bytes(b"")


def cut_in_half(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def one_byte_short(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-1])


def one_bit_flipped(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 3] ^= 0x10
    file.write_bytes(content)


def zeroed(file: Path) -> None:
    size = file.stat().st_size
    file.write_bytes(file.read_bytes()[: size // 4] + bytes(size - size // 4))


def missing(file: Path) -> None:
    file.unlink()


def replaced(file: Path) -> None:
    """Other content of the same size, as after a wrong restore."""
    file.write_bytes(file.read_bytes()[::-1])


def a_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


def zeroed_in_place(file: Path) -> None:
    """Keep the size: truncating a memory-mapped file would kill the process that reads it."""
    with file.open("r+b") as opened:
        opened.write(bytes(file.stat().st_size))


DAMAGES: list[Damage] = [
    truncated_to_nothing,
    cut_in_half,
    one_byte_short,
    one_bit_flipped,
    zeroed,
    missing,
    replaced,
    a_folder,
]
