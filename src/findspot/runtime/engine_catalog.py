"""The catalogue of a remote engine's namespaces, in the store. The engine calls it from threads."""

import asyncio
import secrets
import threading
import time
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy.ext.asyncio import AsyncConnection

from findspot.engines.protocol import StaleFence
from findspot.engines.turbopuffer.catalog import Placement
from findspot.errors import FindspotError
from findspot.store import engine_namespaces as rows
from findspot.store.database import Store

if TYPE_CHECKING:
    import sqlalchemy as sa

T = TypeVar("T")

KEPT_S = 5.0  # a search may use the namespace in service for this long before it asks the store again
WAIT_S = 35.0  # for the store, which has limits of its own


class StoreCatalog:
    """Implements Catalog. Every search asks which namespace serves, so the answer is kept for a few seconds.

    A search with an answer that is too old finds that the namespace was deleted, and asks again.
    """

    def __init__(self, store: Store, installation: str) -> None:
        self._store = store
        self._installation = installation
        self._loop = asyncio.get_running_loop()
        self._loop_thread = threading.get_ident()
        self._kept: dict[str, tuple[Placement, float]] = {}

    def serving(self, namespace: str, *, fresh: bool = False) -> Placement | None:
        kept = self._kept.get(namespace)
        if kept is not None and not fresh and (time.monotonic() - kept[1] < KEPT_S or self._is_on_loop):
            return kept[0]
        if self._is_on_loop and not fresh:
            return None
        return self._run(lambda: self._serving(namespace))

    def claim(self, namespace: str, fingerprint: str, dimension: int, fence: int) -> tuple[Placement, bool]:
        return self._run(lambda: self._claim(namespace, fingerprint, dimension, fence))

    def admit(self, namespace: str, fence: int) -> Placement | None:
        async def admit() -> Placement | None:
            row = await self._admitted(namespace, fence)
            return None if row is None else await self._required(namespace)

        return self._run(admit)

    def begin(self, namespace: str, fingerprint: str, dimension: int) -> Placement:
        async def begin() -> Placement:
            placement = Placement(self._new_name(namespace), fingerprint, dimension)
            async with self._store.write() as connection:
                await rows.discard_all(connection, self._installation, namespace, [rows.BUILDING])
                await rows.add(connection, self._row(namespace, placement, rows.BUILDING, 0))
            return placement

        return self._run(begin)

    def switch(self, namespace: str, name: str) -> bool:
        async def switch() -> bool:
            async with self._store.write() as connection:
                is_done = await rows.replace(connection, self._installation, namespace, name)
            await self._serving(namespace)
            return is_done

        return self._run(switch)

    def discard(self, name: str) -> None:
        self._write(lambda connection: rows.discard(connection, name))

    def drop(self, namespace: str, fence: int) -> None:
        async def drop() -> None:
            await self._admitted(namespace, fence)
            states = [rows.SERVING, rows.BUILDING]
            async with self._store.write(frees=True) as connection:
                await rows.discard_all(connection, self._installation, namespace, states)
            self._kept.pop(namespace, None)

        self._run(drop)

    def unwanted(self, namespace: str | None = None) -> list[str]:
        async def read() -> list[str]:
            async with self._store.read() as connection:
                return await rows.unwanted(connection, self._installation, namespace)

        return self._run(read)

    def deleted(self, name: str) -> None:
        self._write(lambda connection: rows.delete(connection, name))

    def namespaces(self, project_id: int) -> list[str]:
        async def read() -> list[str]:
            async with self._store.read() as connection:
                return await rows.namespaces(connection, self._installation)

        found = list(self._kept) if self._is_on_loop else self._run(read)
        return sorted(name for name in found if name.startswith(f"project_{project_id}_"))

    async def _serving(self, namespace: str) -> Placement | None:
        async with self._store.read() as connection:
            return await self._read(connection, namespace)

    async def _read(self, connection: AsyncConnection, namespace: str) -> Placement | None:
        row = await rows.serving(connection, self._installation, namespace)
        if row is None:
            self._kept.pop(namespace, None)
            return None
        placement = Placement(row.name, row.fingerprint, row.dimension)
        self._kept[namespace] = placement, time.monotonic()
        return placement

    async def _claim(self, namespace: str, fingerprint: str, dimension: int, fence: int) -> tuple[Placement, bool]:
        if await self._admitted(namespace, fence) is not None:
            return await self._required(namespace), False
        new = Placement(self._new_name(namespace), fingerprint, dimension)
        async with self._store.write() as connection:
            await rows.add(connection, self._row(namespace, new, rows.SERVING, fence))
        placement = await self._required(namespace)
        return placement, placement == new

    async def _admitted(self, namespace: str, fence: int) -> "sa.Row[str, str, int, int] | None":
        """Return the row of the namespace in service, with this fence noted."""
        async with self._store.read() as connection:
            row = await rows.serving(connection, self._installation, namespace)
        if row is not None and row.fence > fence:
            raise StaleFence(f"{namespace} has been written by another worker")
        if row is not None and row.fence < fence:
            async with self._store.write(durable=False) as connection:
                await rows.raise_fence(connection, row.name, fence)
        return row

    async def _required(self, namespace: str) -> Placement:
        placement = await self._serving(namespace)
        if placement is None:  # it was dropped in between
            raise FindspotError("ENGINE_UNAVAILABLE", f"The index {namespace} was dropped meanwhile.")
        return placement

    def _new_name(self, namespace: str) -> str:
        """Return a name that was never used: a write that arrives late must not reach a newer index."""
        return f"{namespace}.{self._installation[:8]}-{secrets.token_hex(4)}"

    def _row(self, namespace: str, placement: Placement, state: str, fence: int) -> dict[str, Any]:
        return {
            **placement._asdict(),
            "installation": self._installation,
            "namespace": namespace,
            "state": state,
            "fence": fence,
        }

    def _write(self, change: Callable[[AsyncConnection], Coroutine[Any, Any, None]]) -> None:
        async def write() -> None:
            async with self._store.write(frees=True) as connection:
                await change(connection)

        self._run(write)

    @property
    def _is_on_loop(self) -> bool:
        return threading.get_ident() == self._loop_thread

    def _run(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run work in the event loop that the store belongs to, and wait for it."""
        if self._is_on_loop:
            raise RuntimeError("Calls of the engine block: make them in a thread.")
        future = asyncio.run_coroutine_threadsafe(work(), self._loop)
        try:
            return future.result(WAIT_S)
        except TimeoutError:
            future.cancel()
            raise FindspotError("ENGINE_UNAVAILABLE", "The store did not say where the index is.") from None
