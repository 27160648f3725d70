"""Takes many documents in batches: a few are read and calculated ahead, and the results come in order."""

import asyncio
import os
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Sequence
from typing import TypeVar

from findspot.runtime.memory import MemoryBudget
from findspot.store import documents as document_rows
from findspot.store.database import Store

PAGE = 500  # documents whose sizes are read at once
BATCH_DOCUMENTS, BATCH_BYTES = 32, 128 * 1024  # calculated in about 20 ms, so that nobody waits long for a helper
AHEAD = min(2, max(1, (os.cpu_count() or 1) - 1))  # helpers at work; one core is left for everybody else
COPIES = 3  # of a content in memory: as stored, on its way to a helper, and its result

T = TypeVar("T")
R = TypeVar("R")
Sized = tuple[T, int]


def grouped(items: Sequence["Sized[T]"]) -> Iterator["Sized[list[T]]"]:
    """Yield items with sizes in groups, each with its total size. A large item is a group of its own."""
    group: list[T] = []
    total = 0
    for item, size in items:
        if group and (total + size > BATCH_BYTES or len(group) >= BATCH_DOCUMENTS):
            yield group, total
            group, total = [], 0
        group.append(item)
        total += size
    if group:
        yield group, total


async def of_project(store: Store, project_id: int) -> AsyncIterator["Sized[list[int]]"]:
    """Yield the ids of all documents of a project in batches."""
    last = 0
    while True:
        async with store.read() as connection:
            page = await document_rows.sizes(connection, project_id, last, PAGE)
        if not page:
            return
        last = page[-1][0]
        for group in grouped(page):
            yield group


async def calculated(
    batches: AsyncIterator["Sized[T]"], work: Callable[[T], Awaitable[R]], memory: MemoryBudget
) -> AsyncGenerator[R, None]:
    """Yield the result of each batch in order, while the next one is calculated. Each reserves its memory."""

    async def reserved(batch: T, size: int) -> R:
        async with memory.hold(size * COPIES):
            return await work(batch)

    running = deque[asyncio.Task[R]]()
    try:
        async for batch, size in batches:
            if len(running) >= AHEAD:
                yield await running.popleft()
            running.append(asyncio.create_task(reserved(batch, size)))
        while running:
            yield await running.popleft()
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
