"""One namespace of the stand-in: its rows, writes and queries."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from tests.turbopuffer import filters, ranking, schema
from tests.turbopuffer.errors import bad_request, only_fields, require
from tests.turbopuffer.filters import Row
from tests.turbopuffer.schema import Attribute

MAX_LIMIT = 10_000  # rows of a query (docs/query#param-limit)
MAX_COMPUTED = 256  # assumed
_WRITE = {
    "upsert_rows", "upsert_columns", "patch_rows", "patch_columns", "deletes", "upsert_condition", "patch_condition",
    "delete_condition", "delete_by_filter", "delete_by_filter_allow_partial", "return_affected_ids", "distance_metric",
    "schema", "create_namespace", "disable_backpressure",
}  # fmt: skip
_QUERY = {"rank_by", "limit", "top_k", "filters", "include_attributes", "compute_attributes"}
_AGGREGATION = {"aggregate_by", "filters"}  # an aggregation without groups takes no limit
_NOT_BUILT = {"patch_rows", "patch_columns", "patch_condition"}  # Findspot patches nothing

Object = dict[str, Any]


class Namespace:
    """Rows by id. Every change of them goes through `_put` and `_remove`, which keep the statistics of BM25."""

    def __init__(self) -> None:
        self.schema: dict[str, Attribute] = {}
        self.rows: dict[str | int, Row] = {}
        self.metric: str | None = None
        self.created_at = self.updated_at = datetime.now(UTC)
        self._corpus = ranking.Corpus()

    # ── writing ──

    def write(self, body: Object, max_deleted: int) -> Object:
        """Apply a write as a whole, or refuse it. Deletes by filter come first (docs/write#param-delete_by_filter)."""
        only_fields(body, _WRITE, "write")
        require(not body.keys() & _NOT_BUILT, "the stand-in does not patch")
        declared = schema.parse(body.get("schema", {}))
        rows = [*_rows(body.get("upsert_rows", [])), *_columns(body.get("upsert_columns"))]
        attributes = self._schema_with(declared, rows)
        new = [self._checked(row, attributes) for row in rows]
        require(len({row["id"] for row in new}) == len(new), "an id occurs twice")
        self._check_metric(body, attributes)
        gone, remaining = self._matching(body, attributes, max_deleted)
        deletes = [schema.checked_id(each) for each in body.get("deletes", [])]
        upserts = [
            row for row in new if row["id"] in gone or self._passes(body.get("upsert_condition"), attributes, row)
        ]
        self.schema, self.metric = attributes, body.get("distance_metric", self.metric)
        for id in gone:
            self._remove(id)
        for row in upserts:
            self._put(row)
        removed = [id for id in deletes if id in self.rows and self._may_delete(body, attributes, id)]
        for id in removed:
            self._remove(id)
        self.updated_at = datetime.now(UTC)
        return _written(body, [row["id"] for row in upserts], [*gone, *removed], remaining=remaining)

    def _schema_with(self, declared: Mapping[str, Attribute], rows: Iterable[Object]) -> dict[str, Attribute]:
        attributes = schema.merged(self.schema, declared)
        for row in rows:
            for name, value in row.items():
                if name not in attributes and name != "id" and value is not None:
                    attributes[name] = schema.inferred(name, value)
            if "id" not in attributes:
                attributes["id"] = Attribute("string" if isinstance(row.get("id"), str) else "uint")
        return attributes

    def _checked(self, row: Object, attributes: Mapping[str, Attribute]) -> Object:
        id = schema.checked_id(row.get("id"))
        kind = attributes["id"].type
        require(isinstance(id, str) == (kind in ("string", "uuid")), "ids of a namespace have one type (docs/write)")
        values = {name: schema.checked(name, each, row.get(name)) for name, each in attributes.items() if name != "id"}
        found = {
            name: Counter(token for token in values[name] if len(token.encode()) <= each.text.max_token_length)
            for name, each in attributes.items()
            if each.text is not None and values[name]
        }
        return {**values, "id": id, "$tokens": found}

    def _check_metric(self, body: Object, attributes: Mapping[str, Attribute]) -> None:
        metric = body.get("distance_metric")
        has_vectors = any(each.is_vector for each in attributes.values())
        require(metric in (None, *schema.METRICS), f"unknown distance_metric {metric!r}")
        require(metric or self.metric or not has_vectors, "distance_metric is required (docs/write)")
        require(self.metric in (None, metric) or metric is None, "distance_metric cannot be changed")

    def _matching(self, body: Object, attributes: Mapping[str, Attribute], most: int) -> tuple[list[str | int], bool]:
        """Return the rows that `delete_by_filter` deletes, and whether others remain."""
        if "delete_by_filter" not in body:
            require("delete_by_filter_allow_partial" not in body, "delete_by_filter is missing")
            return [], False
        test = filters.parse(body["delete_by_filter"], attributes)
        found = [id for id, row in self.rows.items() if test(row)]
        partial = body.get("delete_by_filter_allow_partial", False)
        require(partial or len(found) <= most, f"delete_by_filter matches more than {most} rows")
        return found[:most], len(found) > most

    def _passes(self, condition: object, attributes: Mapping[str, Attribute], row: Object) -> bool:
        """Return whether a row may be written: if there is none yet, always (docs/write#param-upsert_condition)."""
        test = None if condition is None else filters.parse(condition, attributes, new=row)
        held = self.rows.get(row["id"])
        return test is None or held is None or test(held)

    def _may_delete(self, body: Object, attributes: Mapping[str, Attribute], id: str | int) -> bool:
        condition = body.get("delete_condition")  # `$ref_new` is null there
        return condition is None or filters.parse(condition, attributes, new={})(self.rows[id])

    def _put(self, row: Row) -> None:
        self._remove(row["id"])
        self.rows[row["id"]] = row
        self._corpus.add(row)

    def _remove(self, id: str | int) -> None:
        if (row := self.rows.pop(id, None)) is not None:
            self._corpus.add(row, -1)

    # ── querying ──

    def query(self, body: Object) -> Object:
        """Answer one query, or one sub-query of a multi-query."""
        if "aggregate_by" in body:
            return self._aggregate(body)
        only_fields(body, _QUERY, "query")
        require("rank_by" in body, "rank_by is required unless aggregate_by is set")
        require(("limit" in body) != ("top_k" in body), "limit is required")
        limit = _limit(body.get("limit", body.get("top_k")))
        rank = body["rank_by"]
        require(isinstance(rank, list) and rank, "rank_by must be an array")
        computed = self._computed(body.get("compute_attributes", {}))
        included = self._included(body.get("include_attributes", False))
        best = self._ranked(rank, self._filtered(body), limit, has_filter="filters" in body)
        return {"rows": [_shown(row, score, included, computed) for score, row in best]}

    def _filtered(self, body: Object) -> Iterable[Row]:
        if "filters" not in body:
            return self.rows.values()
        test = filters.parse(body["filters"], self.schema)
        return (row for row in self.rows.values() if test(row))

    def _ranked(
        self, rank: list[Any], rows: Iterable[Row], limit: int, *, has_filter: bool
    ) -> list[tuple[float | None, Row]]:
        if len(rank) == 2 and rank[1] in ("asc", "desc"):
            name, order = rank
            require(name in self.schema and self.schema[name].filterable, f"rank_by: {name!r} cannot be sorted by")
            found = sorted(rows, key=lambda row: (row.get(name) is not None, row.get(name)), reverse=order == "desc")
            return [(None, row) for row in found[:limit]]
        if len(rank) == 3 and rank[1] in ("ANN", "kNN"):
            require(rank[1] == "ANN" or has_filter, "kNN requires filters (docs/query#knn-exact-search)")
            measure = ranking.distance(rank, self.schema, self.metric)
            near = heapq.nsmallest(
                limit, ((measure(row), str(row["id"]), row) for row in rows), key=lambda each: each[:2]
            )
            return [(far, row) for far, _, row in near]
        score = ranking.expression(rank, self.schema, self._corpus)
        scored = ((score(row), str(row["id"]), row) for row in rows)
        # "Documents with a score of zero are excluded from results." (docs/query#param-rank_by)
        best = heapq.nsmallest(limit, (each for each in scored if each[0] > 0), key=lambda each: (-each[0], each[1]))
        return [(each, row) for each, _, row in best]

    def _computed(self, given: object) -> dict[str, Callable[[Row], float]]:
        """Values that are computed on the rows of an answer: a distance, or anything that ranks texts, so filters too
        (docs/query#param-compute_attributes; `Expr` in the SDK's types/custom.py)."""
        require(isinstance(given, dict) and len(given) <= MAX_COMPUTED, "compute_attributes must be an object")
        assert isinstance(given, dict)
        found: dict[str, Callable[[Row], float]] = {}
        for name, each in given.items():
            require(name not in self.schema and not name.startswith("$"), f"compute_attributes: {name!r} is taken")
            if isinstance(each, list) and len(each) == 3 and each[1] == "VectorDist":
                found[name] = ranking.distance(each, self.schema, self.metric)
            else:
                found[name] = ranking.expression(each, self.schema, self._corpus)
        return found

    def _included(self, given: object) -> list[str]:
        if isinstance(given, bool):
            return list(self.schema) if given else []
        require(isinstance(given, list), "include_attributes must be an array or a boolean")
        assert isinstance(given, list)
        for name in given:
            require(name in self.schema, f"include_attributes: {name!r} is not in the schema")
        return given

    def _aggregate(self, body: Object) -> Object:
        only_fields(body, _AGGREGATION, "aggregation")
        wanted = body["aggregate_by"]
        # The page allows several functions (docs/query#param-aggregate_by); Findspot needs one.
        require(isinstance(wanted, dict) and len(wanted) == 1, "aggregate_by requires exactly one function")
        (label, function), *_ = wanted.items()
        require(function == ["Count"], "the stand-in only counts")
        return {"aggregations": {label: sum(1 for _ in self._filtered(body))}}


def _rows(given: object) -> list[Object]:
    if not isinstance(given, list) or not all(isinstance(each, dict) for each in given):
        raise bad_request("upsert_rows must be an array of objects")
    return given


def _columns(given: object) -> list[Object]:
    """Turn columns into rows: all of them have the same length (docs/write#param-upsert_columns)."""
    if given is None:
        return []
    require(isinstance(given, dict) and "id" in given, "upsert_columns must be an object with ids")
    assert isinstance(given, dict)
    require(all(isinstance(each, list) for each in given.values()), "a column must be an array")
    require(len({len(each) for each in given.values()}) == 1, "columns must have the same length")
    return [dict(zip(given, values, strict=True)) for values in zip(*given.values(), strict=True)]


def _limit(given: object) -> int:
    total = only_fields(given, {"total"}, "limit")["total"] if isinstance(given, dict) else given
    require(isinstance(total, int) and 1 <= total <= MAX_LIMIT, f"limit must be from 1 to {MAX_LIMIT}")
    assert isinstance(total, int)
    return total


def _shown(
    row: Row, score: float | None, included: list[str], computed: Mapping[str, Callable[[Row], float]]
) -> Object:
    shown: Object = {"id": row["id"]}
    for name in included:
        value = row.get(name)
        if value is not None:
            shown[name] = value.tolist() if hasattr(value, "tolist") else value
    shown |= {name: each(row) for name, each in computed.items()}
    return shown if score is None else {**shown, "$dist": score}


def _written(body: Object, upserted: list[Any], deleted: list[Any], *, remaining: bool) -> Object:
    answer: Object = {
        "status": "OK",
        "message": "documents written",
        "rows_affected": len(upserted) + len(deleted),
        "billing": {"billable_logical_bytes_written": 0},
    }
    if body.keys() & {"upsert_rows", "upsert_columns"}:
        answer["rows_upserted"] = len(upserted)
    if body.keys() & {"deletes", "delete_by_filter"}:
        answer["rows_deleted"] = len(deleted)
    if "delete_by_filter" in body:
        answer["rows_remaining"] = remaining
    if body.get("return_affected_ids"):
        answer |= {"upserted_ids": upserted} if upserted else {}
        answer |= {"deleted_ids": deleted} if deleted else {}
    return answer
