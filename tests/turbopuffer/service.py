"""The routes of the stand-in, without HTTP: which request does what, and how many may run at once."""

from __future__ import annotations

import re
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from tests.turbopuffer.errors import ApiError, only_fields, require
from tests.turbopuffer.faults import FaultPlan
from tests.turbopuffer.namespace import Namespace
from tests.turbopuffer.schema import checked_id

MAX_QUERIES = 16  # in one multi-query (docs/limits)
MAX_CONCURRENT = 16  # queries of a namespace at once: kNN counts as 2 and an aggregation as 4 (docs/limits)
WAIT_S = 0.8  # the longest wait for a slot; then 429 (docs/limits)
MAX_DELETED = 5_000_000  # rows of one delete by filter (docs/limits)
MAX_BODY = 512 << 20  # (docs/limits)
MAX_PAGE = 1000  # namespaces on a page (docs/namespaces)
_NAME = re.compile(r"[A-Za-z0-9-_.]{1,128}")  # docs/write
_CONSISTENCY = {"level", "max_staleness_seconds"}

Object = dict[str, Any]


class Service:
    """All namespaces. Threads may share it: each request sees and makes one state."""

    def __init__(self) -> None:
        self.namespaces: dict[str, Namespace] = {}
        self.faults = FaultPlan()
        self.requests: Counter[str] = Counter()  # by kind
        self.heaviest = 0  # of the queries: what it counted for the limit of concurrent ones
        self.max_deleted, self.max_concurrent, self.wait_s, self.latency_s = MAX_DELETED, MAX_CONCURRENT, WAIT_S, 0.0
        self.unindexed = False  # more than 2 GB wait to be indexed: writes are refused (docs/write)
        self._lock = threading.RLock()
        self._free = threading.Condition()
        self._running: Counter[str] = Counter()

    def reset(self) -> None:
        """Forget everything, for the next test."""
        with self._lock:
            self.__init__()  # type: ignore[misc]

    def answer(self, method: str, path: str, query: Mapping[str, str], body: Object) -> Object:
        parts = path.strip("/").split("/")
        if (method, parts) == ("GET", ["v1", "namespaces"]):
            return self._count("list", lambda: self._list(query))
        require(len(parts) >= 3 and parts[1] == "namespaces", f"unknown route {method} {path}")
        version, _, name, *rest = parts
        if not _NAME.fullmatch(name):
            raise ApiError(400, f"invalid namespace name {name!r}")
        routes = {
            ("POST", "v2", ()): ("write", lambda: self._write(name, body)),
            ("DELETE", "v2", ()): ("delete", lambda: self._delete(name)),
            ("POST", "v2", ("query",)): ("query", lambda: self._query(name, body)),
            ("GET", "v2", ("metadata",)): ("metadata", lambda: self._metadata(name)),
            ("GET", "v1", ("hint_cache_warm",)): ("warm", lambda: self._warm(name)),
        }
        found = routes.get((method, version, tuple(rest)))
        if found is None:
            raise ApiError(404, f"unknown route {method} {path}")
        return self._count(*found)

    def _count(self, kind: str, call: Any) -> Object:
        with self._lock:
            self.requests[kind] += 1
        answer: Object = call()
        return answer

    def _get(self, name: str) -> Namespace:
        found = self.namespaces.get(name)
        if found is None:
            raise ApiError(404, f"namespace '{name}' was not found")
        return found

    def _list(self, query: Mapping[str, str]) -> Object:
        """Pages in the order of names (docs/namespaces)."""
        require(query.keys() <= {"prefix", "cursor", "page_size"}, "unknown parameter")
        size = int(query.get("page_size", "100"))
        require(1 <= size <= MAX_PAGE, f"page_size must be from 1 to {MAX_PAGE}")
        with self._lock:
            names = sorted(name for name in self.namespaces if name.startswith(query.get("prefix", "")))
        names = [name for name in names if name > query.get("cursor", "")]
        more = {"next_cursor": names[size - 1]} if len(names) > size else {}
        return {"namespaces": [{"id": name} for name in names[:size]], **more}

    def _write(self, name: str, body: Object) -> Object:
        """A namespace is created by the first write that has rows, or on request (docs/write)."""
        if self.unindexed:
            raise ApiError(429, "too much unindexed data", retry_after_s=1.0)
        with self._lock:
            created = body.get("create_namespace")
            require(created in (None, True, False), "create_namespace must be a boolean")
            found, has_rows = self.namespaces.get(name), bool(body.keys() & {"upsert_rows", "upsert_columns"})
            if found is None and (created is False or not (has_rows or created)):
                raise ApiError(404, f"namespace '{name}' was not found")
            if found is None and not has_rows:
                require("id" in body.get("schema", {}), "an empty namespace needs the type of its ids")
            namespace = found or Namespace()
            answer = namespace.write(body, self.max_deleted)
            self.namespaces[name] = namespace
            return answer

    def _delete(self, name: str) -> Object:
        with self._lock:
            self._get(name)
            del self.namespaces[name]
        return {"status": "OK"}

    def _query(self, name: str, body: Object) -> Object:
        """A multi-query is answered from one state of the namespace (docs/query#multi-queries).

        Each of its queries counts for the limit of concurrent ones: assumed, because the pages do not say it.
        """
        shared = {"consistency", "vector_encoding"}
        consistency = only_fields(body.get("consistency", {}), _CONSISTENCY, "consistency")
        require(consistency.get("level", "strong") in ("strong", "eventual"), "unknown consistency")
        if "queries" in body:
            only_fields(body, {"queries", *shared}, "multi-query")
            queries = body["queries"]
            require(isinstance(queries, list) and 1 <= len(queries) <= MAX_QUERIES, f"at most {MAX_QUERIES} queries")
        else:
            queries = [{name: value for name, value in body.items() if name not in shared}]
        weight = sum(map(_weight, queries))
        self.heaviest = max(self.heaviest, weight)
        with self._slots(name, weight):
            if self.latency_s:
                time.sleep(self.latency_s)
            with self._lock:
                namespace = self._get(name)
                results = [namespace.query(each) for each in queries]
                size = len(namespace.rows)
        billing = {"billable_logical_bytes_queried": 0, "billable_logical_bytes_returned": 0}
        performance = {
            "server_total_ms": 1,
            "query_execution_ms": 1,
            "cache_temperature": "hot",
            "cache_hit_ratio": 1.0,
        }
        performance |= {"exhaustive_search_count": size, "approx_namespace_size": size}
        answer = {"results": results} if "queries" in body else results[0]
        return {**answer, "billing": billing, "performance": performance}

    def _metadata(self, name: str) -> Object:
        with self._lock:
            namespace = self._get(name)
            attributes = {
                each: {"filterable": attribute.filterable, **attribute.config, "type": attribute.type}
                for each, attribute in namespace.schema.items()
            }
            return {
                "schema": attributes,
                "approx_row_count": len(namespace.rows),
                "approx_logical_bytes": 1000 * len(namespace.rows),
                "created_at": namespace.created_at.isoformat(),
                "updated_at": namespace.updated_at.isoformat(),
                "encryption": {"mode": "default"},
                "index": {"status": "up-to-date"},
            }

    def _warm(self, name: str) -> Object:
        with self._lock:
            self._get(name)
        return {"status": "ACCEPTED", "message": "cache starting to warm"}

    @contextmanager
    def _slots(self, name: str, weight: int) -> Iterator[None]:
        with self._free:
            fits = self._free.wait_for(lambda: self._running[name] + weight <= self.max_concurrent, self.wait_s)
            if not fits:
                raise ApiError(429, "too many concurrent queries", retry_after_s=1.0)
            self._running[name] += weight
        try:
            yield
        finally:
            with self._free:
                self._running[name] -= weight
                self._free.notify_all()


def _weight(query: Object) -> int:
    """Return what a query counts for the limit of concurrent ones (docs/limits)."""
    if "aggregate_by" in query:
        return 4
    rank = query.get("rank_by")
    return 2 if isinstance(rank, list) and len(rank) == 3 and rank[1] == "kNN" else 1


def duplicates(service: Service, name: str, attribute: str) -> list[Any]:
    """Return the values of an attribute that more than one row of a namespace has."""
    counts = Counter(row.get(attribute) for row in service.namespaces[name].rows.values())
    return [checked_id(value) for value, count in counts.items() if count > 1]
