"""Figures of what this process does, for Prometheus. Their names are those of the requirement; none holds a text."""

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from findspot.errors import FindspotError

REGISTRY = CollectorRegistry()
CANCELLED = "cancelled"
WORKSPACE = "workspace"  # in place of a tool's id
DOCUMENTS = "documents"  # in place of a table's id

CHUNKS_CREATED = Counter("chunks_created", "Chunks created.", ["table_id"], registry=REGISTRY)
CHUNKING_DURATION = Histogram(
    "chunking_duration_seconds",
    "Time spent cutting content into chunks.",
    buckets=(0.1, 0.5, 1, 5, 10, 30),
    registry=REGISTRY,
)
SEARCH_REQUESTS = Counter("search_requests", "Searches, by how they ended.", ["tool_id", "status"], registry=REGISTRY)
SEARCH_DURATION = Histogram(
    "search_duration_seconds", "Time a search took.", buckets=(0.01, 0.05, 0.1, 0.5, 1, 2), registry=REGISTRY
)
SEARCH_RESULTS = Histogram(
    "search_results_count", "Results of a search.", buckets=(0, 1, 5, 10, 20, 50), registry=REGISTRY
)
UPLOAD_ERRORS = Counter("turbopuffer_upload_errors", "Failed writes to the engine, of any kind.", registry=REGISTRY)
ACTIVE_CHUNKS = Gauge("active_chunks_total", "Chunks that the store holds.", registry=REGISTRY)


@contextmanager
def search(tool_id: int | str) -> Iterator[Callable[[int, str | None], None]]:
    """Count a search. What is handed out is told how many results there were, and the code of what could not be done:
    the status is then that code, as it is of a search that fails. One that nobody waits for any more is neither."""
    began, status = time.perf_counter(), "INTERNAL"

    def found(results: int, code: str | None) -> None:
        nonlocal status
        status = code or "success"
        SEARCH_RESULTS.observe(results)

    try:
        yield found
    except FindspotError as error:
        status = error.code
        raise
    except asyncio.CancelledError:
        status = CANCELLED
        raise
    finally:
        SEARCH_DURATION.observe(time.perf_counter() - began)
        SEARCH_REQUESTS.labels(str(tool_id), status).inc()


def text(active_chunks: int) -> bytes:
    """Everything as Prometheus reads it."""
    ACTIVE_CHUNKS.set(active_chunks)
    return generate_latest(REGISTRY)
