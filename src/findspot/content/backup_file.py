"""The file of a backup: frames of rows, each sealed with a digest of all that came before it. See docs/backup.md.

Whoever reads one trusts nothing: no length before it is held against a limit and the file, no block before its seal.
"""

import hashlib
import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, BinaryIO, TypeAlias

import msgspec

from findspot.models import ColumnKind, TableShape

Row: TypeAlias = tuple[Any, ...]

MAGIC = b"\x89findspot backup\r\n\x1a\n"  # shows at once when a transfer has changed line ends
FORMAT = 1
BLOCK = 1 << 20  # bytes of a block before it is packed; only a single row may be longer
LONGEST_ROW = 1 << 30  # about what either database can hold
_DESCRIPTION = 1 << 20
_HEAD = struct.Struct("!cHII")  # kind, number of the table, length packed, length unpacked
_COUNT = struct.Struct("!BI")  # MessagePack's mark of a long list, and how many follow
_LIST = 0xDD
_LEVEL = 1  # higher ones take several times as long for a few per cent
_HEADER, _ROWS, _END = b"H", b"R", b"E"

_int64 = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
_TYPES: dict[ColumnKind, Any] = {
    ColumnKind.INTEGER: _int64,
    ColumnKind.REAL: float,
    ColumnKind.BOOLEAN: bool,
    ColumnKind.TEXT: str,
    ColumnKind.BYTES: bytes,
    ColumnKind.TIMESTAMP: Annotated[datetime, msgspec.Meta(tz=True)],
    ColumnKind.JSON: str,
}
_encoder = msgspec.msgpack.Encoder()


class BadBackup(Exception):
    """A file that is no backup, is damaged, or does not fit this Findspot. Says so in a sentence."""


@dataclass(frozen=True, slots=True)
class Header:
    """What a backup says of itself before its rows."""

    findspot: str
    schema: str
    database: str
    created_at: Annotated[datetime, msgspec.Meta(tz=True)]
    tables: tuple[TableShape, ...]


@dataclass(frozen=True, slots=True)
class End:
    """What a backup says of itself after its rows: how many each table has, and their bytes before packing."""

    rows: tuple[int, ...]
    size: int


@dataclass(frozen=True, slots=True)
class Block:
    """Rows of one table, packed."""

    table: int
    count: int
    size: int
    packed: bytes


def pack(table: int, rows: Sequence[Row]) -> list[Block]:
    """Rows of one table as blocks. Long work that needs nothing else: it may run in any thread."""
    blocks, some, size = [], list[bytes](), _COUNT.size
    for row in rows:
        encoded = _encoder.encode(row)
        if some and size + len(encoded) > BLOCK:
            blocks.append(_block(table, some))
            some, size = [], _COUNT.size
        some.append(encoded)
        size += len(encoded)
    return [*blocks, _block(table, some)] if some else blocks


def _block(table: int, rows: Sequence[bytes]) -> Block:
    plain = b"".join((_COUNT.pack(_LIST, len(rows)), *rows))
    if len(plain) > LONGEST_ROW:
        raise ValueError("a row is too long for a backup")
    return Block(table, len(rows), len(plain), zlib.compress(plain, _LEVEL))


class Writer:
    """Makes the bytes of a backup, in order."""

    def __init__(self, header: Header) -> None:
        self._header = header
        self._digest = hashlib.sha256()
        self._rows = [0] * len(header.tables)
        self._size = 0

    def begin(self) -> bytes:
        start = MAGIC + bytes([FORMAT])
        self._digest.update(start)
        return start + self._described(_HEADER, self._header)

    def seal(self, block: Block) -> bytes:
        self._rows[block.table] += block.count
        self._size += block.size
        return self._frame(_ROWS, block.table, block.size, block.packed)

    def end(self) -> bytes:
        return self._described(_END, End(tuple(self._rows), self._size))

    def _described(self, kind: bytes, value: Header | End) -> bytes:
        plain = _encoder.encode(value)
        return self._frame(kind, 0, len(plain), zlib.compress(plain, _LEVEL))

    def _frame(self, kind: bytes, table: int, size: int, packed: bytes) -> bytes:
        head = _HEAD.pack(kind, table, len(packed), size)
        self._digest.update(head)
        self._digest.update(packed)
        return b"".join((head, packed, self._digest.digest()))


