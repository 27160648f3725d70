"""The running processes: each writes a heart-beat to its row, and removes the rows of those that have stopped."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection

from findspot.store.column_types import Timestamp
from findspot.store.process_schema import processes


@dataclass(frozen=True, slots=True)
class Process:
    """One running process. `serves` is its address, or what it works on."""

    id: str
    role: str
    host: str
    pid: int
    version: str
    serves: str
    started_at: datetime


@dataclass(frozen=True, slots=True)
class SeenProcess:
    """A process as its row says, and how long ago it gave its last heart-beat."""

    process: Process
    silent_s: float


_COLUMNS = tuple(processes.c[name] for name in ("id", "role", "host", "pid", "version", "serves", "started_at"))


async def beat(connection: AsyncConnection, process: Process, metrics: bytes | None, expire_s: float) -> int:
    """Write a heart-beat, and remove the processes without one for `expire_s`. Return how many others run.

    Without `metrics`, those of the last heart-beat stay.
    """
    now = await _now(connection)
    insert = (postgresql if connection.dialect.name == "postgresql" else sqlite).insert(processes)
    row: dict[str, Any] = {column.name: getattr(process, column.name) for column in _COLUMNS}
    changed: dict[str, Any] = {"heartbeat_at": now}
    if metrics is not None:
        changed["metrics"] = metrics
    query = insert.values(row | changed).on_conflict_do_update(index_elements=["id"], set_=changed)
    await connection.execute(query)
    oldest = now - timedelta(seconds=expire_s)
    await connection.execute(sa.delete(processes).where(processes.c.heartbeat_at < oldest))
    return int((await connection.execute(sa.select(sa.func.count()).select_from(processes))).scalar_one()) - 1


async def delete(connection: AsyncConnection, process_id: str) -> None:
    await connection.execute(sa.delete(processes).where(processes.c.id == process_id))


async def every(connection: AsyncConnection) -> list[SeenProcess]:
    """Return the processes, the oldest first."""
    now = await _now(connection)
    query = sa.select(*_COLUMNS, processes.c.heartbeat_at).order_by(processes.c.started_at, processes.c.id)
    return [
        SeenProcess(Process(*row[:-1]), max(0.0, (now - row[-1]).total_seconds()))
        for row in await connection.execute(query)
    ]


async def metrics_of_others(connection: AsyncConnection, process_id: str) -> list[bytes]:
    """Return the metrics that the other processes wrote last."""
    query = sa.select(processes.c.metrics).where(processes.c.id != process_id, processes.c.metrics.is_not(None))
    return [bytes(each) for each in (await connection.execute(query.order_by(processes.c.id))).scalars()]


async def _now(connection: AsyncConnection) -> datetime:
    """Return the time by the clock of the database, which all processes share."""
    if connection.dialect.name == "sqlite":
        return datetime.now(UTC)
    return (await connection.execute(sa.select(sa.func.clock_timestamp(type_=Timestamp)))).scalar_one()
