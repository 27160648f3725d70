"""Requests to the index worker: any process adds them, the worker takes them over and deletes them."""

from collections.abc import Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import NamedTuple

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from findspot.models import NamespaceKey
from findspot.store import driver
from findspot.store.column_types import Timestamp
from findspot.store.schema import index_requests, namespace_states


class RequestKind(StrEnum):
    """What the worker is asked to repair or to do."""

    DAMAGED = "damaged"  # the engine cannot read the index: rebuild it
    WRONG_FINGERPRINT = "wrong_fingerprint"  # the index holds another embedder's vectors: rebuild it
    MISSING = "missing"  # the engine may lack chunks: compare it with the store
    WRONG_RANGES = "wrong_ranges"  # the chunk rows of a document do not fit its text: cut it again
    REBUILD = "rebuild"  # someone asked for a rebuild


REBUILDS = (RequestKind.DAMAGED, RequestKind.WRONG_FINGERPRINT, RequestKind.REBUILD)


class IndexRequest(NamedTuple):
    """One request. `document_id` is 0 where it is about the whole namespace."""

    namespace: str
    kind: RequestKind
    document_id: int = 0


class WaitingRequest(NamedTuple):
    """A request as a row."""

    id: int
    request: IndexRequest
    created_at: datetime

    @property
    def is_rebuild(self) -> bool:
        return self.request.kind in REBUILDS


async def add(connection: AsyncConnection, requests: Sequence[IndexRequest]) -> None:
    """Add requests, except those that are waiting already."""
    bind = Timestamp().bind_processor(connection.dialect)
    assert bind is not None
    now = bind(datetime.now(UTC))
    rows = [(each.namespace, each.kind.value, each.document_id, now) for each in requests]
    await driver.insert(
        connection, index_requests, ("namespace", "kind", "document_id", "created_at"), rows, if_new=True
    )


async def every(connection: AsyncConnection) -> list[WaitingRequest]:
    """Return all requests in the order in which they were made."""
    columns = (
        index_requests.c.id,
        index_requests.c.namespace,
        index_requests.c.kind,
        index_requests.c.document_id,
        index_requests.c.created_at,
    )
    found = await connection.execute(sa.select(*columns).order_by(index_requests.c.id))
    return [WaitingRequest(row[0], IndexRequest(row[1], RequestKind(row[2]), row[3]), row[4]) for row in found]


async def delete(connection: AsyncConnection, ids: Sequence[int]) -> None:
    await driver.run(connection, "DELETE FROM index_requests WHERE id IN (??)", among=ids)


async def rebuilds_before(connection: AsyncConnection, key: NamespaceKey) -> int:
    """Return how many rebuilds of the project come before that of a namespace, whose request has been added."""
    queued = sa.select(namespace_states.c.namespace, namespace_states.c.queued_at).where(
        namespace_states.c.project_id == key.project_id, namespace_states.c.phase.in_(("queued", "rebuilding"))
    )
    requested = sa.select(index_requests.c.namespace, index_requests.c.created_at).where(
        index_requests.c.kind.in_([each.value for each in REBUILDS])
    )
    since: dict[str, datetime] = {}
    for query in (queued, requested):  # one that is queued keeps its place if it is requested again
        for namespace, at in await connection.execute(query):
            if NamespaceKey.of(namespace).project_id == key.project_id:
                since.setdefault(namespace, at)
    order = sorted(since, key=lambda namespace: (since[namespace], namespace))
    return order.index(key.namespace)
