"""Prometheus metrics. The names come from the requirements; no label holds a text.

Every metric has the label `project_id`, so that a project's admin can be shown that project's figures only. Metrics of
a process also have its id and role. A scrape reaches one process, which shows those of all (`joined`).
"""

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.metrics_core import Metric

from findspot.errors import FindspotError

REGISTRY = CollectorRegistry()  # of this process
STORE_REGISTRY = CollectorRegistry()  # of all processes together
CANCELLED = "cancelled"
WORKSPACE = "workspace"  # in place of a tool's id
RETRIEVAL = "retrieval"
DOCUMENTS = "documents"  # in place of a table's id
PROJECT = "project_id"

CHUNKS_CREATED = Counter("chunks_created", "Chunks created.", [PROJECT, "table_id"], registry=REGISTRY)
CHUNKING_DURATION = Histogram(
    "chunking_duration_seconds",
    "Time spent cutting content into chunks.",
    [PROJECT],
    buckets=(0.1, 0.5, 1, 5, 10, 30),
    registry=REGISTRY,
)
SEARCH_REQUESTS = Counter(
    "search_requests", "Searches, by how they ended.", [PROJECT, "tool_id", "status"], registry=REGISTRY
)
SEARCH_DURATION = Histogram(
    "search_duration_seconds", "Time a search took.", [PROJECT], buckets=(0.01, 0.05, 0.1, 0.5, 1, 2), registry=REGISTRY
)
SEARCH_RESULTS = Histogram(
    "search_results_count", "Results of a search.", [PROJECT], buckets=(0, 1, 5, 10, 20, 50), registry=REGISTRY
)
RETRIEVALS = Counter("retrievals", "Retrievals, with passages or empty.", [PROJECT, "answer"], registry=REGISTRY)
RETRIEVED_TOKENS = Counter(
    "retrieval_tokens",
    "Tokens of passages that retrievals used, or dropped for lack of room.",
    [PROJECT, "what"],
    registry=REGISTRY,
)
REDACTIONS = Counter(
    "redactions", "Private values redacted by retrieval, by kind.", [PROJECT, "kind"], registry=REGISTRY
)
UPLOAD_ERRORS = Counter(
    "turbopuffer_upload_errors", "Failed writes to the engine, of any kind.", [PROJECT], registry=REGISTRY
)
ACTIVE_CHUNKS = Gauge("active_chunks_total", "Chunks that the store holds.", [PROJECT], registry=STORE_REGISTRY)
WAITING_SOURCES = Gauge(
    "index_waiting_sources", "Tables and documents that are not completely indexed.", [PROJECT], registry=STORE_REGISTRY
)


@contextmanager
def search(project_id: int, tool_id: int | str) -> Iterator[Callable[[int, str | None], None]]:
    """Count and time one search.

    The caller reports the number of results and, if something could not be done, its error code. The status is
    "success", that code, the code of the error that ended the search, or "cancelled".
    """
    began, status = time.perf_counter(), "INTERNAL"

    def report(results: int, code: str | None) -> None:
        nonlocal status
        status = code or "success"
        SEARCH_RESULTS.labels(project_id).observe(results)

    try:
        yield report
    except FindspotError as error:
        status = error.code
        raise
    except asyncio.CancelledError:
        status = CANCELLED
        raise
    finally:
        SEARCH_DURATION.labels(project_id).observe(time.perf_counter() - began)
        SEARCH_REQUESTS.labels(project_id, tool_id, status).inc()


def of_store(active_chunks: Mapping[int, int], waiting_sources: Mapping[int, int]) -> bytes:
    """Return the metrics of the store in Prometheus' text format."""
    for gauge, values in ((ACTIVE_CHUNKS, active_chunks), (WAITING_SOURCES, waiting_sources)):
        gauge.clear()
        for project_id, value in values.items():
            gauge.labels(project_id).set(value)
    return generate_latest(STORE_REGISTRY)


def of_process(process_id: str, role: str, *more: CollectorRegistry) -> bytes:
    """Return the metrics of this process, and those of `more` registries, with its id and role as labels."""
    labels = {"process": process_id, "role": role}
    return b"".join(generate_latest(_Labelled(registry, labels)) for registry in (*more, REGISTRY))


def joined(texts: Iterable[bytes], only: int | None = None) -> bytes:
    """Join metrics in text format, so that each has its description once; only those of a project, if it is given."""
    families: dict[bytes, list[bytes]] = {}
    samples: list[bytes] = []
    for line in (line for text in texts for line in text.splitlines(keepends=True)):
        if line.startswith(b"# HELP "):
            samples = families.setdefault(line, [])
        elif line.startswith(b"# TYPE "):
            if not samples:
                samples.append(line)
        elif only is None or f'{PROJECT}="{only}"'.encode() in line:
            samples.append(line)
    return b"".join(help + b"".join(lines) for help, lines in families.items() if len(lines) > 1 or only is None)


class _Labelled(CollectorRegistry):
    """A registry with further labels on every sample."""

    def __init__(self, registry: CollectorRegistry, labels: Mapping[str, str]) -> None:
        super().__init__()
        self._registry = registry
        self._labels = labels

    def collect(self) -> Iterator[Metric]:
        for metric in self._registry.collect():
            metric.samples = [each._replace(labels={**each.labels, **self._labels}) for each in metric.samples]
            yield metric
