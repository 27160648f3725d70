"""Moves an installation to another database while it is used. docs/decisions/013 has the reasons.

The steps can be repeated: a move that was killed goes on where it was.
"""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path

from sqlalchemy.ext.asyncio import AsyncConnection

from findspot.errors import FindspotError
from findspot.store import leases, migrate, moves, row_copies, snapshot
from findspot.store.database import Store
from findspot.store.row_copies import Digest
from findspot.store.schema import embedding_cache, metadata

FEW = 200  # changed rows that can be copied while changes are refused
LONGEST_FREEZE_S = 4.0  # then the source accepts changes again, and the move tries once more later
_ATTEMPTS, _LONGEST_PAUSE_S = 20, 5

OnRows = Callable[[str, int], None]  # called with a table and the number of its rows copied so far


class CannotMove(Exception):
    """The move cannot begin or go on, and nothing was switched."""


@dataclass(frozen=True, slots=True)
class Moved:
    """A finished move."""

    rows: dict[str, int]
    frozen_s: float


@dataclass
class Moving:
    """A move between two open stores. The descriptions are shown to people and hold no passwords."""

    source: Store
    target: Store
    source_name: str
    target_name: str
    on_rows: OnRows = lambda table, rows: None
    _copied: dict[str, int] = field(default_factory=dict)

    # ── beginning ──

    async def begin(self) -> bool:
        """Log the source's changes from now on, or go on with a move that had begun before.

        Return False if that one had already switched. Raise CannotMove if either database is part of another move, or
        the target is not empty.
        """
        async with self.source.read() as connection:
            if await migrate.revision(connection) != migrate.HEAD:
                raise CannotMove(
                    "The database to be moved has another schema. Start this version of Findspot on it first."
                )
            ours, move = await moves.identity(connection), await moves.get(connection, moves.SOURCE)
        async with self.target.read() as connection:
            theirs, filling = await moves.identity(connection), await moves.get(connection, moves.TARGET)
        if move is not None and move.identity == theirs and filling is not None:
            await self._end_leases()
            if move.state == moves.MOVED:  # it was killed just before its last step
                await self._release_target()
                return False
            await self._thaw()
            return True
        if move is not None:
            state = "has been moved" if move.state == moves.MOVED else "is being moved"
            raise CannotMove(f"This installation {state} to {move.peer}. 'findspot migrate --cancel' ends that.")
        if ours == theirs or (filling is not None and filling.identity != ours):
            raise CannotMove("The target is this installation itself, or another move fills it.")
        async with self.target.write() as connection:
            if not await snapshot.is_empty(connection):
                raise CannotMove("The target is not empty. Name an empty database or a new folder.")
            await moves.put(connection, moves.TARGET, self.source_name, ours)
            await moves.forget_progress(connection)
        async with self.source.write() as connection:
            await moves.log_changes(connection, row_copies.logged())
            await moves.put(connection, moves.SOURCE, self.target_name, theirs)
        return True

    async def _end_leases(self) -> None:
        """Have the leases of a command that was killed expire, so that this one need not wait for them."""
        if self.target.kind == "postgresql":
            async with self.target.write() as connection:
                await leases.expire(connection)

    # ── copying ──

    async def copy(self) -> None:
        """Copy everything from a snapshot of the source. Rows that an earlier attempt copied are not copied again."""
        async with self.source.snapshot() as source:
            async with self.target.read() as connection:
                progress = await moves.progress(connection)
            if progress:  # a newer snapshot: what was copied from the older one has to be as new
                done = {name for name, (_, complete) in progress.items() if complete}
                _, changed = await moves.changes(source)
                async with self.target.write() as target:
                    await row_copies.apply(
                        source, target, {name: keys for name, keys in changed.items() if name in done}
                    )
            for table in row_copies.moved():
                last, complete = progress.get(str(table.name), (None, False))
                if not complete:
                    await self._copy_table(source, str(table.name), last)
            async with self.target.write() as target:  # rows of its own, such as embeddings, get later ids
                await snapshot.set_last_ids(target, await snapshot.shapes(source))

    async def _copy_table(self, source: AsyncConnection, name: str, last: moves.Key | None) -> None:
        table = metadata.tables[name]
        where = () if last is None else (row_copies.after(table, last),)
        async with contextlib.aclosing(snapshot.rows(source, name, *where)) as batches:
            async for batch in batches:
                last = row_copies.key_of(table, batch[-1])
                async with self.target.write(durable=False) as target:
                    await snapshot.put(target, table, batch)
                    await moves.set_progress(target, name, last, done=False)
                self._copied[name] = self._copied.get(name, 0) + len(batch)
                self.on_rows(name, self._copied[name])
        async with self.target.write() as target:
            await moves.set_progress(target, name, last, done=True)

    # ── catching up ──

    async def catch_up(self) -> int:
        """Copy the rows that changed since they were copied. Return how many there were.

        New embeddings are not copied: the target may have made its own by now.
        """
        async with self.source.snapshot() as source:
            ids, changed = await moves.changes(source)
            if changed:
                async with self.target.write() as target:
                    await row_copies.apply(source, target, changed)
        if ids:
            async with self.source.write() as connection:
                await moves.forget_changes(connection, ids)
        return sum(map(len, changed.values()))

    async def verify(self) -> dict[str, int]:
        """Compare every row of both databases. Return how many of each table are the same, or raise CannotMove."""
        async with self.source.snapshot() as source, self.target.snapshot() as target:
            _, changed = await moves.changes(source)  # not copied yet
            ours = await _digests(source, changed)
            theirs = await _digests(target, changed)
        (
            ours.pop(str(embedding_cache.name)),
            theirs.pop(str(embedding_cache.name)),
        )  # may grow at any time, on both sides
        wrong = [name for name, digest in ours.items() if theirs[name] != digest]
        if wrong:
            raise CannotMove(f"The copy differs from the source in: {', '.join(wrong)}. Nothing was switched.")
        return {name: digest.rows for name, digest in ours.items()}

    # ── switching ──

    async def switch(self) -> Moved:
        """Refuse changes in the source, copy the last ones, and make the target the installation.

        If that takes too long, or a transaction blocks it, accept changes again, catch up, and try again.
        """
        problem: Exception | None = None
        for attempt in range(_ATTEMPTS):
            await asyncio.sleep(min(attempt, _LONGEST_PAUSE_S))
            while await self.catch_up() > FEW:
                pass
            began = time.monotonic()
            try:
                async with asyncio.timeout(LONGEST_FREEZE_S):
                    rows = await self._copy_last_changes()
            except (TimeoutError, FindspotError) as error:
                problem = error
                await self._thaw()
            except BaseException:
                await asyncio.shield(self._thaw())
                raise
            else:
                await self._set_moved()
                await self._release_target()
                return Moved(rows, time.monotonic() - began)
        raise CannotMove(
            f"Changes cannot be refused for as little as {LONGEST_FREEZE_S:g} s now. Run the command again later."
        ) from problem

    async def _copy_last_changes(self) -> dict[str, int]:
        """Refuse changes, copy the last ones, and return the numbers of rows, which have to be the same."""
        async with self.source.write() as connection:
            await moves.refuse_changes(connection, row_copies.logged())
            await moves.set_state(connection, moves.FROZEN_STATE)
        await self.catch_up()
        async with self.source.snapshot() as source, self.target.read() as target:
            ours, theirs = await row_copies.counts(source), await row_copies.counts(target)
            shapes = await snapshot.shapes(source)
        if ours != theirs:
            wrong = [name for name in ours if ours[name] != theirs[name]]
            raise CannotMove(f"The numbers of rows differ in: {', '.join(wrong)}. Nothing was switched.")
        async with self.target.write() as connection:
            await snapshot.set_last_ids(connection, shapes)
        return ours

    async def _set_moved(self) -> None:
        async with self.source.write() as connection:
            await moves.set_state(connection, moves.MOVED)

    async def _release_target(self) -> None:
        """Let servers use the target: the last step."""
        async with self.target.write() as connection:
            await moves.forget(connection, moves.TARGET)
            await moves.forget_progress(connection)

    async def _thaw(self) -> None:
        """Accept changes in the source again, unless the switch has been made."""
        async with self.source.write() as connection:
            move = await moves.get(connection, moves.SOURCE)
            if move is not None and move.state == moves.FROZEN_STATE:
                await moves.log_changes(connection, row_copies.logged())
                await moves.set_state(connection, moves.COPYING)


