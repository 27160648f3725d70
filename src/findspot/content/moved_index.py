"""Waits for the index at the target of a move, and compares it: chunks with the source, and rows with the engine."""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from findspot.content.moving import CannotMove, Moving
from findspot.engines.protocol import Damaged
from findspot.errors import FindspotError
from findspot.store import gone_chunks, index_requests, index_states, moved_chunks, moves, namespace_states
from findspot.store.index_requests import IndexRequest, RequestKind
from findspot.store.moved_chunks import Sample as Sample
from findspot.store.moved_chunks import Source

if TYPE_CHECKING:
    from findspot.engines.protocol import Engine
    from findspot.models import NamespaceKey
    from findspot.store.database import Store

STALLED_S = 60.0  # so long the index may fail without any progress
ATTEMPTS, _PAUSE_S = 5, 1.0
_RECENT = timedelta(seconds=10)  # what was changed so lately may be indexed after the switch
_POLL_S = 0.2
_PAUSES = 4  # times as long as a pass took: counting may take long
_SHOWN = 3


class EngineDiffers(CannotMove):
    """The engine of the target lacks chunks of its database, holds others, or is damaged. `is_wrong` if comparing them
    is not enough to repair it."""

    def __init__(self, namespace: str, difference: str, *, is_wrong: bool) -> None:
        super().__init__(
            f"The engine of the target differs from the database in {namespace}: {difference}. Nothing was switched. "
            "Run the command again: it repairs the index first."
        )
        self.namespace = namespace
        self.is_wrong = is_wrong


class TargetUnavailable(CannotMove):
    """The engine or the embedder of the target fails. Nothing was switched, and the move can go on later."""


# ── waiting ──


class Left(NamedTuple):
    """What the target has to index: tables and documents, and chunks that wait for its engine; an error if some fail.

    `is_repairing` if an index is compared with its engine, or built again.
    """

    sources: int
    chunks: int
    error: str | None
    is_repairing: bool


async def wait(moving: Moving, on_left: Callable[[Left], None], stalled_s: float = STALLED_S) -> None:
    """Bring the target up to date until it has indexed everything but the changes of the last seconds.

    Raise TargetUnavailable if indexing fails for `stalled_s` without any progress.
    """
    least, advanced = None, time.monotonic()
    while True:
        began = time.monotonic()
        await moving.catch_up()
        left = await _left(moving)
        if not left.sources and not left.is_repairing:
            return
        amount = left.sources, left.chunks
        if left.error is None or least is None or amount < least:
            least, advanced = amount, time.monotonic()
        elif time.monotonic() - advanced > stalled_s:
            raise TargetUnavailable(f"The target cannot index {left.sources} tables and documents: {left.error}")
        on_left(left)
        await asyncio.sleep(max(_POLL_S, _PAUSES * (time.monotonic() - began)))


async def _left(moving: Moving) -> Left:
    """Return what the target has to index. What the old installation cannot index either does not count."""
    async with moving.target.read() as connection:
        move = await moves.get(connection, moves.TARGET)
        assert move is not None, "the move has begun"
        late = await moved_chunks.unfinished(connection, max(move.started_at, datetime.now(UTC) - _RECENT))
        failures = await moved_chunks.failures(connection) if late.failed else {}
        repairs = await index_requests.every(connection) or await namespace_states.any_not_in_service(connection)
    if failures:
        async with moving.source.read() as connection:
            if await moved_chunks.any_ready(connection, list(failures)):
                error = next(iter(failures.values()))
                return Left(late.waiting + late.failed, late.chunks, error, bool(repairs))
    return Left(late.waiting, late.chunks, None, bool(repairs))


# ── comparing ──


@dataclass(frozen=True, slots=True)
class Compared:
    """How many chunks are the same: in both databases, and in the database and the engine of the target."""

    in_databases: int
    in_engine: int


async def verify(moving: Moving, engine: "Engine", attempts: int = ATTEMPTS) -> Compared:
    """Compare every chunk by id and content hash, or raise CannotMove with the ids of those that differ.

    The index goes on changing, so a difference counts if it is still there after some attempts.
    """
    for attempt in range(1, attempts + 1):
        try:
            return Compared(await _verify_databases(moving), await _verify_engine(moving.target, engine))
        except (CannotMove, FindspotError) as error:
            if attempt == attempts:
                if isinstance(error, EngineDiffers):
                    await _request_repair(moving.target, error)
                raise
        await asyncio.sleep(_PAUSE_S)
        await moving.catch_up()
    raise AssertionError("at least one attempt is made")


