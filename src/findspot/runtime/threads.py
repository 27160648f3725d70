"""Owns the thread pools of a process and their sizes. `app.py` opens them and closes them in order.

A slow task fills only its own pool, so each kind of work that may wait (for a service, a disk, a lock) has one.
`asyncio.to_thread` uses the event loop's default pool (cores + 4 threads, at most 32). It is for short work that waits
for nothing: hashing, compressing, encoding, single file operations.

A stage that spreads one native call over the cores has a private pool, listed in `STAGE_POOLS`.
"""

import asyncio
from collections.abc import Callable, Iterable, Sized
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar, TypeVarTuple

T = TypeVar("T")
Arguments = TypeVarTuple("Arguments")

SEARCH = 4  # a recall keeps a core busy; more threads would only make all searches slower
NAMESPACES = 2  # that are indexed at the same time
INDEX = NAMESPACES + 1  # one thread for each namespace, and one for the check of index files
EMBED_QUERIES = 8  # these wait for a service, not for a core
EMBED_TEXTS = 4  # separate from queries: a slow batch never delays a search
HELPERS = 3  # that wait for as many helper processes, for requests, and again for imports and the index

SHORT = 50_000  # characters; a search's work on texts that long takes up to 5 ms, which the event loop can spare

STAGE_POOLS = {
    "engines/embedded/queries.py": "keyword legs, at least 4 or twice the cores: run beside the vector leg of a recall",
    "engines/embedded/scan.py": "vector scans, up to 4 cores: share the parts of one scan",
    "engines/embedded/namespace.py": "one thread while an index is opened: verifies its files meanwhile",
    "embedding/offline.py": "vectors of a batch of texts, up to 4 cores",
    "runtime/processes.py": "16 requests at once, in the process that runs LiteLLM",
}


class ThreadPool:
    """Threads for one kind of work. Calls beyond the size wait in order."""

    def __init__(self, name: str, size: int) -> None:
        self._executor = ThreadPoolExecutor(size, thread_name_prefix=name)

    async def run(self, call: Callable[[*Arguments], T], *arguments: *Arguments) -> T:
        """Run a call in a thread. If the caller is cancelled before the call began, it never begins."""
        return await self.submit(call, *arguments)

    async def run_if_long(self, texts: Iterable[Sized], call: Callable[[*Arguments], T], *arguments: *Arguments) -> T:
        """Run a call that works on these texts, or on what was made of them: in a thread, or here if they are short.

        A page of results takes 6 % less processor time when its three calls run here: a thread on another core does
        not have their data in its cache.
        """
        if sum(map(len, texts)) <= SHORT:
            return call(*arguments)
        return await self.run(call, *arguments)

    def submit(self, call: Callable[[*Arguments], T], *arguments: *Arguments) -> "asyncio.Future[T]":
        """Start a call in a thread and return its future."""
        return asyncio.get_running_loop().run_in_executor(self._executor, call, *arguments)

    def stop(self) -> None:
        """Accept no more calls. The others end on their own."""
        self._executor.shutdown(wait=False)

    def cancel_waiting(self) -> None:
        """Accept no more calls, and drop those that have not begun."""
        self._executor.shutdown(wait=False, cancel_futures=True)

    async def close(self) -> None:
        """Accept no more calls, and wait for the others."""
        await asyncio.to_thread(self._executor.shutdown)


@dataclass(frozen=True, slots=True)
class Threads:
    """The pools of a process. No thread starts before its pool has work."""

    search: ThreadPool
    index: ThreadPool
    embed_queries: ThreadPool
    embed_texts: ThreadPool

    @classmethod
    def open(cls) -> "Threads":
        return cls(
            search=ThreadPool("search", SEARCH),
            index=ThreadPool("index", INDEX),
            embed_queries=ThreadPool("embed-query", EMBED_QUERIES),
            embed_texts=ThreadPool("embed-texts", EMBED_TEXTS),
        )

    async def close(self) -> None:
        for pool in (self.search, self.index, self.embed_queries, self.embed_texts):
            await pool.close()