async def _digests(connection: AsyncConnection, without: moves.Keys) -> dict[str, Digest]:
    return {name: digest async for name, digest in row_copies.digests(connection, without)}


async def cancel(source: Store) -> bool:
    """End a move: the source accepts changes and is used as before. Return False if there was none."""
    async with source.write() as connection:
        if await moves.get(connection, moves.SOURCE) is None:
            return False
        await moves.stop_logging(connection, row_copies.logged())
        await moves.forget(connection, moves.SOURCE)
    return True


@contextlib.asynccontextmanager
async def opened_source(url: str | None, file: Path) -> AsyncIterator[Store]:
    """Open the database of a running installation without migrating it."""
    store = Store.unprepared(url, file)
    try:
        yield store
    finally:
        await store.close()


@contextlib.asynccontextmanager
async def locked_target(url: str | None, file: Path) -> AsyncIterator[None]:
    """Keep other commands from filling the same database. A data folder has a lock of its own.

    Raise CannotMove if one does.
    """
    if url is None:
        yield
        return
    store = Store.unprepared(url, file)
    try:
        async with store.session() as session:
            if not await moves.try_lock(session):
                raise CannotMove("Another 'findspot migrate' fills this database at this moment.")
            yield
    finally:
        await store.close()


@contextlib.asynccontextmanager
async def opened_target(url: str | None, file: Path) -> AsyncIterator[Store]:
    """Open the database to move to, and create its schema if it is new."""
    store = await Store.open(url, file)
    try:
        yield store
    finally:
        await store.close()
