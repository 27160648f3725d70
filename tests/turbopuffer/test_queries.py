"""Queries for turbopuffer keep to the limits of the service."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from findspot.engines.protocol import Words
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
