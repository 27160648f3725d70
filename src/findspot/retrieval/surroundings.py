"""The text directly before and after a chunk, where the chunk was cut out of a longer block.

A private value may begin in one chunk and end in the next. It is recognised only with the text around the chunk.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from findspot.store import found_chunks, neighbours
from findspot.store.database import LOOKUP_ROWS, Store
from findspot.store.neighbours import Piece

if TYPE_CHECKING:
    import sqlalchemy as sa

REACH = 4  # chunks on each side, about 3,600 characters: more than a private key has


class Surrounding(NamedTuple):
    """What stands directly before and after a text."""

    before: str = ""
    after: str = ""


async def surroundings(store: Store, ids: Sequence[int]) -> dict[int, Surrounding]:
    """Return the surroundings of chunks by id. Most have none: only long blocks are cut.

    Chunks that were made together have consecutive ids. Where an edit has broken the sequence, neighbours are looked
    up by their numbers.
    """
    nearby = sorted({id + distance for id in ids for distance in range(-REACH, REACH + 1)})
    async with store.lookup(one=True) if len(nearby) <= LOOKUP_ROWS else store.read() as connection:
        pieces = {piece.id: piece for piece in await connection.run_sync(neighbours.by_id, nearby)}
    known = {(piece.document_id, piece.number): piece for piece in pieces.values()}
    mine = [pieces[id] for id in ids if id in pieces]
    if missing := _missing(known, mine):
        async with store.read() as connection:
            for document_id, numbers in missing.items():
                found = await connection.run_sync(neighbours.by_number, document_id, numbers)
                known |= {(piece.document_id, piece.number): piece for piece in found}
    chains = {piece.id: (_chain(known, piece, -1), _chain(known, piece, 1)) for piece in mine}
    wanted = {piece.id for sides in chains.values() for side in sides for piece in side}
    if not wanted:
        return {}

    def read(connection: "sa.Connection") -> dict[int, str]:
        return found_chunks.texts(connection, sorted(wanted))

    async with store.lookup(one=True) if len(wanted) <= LOOKUP_ROWS else store.read() as connection:
        texts = await connection.run_sync(read)
    return {piece.id: _joined(piece, *chains[piece.id], texts) for piece in mine}


def _missing(known: Mapping[tuple[int, int], Piece], mine: Sequence[Piece]) -> dict[int, list[int]]:
    """Return the numbers of neighbours that consecutive ids did not bring, by document."""
    missing: dict[int, set[int]] = {}
    for piece in mine:
        direct = (number for number in (piece.number - 1, piece.number + 1) if 0 <= number < piece.total)
        if any((piece.document_id, number) not in known for number in direct):
            wanted = range(max(0, piece.number - REACH), min(piece.total, piece.number + REACH + 1))
            missing.setdefault(piece.document_id, set()).update(wanted)
    return {document_id: sorted(numbers) for document_id, numbers in missing.items()}


def _chain(known: Mapping[tuple[int, int], Piece], piece: Piece, step: int) -> list[Piece]:
    """Return the chunks that follow without a gap in one direction, the nearest first."""
    found: list[Piece] = []
    here = piece
    while len(found) < REACH and (following := known.get((here.document_id, here.number + step))) is not None:
        first, second = (here, following) if step > 0 else (following, here)
        if first.end < second.start or following.start == here.start:
            break
        found.append(following)
        here = following
    return found


def _joined(piece: Piece, before: Sequence[Piece], after: Sequence[Piece], texts: Mapping[int, str]) -> Surrounding:
    head, start = "", piece.start
    for each in before:
        text = texts.get(each.id, "")
        head, start = text[: max(0, start - each.start)] + head, min(start, each.start)
    tail, end = "", piece.end
    for each in after:
        text = texts.get(each.id, "")
        tail, end = tail + text[max(0, end - each.start) :], max(end, each.end)
    return Surrounding(head, tail)
