"""Tables: create, read at a pointer, set, patch and delete. Every change of a JSON value goes through here."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import partial
from typing import Literal, NoReturn, TypeAlias
from weakref import WeakValueDictionary

from sqlalchemy.exc import IntegrityError

from findspot import pointer as pointers
from findspot.errors import FindspotError, not_found
from findspot.jsontext import operations
from findspot.jsontext.elements import Key
from findspot.jsontext.operations import Edit
from findspot.models import Table
from findspot.names import checked
from findspot.runtime.helpers import Helpers
from findspot.runtime.memory import MemoryBudget
from findspot.runtime.remote_calls import joined_there
from findspot.store import tables as rows
from findspot.store.database import Store
from findspot.store.index_states import note_changes

Part: TypeAlias = bytes | Sequence[bytes]  # a JSON text, whole or in pieces
Change: TypeAlias = Literal["created", "changed", "unchanged"]

WHOLE_TABLE = ("",)

_ATTEMPTS = 100  # writers of other processes may interfere; those of this process take turns


class Tables:
    """The tables of all projects. Their texts are read and written in pieces, never as one large copy."""

    def __init__(self, store: Store, helpers: Helpers, memory: MemoryBudget, max_table: int) -> None:
        self._store = store
        self._helpers = helpers
        self._memory = memory
        self._limit = max_table
        self._turns: WeakValueDictionary[int, asyncio.Lock] = WeakValueDictionary()

    async def create(self, project_id: int, body: Part) -> Table:
        """Create a table from the body `{name, data}`."""
        given, text = await self._helpers.run_unless_small(
            project_id, operations.open_table, joined_there(body), self._limit
        )
        del body  # the text takes its place in memory
        name = checked(given)
        try:
            return await self._insert(project_id, name, text)
        except IntegrityError:
            raise not_found("project") from None

    @contextlib.asynccontextmanager
    async def reading(self, table_id: int, pointer: str) -> AsyncIterator[tuple[Table, list[bytes]]]:
        """Load a table and the JSON text of its value at a pointer. Its memory is reserved while the block runs."""
        pointers.parse(pointer)
        async with self._memory.hold(await self._size(table_id)):
            table, text = await self._load(table_id)
            if pointer:
                text = [
                    await self._helpers.run_unless_small(table.project_id, operations.read, joined_there(text), pointer)
                ]
            yield table, text

    async def children(self, table_id: int, pointer: str, offset: int, limit: int) -> tuple[Table, bytes]:
        """Return a table, and members of its value at a pointer as JSON."""
        pointers.parse(pointer)
        async with self._memory.hold(await self._size(table_id)):
            table, text = await self._load(table_id)
            listed = await self._helpers.run_unless_small(
                table.project_id, operations.list_children, joined_there(text), pointer, offset, limit
            )
        return table, listed

    async def put(self, table_id: int, pointer: str, body: Part, expected: int | None) -> int:
        """Set the value at a pointer. Return the new revision."""
        pointers.parse(pointer)
        if pointer:
            return await self._edit(table_id, expected, partial(self._put, pointer, body))
        async with self._store.read() as connection:
            table = await rows.get(connection, table_id)
        if table is None or (expected is not None and table.revision != expected):
            await self._raise_conflict(table_id)  # fail early; `switch` checks again
        text = await self._helpers.run_unless_small(
            table.project_id, operations.accept, joined_there(body), self._limit
        )
        del body  # the text takes its place in memory
        revision = await self._replace(table_id, text, expected, WHOLE_TABLE)
        if revision is None:
            await self._raise_conflict(table_id)
        return revision

    async def patch(self, table_id: int, body: Part, expected: int | None) -> int:
        """Apply a JSON Patch completely or not at all. Return the new revision."""
        return await self._edit(table_id, expected, partial(self._patch, body))

    async def edit(self, table_id: int, action: Edit, scope: str, arguments: bytes) -> list[Key]:
        """Create, update or delete elements of the object or list at `scope`, all or none. Return their keys."""
        keys: list[Key] = []

        async def change(table: Table, text: list[bytes]) -> tuple[bytes, Sequence[str]]:
            nonlocal keys
            changed, places, keys = await self._helpers.run(
                table.project_id, operations.edit, joined_there(text), action, scope, arguments, self._limit
            )
            return changed, places

        await self._edit(table_id, None, change)
        return keys

    async def _put(self, pointer: str, body: Part, table: Table, text: list[bytes]) -> tuple[bytes, Sequence[str]]:
        changed = await self._helpers.run_unless_small(
            table.project_id, operations.put, joined_there(text), pointer, joined_there(body), self._limit
        )
        return changed, [pointer.removesuffix("/-")]

    async def _patch(self, body: Part, table: Table, text: list[bytes]) -> tuple[bytes, Sequence[str]]:
        return await self._helpers.run(
            table.project_id, operations.patch, joined_there(text), joined_there(body), self._limit
        )

    async def import_file(self, project_id: int, path: str, name: str, text: bytes) -> tuple[int, Change]:
        """Create the table of a file, or make the existing one equal to the file. Return its id."""
        async with self._store.read() as connection:
            present = (await rows.by_paths(connection, project_id, [path])).get(path)
            if present is not None and present.size == len(text):
                loaded = await rows.load(connection, present.id)
                if loaded is not None and _equal(loaded[1], text):
                    return present.id, "unchanged"
        if present is None:
            return (await self._insert(project_id, name, text, path)).id, "created"
        if await self._replace(present.id, text, None, WHOLE_TABLE) is None:
            raise not_found("table")
        return present.id, "changed"

    async def _edit(
        self,
        table_id: int,
        expected: int | None,
        change: Callable[[Table, list[bytes]], Awaitable[tuple[bytes, Sequence[str]]]],
    ) -> int:
        """Read, change and write a table. If another writer was faster, repeat the change on the new text."""
        async with self._turns.setdefault(table_id, asyncio.Lock()):
            for _ in range(_ATTEMPTS):
                async with self._memory.hold(2 * await self._size(table_id)):  # the text before and after
                    table, text = await self._load(table_id)
                    if expected is not None and table.revision != expected:
                        await self._raise_conflict(table_id)
                    changed, places = await change(table, text)
                    if _equal(text, changed):
                        return table.revision
                    del text
                    revision = await self._replace(table_id, changed, table.revision, places)
                    if revision is not None:
                        return revision
        raise FindspotError(
            "VERSION_CONFLICT", "Other writers keep changing this table. Nothing was changed; try again."
        )

    async def _insert(self, project_id: int, name: str, text: bytes, path: str | None = None) -> Table:
        text_id, size = rows.new_text_id(), len(text)
        groups = list(rows.split(text))
        small = len(groups) == 1
        async with self._store.write() as connection:
            revision, visible_path = (1, path) if small else (0, None)
            table = await rows.create(connection, project_id, name, text_id, size, revision, visible_path)
            if small:
                await rows.write_pieces(connection, table.id, text_id, 0, groups[0])
                return table
        async with self._cleanup(table.id, text_id, new=True):
            await self._stage(table.id, text_id, text)
        async with self._store.write() as connection:
            await rows.switch(connection, table.id, text_id, size, expected=0)
            if path is not None:  # set last: the rest of a killed import must not block the path
                await rows.change(connection, table.id, path=path)
            created = await rows.get(connection, table.id)
        if created is None:
            raise not_found("project")
        return created

    async def _replace(self, table_id: int, text: bytes, expected: int | None, places: Sequence[str]) -> int | None:
        """Make `text` the value of the table. Return the new revision, or None if it is not at revision `expected`.

        `places` are the pointers at or below which the new text differs.
        """
        text_id = rows.new_text_id()
        groups = list(rows.split(text))
        small = len(groups) == 1
        if not small:
            async with self._cleanup(table_id, text_id):
                await self._stage(table_id, text_id, text)
        async with self._store.write() as connection:
            switched = await rows.switch(connection, table_id, text_id, len(text), expected)
            if switched:
                await note_changes(connection, table_id, switched[0], places)
            if switched and small:
                await rows.write_pieces(connection, table_id, text_id, 0, groups[0])
                more = await rows.delete_pieces(connection, table_id, switched[1])
        if switched is None or not small or more:
            await self._delete_text(table_id, switched[1] if switched else text_id)
        return switched[0] if switched else None

    async def _stage(self, table_id: int, text_id: int, text: bytes) -> None:
        """Write a large text beside the current one, in small transactions that do not block other writers."""
        try:
            for number, group in enumerate(rows.split(text)):
                async with self._store.write(durable=False) as connection:
                    await rows.write_pieces(connection, table_id, text_id, number, group)
        except IntegrityError:
            raise not_found("table") from None

    async def _delete_text(self, table_id: int, text_id: int) -> None:
        more = True
        while more:
            async with self._store.write(durable=False, frees=True) as connection:
                more = await rows.delete_pieces(connection, table_id, text_id)

    @contextlib.asynccontextmanager
    async def _cleanup(self, table_id: int, text_id: int, *, new: bool = False) -> AsyncIterator[None]:
        """Remove the pieces of a large write if it fails or is cancelled."""
        try:
            yield
        except BaseException:
            await asyncio.shield(self._remove_pieces(table_id, text_id, new))
            raise

    async def _remove_pieces(self, table_id: int, text_id: int, new: bool) -> None:
        with contextlib.suppress(FindspotError):  # without the database the pieces stay; a later start removes them
            await self._delete_text(table_id, text_id)
            if new:
                async with self._store.write(frees=True) as connection:
                    await rows.delete_hidden(connection, table_id)

    async def delete(self, table_id: int) -> None:
        """Hide a table at once, then delete it in small transactions that do not block other writers."""
        async with self._store.write(frees=True) as connection:
            if not await rows.hide(connection, table_id):
                raise not_found("table")
        await self._remove(table_id)

    async def delete_all(self, project_id: int) -> None:
        """Delete every table of a project."""
        async with self._store.write(frees=True) as connection:
            hidden = await rows.hide_all(connection, project_id)
        for table_id in hidden:
            await self._remove(table_id)

    async def _remove(self, table_id: int) -> None:
        more = True
        while more:
            async with self._store.write(durable=False, frees=True) as connection:
                more = await rows.delete_any_pieces(connection, table_id)
        async with self._store.write(frees=True) as connection:
            await rows.delete_hidden(connection, table_id)

    async def _size(self, table_id: int) -> int:
        async with self._store.lookup(one=True) as connection:
            table = await rows.get(connection, table_id)
        if table is None:
            raise not_found("table")
        return table.size

    async def _load(self, table_id: int) -> tuple[Table, list[bytes]]:
        async with self._store.read() as connection:
            loaded = await rows.load(connection, table_id)
        if loaded is None:
            raise not_found("table")
        return loaded

    async def _raise_conflict(self, table_id: int) -> NoReturn:
        """Raise the reason why a write with an expected revision did not happen."""
        async with self._store.read() as connection:
            table = await rows.get(connection, table_id)
        if table is None:
            raise not_found("table")
        message = f"The table is now at revision {table.revision}. Nothing was changed."
        raise FindspotError("PRECONDITION_FAILED", message, revision=table.revision)


def _equal(pieces: Sequence[bytes], text: bytes) -> bool:
    view, at = memoryview(text), 0
    for piece in pieces:
        if bytes(view[at : at + len(piece)]) != piece:  # comparing a view would be slow: byte by byte
            return False
        at += len(piece)
    return at == len(view)