class Reader:
    """Reads a backup of `size` bytes from its start, and raises BadBackup at the first thing that is not right."""

    def __init__(self, stream: BinaryIO, size: int) -> None:
        self._stream = stream
        self._size = size
        self._digest = hashlib.sha256()
        self._begun = 0  # where the frame at hand begins
        self.position = 0
        self.end: End | None = None
        self._start()
        kind, _, plain = self._frame()
        if kind != _HEADER:
            raise self._altered()
        self.header = self._decoded(plain, msgspec.msgpack.Decoder(Header))
        self._decoders = [_decoder(table) for table in self.header.tables]

    @property
    def digest(self) -> bytes:
        """Tells this backup, as far as it is read, from every other."""
        return self._digest.digest()

    def blocks(self) -> Iterator[tuple[TableShape, list[Row]]]:
        """Every block of rows. After the last, the counts are checked and nothing may follow."""
        counts, size, latest = [0] * len(self._decoders), 0, 0
        while True:
            kind, table, plain = self._frame()
            if kind == _END:
                break
            if kind != _ROWS or not latest <= table < len(self._decoders):
                raise self._altered()
            rows = self._rows(plain, table)
            latest = table
            counts[table] += len(rows)
            size += len(plain)
            yield self.header.tables[table], rows
        self.end = self._decoded(plain, msgspec.msgpack.Decoder(End))
        if self.end != End(tuple(counts), size):
            raise self._altered()
        if self.position != self._size:
            raise BadBackup(f"The backup was altered: {self._size - self.position} bytes follow its end.")

    def _start(self) -> None:
        start = self._stream.read(len(MAGIC) + 1)
        if start[: len(MAGIC)] != MAGIC[: len(start)] or not start:
            raise BadBackup("This is not a Findspot backup.")
        self.position = len(start)
        if len(start) <= len(MAGIC):
            raise self._cut_off()
        if start[-1] != FORMAT:
            raise BadBackup(f"This backup has the format {start[-1]}; this Findspot reads the format {FORMAT}.")
        self._digest.update(start)

    def _frame(self) -> tuple[bytes, int, bytes]:
        self._begun = self.position
        head = self._take(_HEAD.size)
        kind, table, length, size = _HEAD.unpack(head)
        limit = LONGEST_ROW if kind == _ROWS else _DESCRIPTION
        if not 0 < size <= limit or not 0 < length <= limit:
            raise self._altered()
        packed = self._take(length)
        self._digest.update(head)
        self._digest.update(packed)
        if self._take(self._digest.digest_size) != self._digest.digest():
            raise self._altered()
        return kind, table, self._unpacked(packed, size)

    def _take(self, length: int) -> bytes:
        if length > self._size - self.position:
            raise self._cut_off()
        taken = self._stream.read(length)
        self.position += len(taken)
        if len(taken) < length:
            raise self._cut_off()
        return taken

    def _unpacked(self, packed: bytes, size: int) -> bytes:
        """Never more than what was announced, however much there is."""
        unpacking = zlib.decompressobj()
        try:
            plain = unpacking.decompress(packed, size + 1)
        except zlib.error:
            raise self._altered() from None
        if len(plain) != size or not unpacking.eof or unpacking.unused_data:
            raise self._altered()
        return plain

    def _rows(self, plain: bytes, table: int) -> list[Row]:
        """A small block may hold many rows, a large one only one: rows take far more memory than their bytes."""
        mark, count = _COUNT.unpack_from(plain) if len(plain) >= _COUNT.size else (0, 0)
        if mark != _LIST or count == 0 or (len(plain) > BLOCK and count > 1):
            raise self._altered()
        rows: list[Row] = self._decoded(plain, self._decoders[table])
        return rows

    def _decoded(self, plain: bytes, decoder: "msgspec.msgpack.Decoder[Any]") -> Any:
        try:
            return decoder.decode(plain)
        except (msgspec.DecodeError, RecursionError):
            raise self._altered() from None

    def _altered(self) -> BadBackup:
        return BadBackup(f"The backup is damaged or was altered: what begins at byte {self._begun} is not as written.")

    def _cut_off(self) -> BadBackup:
        return BadBackup(f"The backup is cut off: it ends after {self._size} bytes, in the middle of a block.")


def _decoder(table: TableShape) -> "msgspec.msgpack.Decoder[Any]":
    cells = tuple(_TYPES[column.kind] | None for column in table.columns)
    return msgspec.msgpack.Decoder(list.__class_getitem__(tuple.__class_getitem__(cells)))
