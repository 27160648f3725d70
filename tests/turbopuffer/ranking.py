"""Scores: BM25 over the namespace, distances of vectors, and expressions that combine them (docs/query)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from tests.turbopuffer import filters, schema
from tests.turbopuffer.errors import require
from tests.turbopuffer.filters import Row
from tests.turbopuffer.schema import Attribute, Vector

Score: TypeAlias = Callable[[Row], float]

PREFIX_SCORE = 1.0  # "BM25 prefix matches are assigned a score of 1.0" (docs/query#prefix-queries)


class Corpus:
    """The statistics of BM25: of all rows of a namespace, whatever a query filters.

    Assumed, because the pages do not say it: the weight of a token is ln(1 + (N - n + 0.5) / (n + 0.5)), and a row
    without the attribute has the length 0.
    """

    def __init__(self) -> None:
        self.rows = 0
        self.frequencies: dict[str, Counter[str]] = {}
        self.lengths: Counter[str] = Counter()

    def add(self, row: Row, sign: int = 1) -> None:
        """Count a row; with a sign of -1, no longer."""
        self.rows += sign
        for name, found in row["$tokens"].items():
            counts = self.frequencies.setdefault(name, Counter())
            for token in found:
                counts[token] += sign
            self.lengths[name] += sign * sum(found.values())

    def bm25(self, name: str, attribute: Attribute, wanted: Sequence[str]) -> Score:
        """Return the score of an attribute for these tokens. Repeated ones count once: nothing here sends any."""
        assert attribute.text is not None
        k1, b, mean = attribute.text.k1, attribute.text.b, self.lengths[name] / max(self.rows, 1)
        counts = self.frequencies.get(name, Counter())
        weights = {
            token: math.log(1 + (self.rows - counts[token] + 0.5) / (counts[token] + 0.5))
            for token in dict.fromkeys(wanted)
        }

        def score(row: Row) -> float:
            found = row["$tokens"].get(name, {})
            norm = k1 * (1 - b + b * sum(found.values()) / mean) if mean else k1
            held = ((weight, found[token]) for token, weight in weights.items() if token in found)
            return float(sum(weight * count * (k1 + 1) / (count + norm) for weight, count in held))

        return score


def expression(given: object, attributes: Mapping[str, Attribute], corpus: Corpus) -> Score:
    """Return the score of a text expression: BM25, Sum, Max, Product, or a filter, which scores 1 or 0
    (docs/query#param-rank_by; `RankByText` in the SDK's types/custom.py)."""
    require(isinstance(given, list) and given, f"invalid expression {given!r}")
    assert isinstance(given, list)
    if given[0] in ("Sum", "Max") and len(given) == 2:
        require(isinstance(given[1], list) and given[1], f"{given[0]} takes an array of expressions")
        parts = [expression(each, attributes, corpus) for each in given[1]]
        combine = sum if given[0] == "Sum" else max
        return lambda row: float(combine([part(row) for part in parts]))
    if given[0] == "Product" and len(given) == 3:
        numbers = [each for each in given[1:] if isinstance(each, int | float) and not isinstance(each, bool)]
        others = [each for each in given[1:] if isinstance(each, list)]
        require(
            len(numbers) == len(others) == 1 and numbers[0] >= 0,
            "Product takes a non-negative number and an expression",
        )
        inner, weight = expression(others[0], attributes, corpus), float(numbers[0])
        return lambda row: weight * inner(row)
    if len(given) in (3, 4) and given[1] == "BM25":
        return _bm25(given, attributes, corpus)
    test = filters.parse(given, attributes)  # docs/query#rank-by-filter
    return lambda row: float(test(row))


def _bm25(given: list[Any], attributes: Mapping[str, Attribute], corpus: Corpus) -> Score:
    name, _, query, *options = given
    attribute = attributes.get(name)
    require(attribute and attribute.text, f"BM25: attribute {name!r} is not configured for full-text search")
    assert attribute is not None
    wanted = filters.tokens(query, attribute)
    if not filters.is_prefix(options):
        return corpus.bm25(name, attribute, wanted)
    whole, prefix = corpus.bm25(name, attribute, wanted[:-1]), wanted[-1]

    def score(row: Row) -> float:
        return whole(row) + PREFIX_SCORE * filters.holds(row["$tokens"].get(name, {}), prefix, prefix=True)

    return score


def distance(given: list[Any], attributes: Mapping[str, Attribute], metric: str | None) -> Score:
    """Return the distance of a row's vector; lower is better (docs/write#param-distance_metric)."""
    name, _, query = given
    attribute = attributes.get(name)
    require(attribute is not None and attribute.is_vector, f"attribute {name!r} is no vector")
    assert attribute is not None
    wanted = schema.vector(name, Attribute(f"[{attribute.dimensions}]f32", dimensions=attribute.dimensions), query)
    return lambda row: _distance(row[name], wanted, metric)


def _distance(held: Vector, wanted: Vector, metric: str | None) -> float:
    if metric == "euclidean_squared":
        return float(((held - wanted) ** 2).sum())
    lengths = float(np.linalg.norm(held) * np.linalg.norm(wanted))
    return 1.0 - float(held @ wanted) / lengths if lengths else 1.0
