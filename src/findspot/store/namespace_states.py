"""The state of each namespace of the engine: one row, written by the index worker and read by every process."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection

from findspot.errors import Failure
from findspot.models import NamespaceKey
from findspot.store import driver
from findspot.store.index_states import error_columns, error_of
from findspot.store.reader import Reader
from findspot.store.schema import namespace_states


class Phase(StrEnum):
    """What the worker does with a namespace."""

    UNCHECKED = "unchecked"  # store and engine are yet to be compared; searches are answered
    IN_SERVICE = "in_service"  # the index follows the store
    QUEUED = "queued"  # a rebuild is wanted, and waits for its turn or for a retry
    REBUILDING = "rebuilding"  # a new index is being written beside the one in service


class RebuildReason(StrEnum):
    """Why a namespace is to be rebuilt."""

    DAMAGED = "damaged"  # the engine cannot read its index: no search can be answered
    WRONG_FINGERPRINT = "wrong_fingerprint"  # the index holds another embedder's vectors
    REQUESTED = "requested"  # someone asked for it, or an older Findspot wrote the index


@dataclass(frozen=True, slots=True)
class NamespaceState:
    """The state of one namespace.

    `error` is why the last rebuild failed. `fingerprint` names the embedder whose vectors the index holds, as far as
    the worker knows. `done` of `total` chunks have been written by a rebuild; `rate` is in chunks per second.
    """

    key: NamespaceKey
    phase: Phase = Phase.IN_SERVICE
    reason: RebuildReason | None = None
    queued_at: datetime | None = None
    error: Failure | None = None
    fingerprint: str = ""
    done: int = 0
    total: int = 0
    rate: float = 0.0


_COLUMNS = (
    namespace_states.c.namespace,
    namespace_states.c.phase,
    namespace_states.c.reason,
    namespace_states.c.queued_at,
    namespace_states.c.error_code,
    namespace_states.c.error_message,
    namespace_states.c.error_fields,
    namespace_states.c.fingerprint,
    namespace_states.c.done,
    namespace_states.c.total,
    namespace_states.c.rate,
)

_PHASE = "SELECT phase FROM namespace_states WHERE namespace IN (??)"


def phase(connection: sa.Connection, namespace: str) -> Phase:
    """Return the phase of a namespace. One row by its key: every search asks."""
    found = driver.rows(connection, _PHASE, among=[namespace])
    return Phase(found[0][0]) if found else Phase.IN_SERVICE


def rebuilding(connection: sa.Connection, namespace: str) -> bool:
    """Return whether a namespace is being rebuilt."""
    return phase(connection, namespace) is Phase.REBUILDING


async def get(connection: Reader, namespace: str) -> NamespaceState | None:
    query = sa.select(*_COLUMNS).where(namespace_states.c.namespace == namespace)
    row = (await connection.execute(query)).one_or_none()
    return _state(row) if row else None


async def every(connection: AsyncConnection) -> list[NamespaceState]:
    return [_state(row) for row in await connection.execute(sa.select(*_COLUMNS))]


async def of_project(connection: AsyncConnection, project_id: int) -> dict[str, NamespaceState]:
    """Return the states of a project's namespaces by name."""
    query = sa.select(*_COLUMNS).where(namespace_states.c.project_id == project_id)
    return {row[0]: _state(row) for row in await connection.execute(query)}


async def not_in_service(connection: AsyncConnection) -> list[NamespaceState]:
    """Return the states of namespaces that are to be compared or rebuilt."""
    query = sa.select(*_COLUMNS).where(namespace_states.c.phase != Phase.IN_SERVICE)
    return [_state(row) for row in await connection.execute(query)]


async def any_not_in_service(connection: AsyncConnection) -> bool:
    query = sa.select(namespace_states.c.namespace).where(namespace_states.c.phase != Phase.IN_SERVICE).limit(1)
    return (await connection.execute(query)).first() is not None


# The lock ends with the transaction. The count is a statement of its own, so that it sees what the last holder wrote.
_LOCK_REBUILDS = sa.text("SELECT pg_advisory_xact_lock(hashtextextended('findspot rebuilds', :project_id))")
_OTHER_REBUILDS = sa.text(
    "SELECT count(*) FROM namespace_states JOIN leases USING (namespace) "
    "WHERE project_id = :project_id AND phase = 'rebuilding' AND namespace <> :namespace "
    "AND holder IS NOT NULL AND expires_at > clock_timestamp()"
)


async def lock_other_rebuilds(connection: AsyncConnection, key: NamespaceKey) -> int:
    """Return how many other namespaces of a project workers are rebuilding, and let no other begin until the
    transaction ends. PostgreSQL only."""
    await connection.execute(_LOCK_REBUILDS, {"project_id": key.project_id})
    values = {"project_id": key.project_id, "namespace": key.namespace}
    return int((await connection.execute(_OTHER_REBUILDS, values)).scalar_one())


async def save(connection: AsyncConnection, states: Sequence[NamespaceState]) -> None:
    """Insert states, or update the rows that the namespaces have."""
    if not states:
        return
    insert = (postgresql if connection.dialect.name == "postgresql" else sqlite).insert(namespace_states)
    rows = [_row(state) for state in states]
    changed = {name: insert.excluded[name] for name in rows[0] if name != "namespace"}
    await connection.execute(insert.on_conflict_do_update(index_elements=["namespace"], set_=changed), rows)


async def delete(connection: AsyncConnection, keys: Iterable[NamespaceKey]) -> None:
    query = sa.delete(namespace_states).where(namespace_states.c.namespace == sa.bindparam("which"))
    if rows := [{"which": key.namespace} for key in keys]:
        await connection.execute(query, rows)


def _state(row: Any) -> NamespaceState:
    namespace, phase, reason, queued_at, *rest = row
    return NamespaceState(
        NamespaceKey.of(namespace),
        Phase(phase),
        RebuildReason(reason) if reason else None,
        queued_at,
        error_of(*rest[:3]),
        *rest[3:],
    )


def _row(state: NamespaceState) -> dict[str, Any]:
    return {
        "namespace": state.key.namespace,
        "project_id": state.key.project_id,
        "phase": state.phase.value,
        "reason": state.reason.value if state.reason else None,
        "queued_at": state.queued_at,
        "fingerprint": state.fingerprint,
        "done": state.done,
        "total": state.total,
        "rate": state.rate,
        "updated_at": datetime.now(UTC),
        **error_columns(state.error),
    }
