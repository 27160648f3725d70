"""Queries for turbopuffer keep to the limits of the service."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from findspot.engines.protocol import Within, Words
from findspot.engines.turbopuffer import queries
from findspot.engines.turbopuffer.queries import Keywords
from tests.turbopuffer.filters import MAX_QUERY


def token_lists(expression: Any) -> Iterator[list[str]]:
    if isinstance(expression, dict):
        expression = list(expression.values())
    if not isinstance(expression, list):
        return
    if expression and all(isinstance(each, str) for each in expression):
        yield expression
    for each in expression:
        yield from token_lists(each)


@pytest.mark.parametrize("word", ["word", "圖書館"])
def test_a_query_that_is_a_long_text_is_shortened_everywhere(word: str) -> None:
    terms = tuple(f"{word}{number}" for number in range(12_000))
    keywords = Keywords(Words(any_of=terms, named=terms, none_of=terms))
    lists = list(token_lists([keywords.computed(), keywords.queries(10, [], {})]))
    longest = max(sum(map(len, each)) for each in lists)
    assert MAX_QUERY // 2 < longest <= MAX_QUERY


def admitted(filter: Any) -> list[int]:
    """The documents that a filter names, as it stands in a request."""
    if filter[0] == "And":
        (_, _, first), (_, _, last) = filter[1]
        return list(range(first, last + 1))
    return list(filter[2]) if filter[1] == "In" else [id for each in filter[1] for id in admitted(each)]


@pytest.mark.parametrize(
    ("ids", "requests", "characters"),
    [
        (range(1, 100_001), 1, 100),  # a folder that was imported at once
        (range(10_000_000, 10_200_000, 2), 5, 250_000),  # every other document of a large project
        ([id for id in range(100_000) if id % 20], 3, 250_000),
        ([7], 1, 100),
        ([], 0, 0),
    ],
)
def test_a_filter_names_very_many_documents_in_parts(ids: Any, requests: int, characters: int) -> None:
    parts = [filter for (filter,) in queries.filters(Within(document_ids=frozenset(ids)))]
    assert [id for part in parts for id in admitted(part)] == list(ids)
    assert len(parts) == requests
    assert max((len(json.dumps(part)) for part in parts), default=0) <= characters
