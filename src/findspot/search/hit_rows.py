"""Reads the rows of hits. The closer look, folding and the results of one page share them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from findspot.models import FoundChunk
from findspot.sources.lines import PIECE
from findspot.store import best_hits, document_lines, found_chunks
from findspot.store.database import Store
from findspot.store.document_lines import Piece

if TYPE_CHECKING:
    import sqlalchemy as sa

CURRENT = 0  # in place of a revision: the text of a document that was read after its chunks
LineKey: TypeAlias = tuple[int, int, int]  # document, revision, number of the piece


class HitRows:
    """The rows that were read for a page: chunks by id, and pieces of the line indexes of their documents."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._asked = set[int]()
        self.found: dict[int, FoundChunk] = {}
        self.lines: dict[LineKey, bytes] = {}

    async def read(self, ids: Sequence[int]) -> dict[int, FoundChunk]:
        """Return chunks by id, without deleted ones. Each is read once, in one step with its lines."""
        new = [id for id in ids if id not in self._asked]
        if new:
            if self._store.kind == "postgresql":
                async with self._store.statement() as connection:
                    self.add(new, *await connection.run_sync(best_hits.read_rows, new, PIECE))
            else:
                async with self._store.lookup() as connection:
                    await connection.run_sync(self._read, new)
        return {id: self.found[id] for id in ids if id in self.found}

    async def texts(self, ids: Sequence[int]) -> dict[int, str]:
        return {id: each.chunk.text for id, each in (await self.read(ids)).items()}

    def add(self, ids: Sequence[int], found: Mapping[int, FoundChunk], lines: Mapping[Piece, bytes]) -> None:
        """Keep what was read of these chunks, in one step with their lines. Those not found are deleted."""
        self._keep(ids, found, lines, _line_keys(found))

    def _read(self, connection: "sa.Connection", ids: Sequence[int]) -> None:
        found = found_chunks.found(connection, ids)
        keys = _line_keys(found)
        self._keep(ids, found, document_lines.read(connection, {(id, number) for id, _, number in keys}), keys)

    def _keep(
        self,
        ids: Sequence[int],
        found: Mapping[int, FoundChunk],
        lines: Mapping[Piece, bytes],
        keys: Iterable[LineKey],
    ) -> None:
        self.lines |= {key: lines[key[0], key[2]] for key in keys if (key[0], key[2]) in lines}
        self.found |= found
        self._asked.update(ids)


def is_behind(found: FoundChunk) -> bool:
    """Return whether the document has changed since this chunk was made."""
    return found.revision != found.indexed_revision


def line_key(found: FoundChunk, number: int) -> LineKey:
    """Return the key of a piece of the line index that fits the text of this chunk."""
    return found.chunk.document_id or 0, CURRENT if is_behind(found) else found.revision, number


def _line_keys(found: Mapping[int, FoundChunk]) -> set[LineKey]:
    """Return the pieces of stored line indexes that cover chunks of documents that come from files."""
    keys = set[LineKey]()
    for each in found.values():
        if each.path is not None and not is_behind(each):
            document_id, start, end = each.chunk.document_id or 0, each.chunk.char_start, each.chunk.char_end
            numbers = range(start // PIECE, (end - 1) // PIECE + 1)
            keys.update([(document_id, each.revision, number) for number in numbers])
    return keys