async def _verify_databases(moving: Moving) -> int:
    async with moving.source.snapshot() as source, moving.target.snapshot() as target:
        _, changed = await moves.changes(source)
        ours, theirs = await moved_chunks.digests(source), await moved_chunks.digests(target)
        move = await moves.get(source, moves.SOURCE)
        assert move is not None, "the move has begun"
        new = await moved_chunks.changed_since(source, move.started_at)
        skipped = {Source(key[0], None) for key in changed.get("tables", ())}
        skipped |= {Source(None, key[0]) for key in changed.get("documents", ())}
        if missing := sorted(map(str, ours.keys() - theirs.keys() - skipped - new)):
            raise CannotMove(f"The target has not indexed {_listed(missing)}.")
        both = (ours.keys() & theirs.keys()) - skipped
        for each in both:
            if ours[each] != theirs[each]:
                wrong = await moved_chunks.of_source(source, each) ^ await moved_chunks.of_source(target, each)
                raise CannotMove(f"Chunks of {each} differ from the source: {_listed(sorted(id for id, _ in wrong))}.")
    return sum(ours[each].rows for each in both)


async def _verify_engine(store: "Store", engine: "Engine") -> int:
    async with store.read() as connection:
        keys = await index_states.namespaces_with_chunks(connection)
    return sum([await _verify_namespace(store, engine, key) for key in keys])


async def _verify_namespace(store: "Store", engine: "Engine", key: "NamespaceKey") -> int:
    """Compare the chunks of a namespace in store and engine. What was written or deleted meanwhile does not count."""
    name = key.namespace
    async with store.read() as connection:
        wanted = await moved_chunks.indexed(connection, name)
    held = await asyncio.to_thread(_held, engine, name, wanted)
    if len(held) == len(wanted) and wanted.items() == set(held):
        return len(held)
    lacking, other = wanted.items() - set(held), set(held) - wanted.items()
    async with store.read() as connection:
        now = await moved_chunks.indexed(connection, name)
        rows = await moved_chunks.doc_ids(connection, [id for id, _ in other])
        leaving = set(await gone_chunks.to_forget(connection, name, len(held)))
    lacking &= now.items()
    other -= rows.items() | {each for each in other if each[0] in leaving}
    if lacking or other:
        parts = [f"it lacks {_listed(sorted(id for _, id in lacking))}"] if lacking else []
        parts += [f"it has {_listed(sorted(id for _, id in other))}, which the database has not"] if other else []
        raise EngineDiffers(name, "; ".join(parts), is_wrong=any(id in rows for id, _ in other))
    return len(held)


def _held(engine: "Engine", namespace: str, wanted: Mapping[int, str]) -> list[tuple[int, str]]:
    """Return both ids of each chunk that an engine holds. One without ids of its own has files, whose content is
    compared with its checksums."""
    try:
        if (pairs := engine.doc_ids(namespace)) is not None:
            return pairs
        if engine.files is not None:
            engine.files.verify(namespace)
        return [(id, wanted.get(id, f"number {id}")) for id in engine.ids(namespace).tolist()]
    except Damaged as damage:
        raise EngineDiffers(namespace, f"it is damaged ({damage})", is_wrong=True) from damage


async def _request_repair(store: "Store", found: EngineDiffers) -> None:
    """Have the next run compare a namespace and index what is missing, or build it again if chunks are mixed up."""
    kind = RequestKind.REBUILD if found.is_wrong else RequestKind.MISSING
    async with store.write() as connection:
        await index_requests.add(connection, [IndexRequest(found.namespace, kind)])


async def samples(source: "Store", count: int) -> list[Sample]:
    """Return texts to search for: passages that have not changed since the move began."""
    async with source.read() as connection:
        move = await moves.get(connection, moves.SOURCE)
        return [] if move is None else await moved_chunks.samples(connection, count, move.started_at)


def _listed(ids: Sequence[str]) -> str:
    """Return the first ids, and how many more there are."""
    more = len(ids) - _SHOWN
    return ", ".join(ids[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
