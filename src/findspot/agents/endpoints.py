"""Endpoints: create, delete, rotate the key; bind, unbind and enable tools. Tool names are unique per endpoint."""

import contextlib
import json
import secrets
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from findspot.agents import cards
from findspot.content.keys import hashed
from findspot.errors import FindspotError, not_found
from findspot.models import Binding, Endpoint, Tool, ToolType
from findspot.store import endpoints as rows
from findspot.store import tools as tool_rows
from findspot.store.database import Store

PREFIX = "fse_"  # only endpoint keys have it, so that people recognise them


class Endpoints:
    """The endpoints of every project. A call sees all changes that were committed before it."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def create(
        self, project_id: int, name: str, tool_ids: Sequence[int] = (), *, lean: bool = False, reading: bool = True
    ) -> tuple[Endpoint, str]:
        """Create an endpoint with bound tools, all or nothing. Return it and its key, which cannot be shown again."""
        secret = _new_key()
        with unique_tool_names():
            async with self._store.write() as connection:
                endpoint = await rows.create(connection, project_id, name, hashed(secret), lean=lean, reading=reading)
                for tool_id in dict.fromkeys(tool_ids):
                    await self._bind(connection, endpoint, tool_id)
        return endpoint, secret

    async def get(self, endpoint_id: int) -> Endpoint:
        async with self._store.read() as connection:
            endpoint = await rows.get(connection, endpoint_id)
        if endpoint is None:
            raise not_found("endpoint")
        return endpoint

    async def every(self, project_id: int) -> list[Endpoint]:
        async with self._store.read() as connection:
            return await rows.every(connection, project_id)

    async def delete(self, endpoint_id: int) -> None:
        async with self._store.write(frees=True) as connection:
            if not await rows.delete(connection, endpoint_id):
                raise not_found("endpoint")

    async def change(self, endpoint_id: int, values: dict[str, bool]) -> Endpoint:
        """Change `lean` or `reading`, effective at once."""
        async with self._store.write() as connection:
            if values and not await rows.change(connection, endpoint_id, values):
                raise not_found("endpoint")
        return await self.get(endpoint_id)

    async def rotate(self, endpoint_id: int) -> str:
        """Replace the key and return the new one. The old key is invalid at once."""
        secret = _new_key()
        async with self._store.write() as connection:
            if not await rows.change(connection, endpoint_id, {"key_hash": hashed(secret)}):
                raise not_found("endpoint")
        return secret

    async def opened_by(self, secret: str) -> tuple[Endpoint, list[Tool]] | None:
        """Return the endpoint of a key with its enabled tools, or None if the key is invalid."""
        digest = hashed(secret)
        return await self._store.remembered.get(("endpoint", digest), lambda: self._opened_by(digest))

    async def _opened_by(self, key_hash: str) -> tuple[Endpoint, list[Tool]] | None:
        async with self._store.lookup(one=True) as connection:
            found = await rows.opened_by(connection, key_hash)
        return (found[0], _shown_at(found[0], found[1])) if found else None

    async def listed(self, ids: Collection[int]) -> dict[int, tuple[str, list[Tool]]]:
        """Return the hash of the key and the tools of each of these endpoints that exists, as it shows them."""
        async with self._store.read() as connection:
            found = await rows.listed(connection, ids)
        return {id: (key_hash, _shown_at(endpoint, tools)) for id, (key_hash, endpoint, tools) in found.items()}

    # ── bindings ──

    async def bindings(self, endpoint_id: int) -> list[Binding]:
        """Return the tools of an endpoint in order of their ids, including disabled ones."""
        async with self._store.read() as connection:
            return await rows.bound(connection, endpoint_id)

    async def tools_of(self, endpoint_id: int) -> list[Tool]:
        """Return the enabled tools of an endpoint in order of their ids, as the endpoint shows them."""
        endpoint = await self.get(endpoint_id)
        bindings = await self.bindings(endpoint_id)
        return _shown_at(endpoint, [binding.tool for binding in bindings if binding.enabled])

    async def bind(self, endpoint_id: int, tool_id: int) -> None:
        """Bind a tool of the same project. Binding it again changes nothing."""
        with unique_tool_names():
            async with self._store.write() as connection:
                endpoint = await rows.get(connection, endpoint_id)
                if endpoint is None:
                    raise not_found("endpoint")
                await self._bind(connection, endpoint, tool_id)

    async def unbind(self, endpoint_id: int, tool_id: int) -> None:
        async with self._store.write() as connection:
            if not await rows.unbind(connection, endpoint_id, tool_id):
                raise not_found("binding")

    async def enable(self, endpoint_id: int, tool_id: int, enabled: bool) -> None:
        async with self._store.write() as connection:
            if not await rows.enable(connection, endpoint_id, tool_id, enabled):
                raise not_found("binding")

    async def _bind(self, connection: AsyncConnection, endpoint: Endpoint, tool_id: int) -> None:
        tool = await tool_rows.get(connection, tool_id)
        if tool is None or tool.project_id != endpoint.project_id:
            raise not_found("tool", tool_id=tool_id)
        if not await rows.is_bound(connection, endpoint.id, tool_id):
            await rows.bind(connection, endpoint.id, tool_id, tool.name)


def _shown_at(endpoint: Endpoint, tools: Sequence[Tool]) -> list[Tool]:
    """Return the tools as an endpoint shows them.

    At a lean one, searches leave out metadata. With `reading`, a search tool is followed by a tool that reads the
    texts it finds, unless one is bound anyway.
    """
    shown: list[Tool] = []
    names = {tool.name for tool in tools}
    readable = {_reads(tool) for tool in tools}
    for tool in tools:
        if tool.type is ToolType.SEARCH and endpoint.lean:
            tool = replace(tool, lean=True)
        shown.append(tool)
        reading = cards.reading_tool(tool, names) if endpoint.reading else None
        if reading is not None and _reads(reading) not in readable:
            readable.add(_reads(reading))
            shown.append(reading)
    return shown


def _reads(tool: Tool) -> tuple[str, int | None, str, str]:
    """Return what a tool does where, so that two tools that do the same can be recognised."""
    documents = (tool.search_config or {}).get("documents", {})
    return tool.type, tool.table_id, tool.json_pointer, json.dumps(documents, sort_keys=True)


@contextlib.contextmanager
def unique_tool_names() -> Iterator[None]:
    """Turn the database's uniqueness errors of bindings into FindspotErrors."""
    try:
        yield
    except IntegrityError as error:
        reason = str(error.orig)
        if "uq_bindings" in reason or "bindings.tool_name" in reason:
            message = "Another tool of this name is bound to the same endpoint. Nothing was changed."
            raise FindspotError("TOOL_NAME_CONFLICT", message) from None
        if "pk_bindings" in reason or "bindings.tool_id" in reason:
            return  # bound concurrently
        raise not_found("endpoint or tool") from None  # deleted concurrently


def _new_key() -> str:
    return PREFIX + secrets.token_urlsafe(32)
