"""By which words is a text found? One analyser for texts and queries, whatever engine keeps them."""

from __future__ import annotations

from findspot.words.analyser import Token, line, terms, tokens, units
from findspot.words.matching import accepts, highlights
from findspot.words.query import Phrase, Query, parse, query_terms

__all__ = [
    "Phrase",
    "Query",
    "Token",
    "accepts",
    "highlights",
    "line",
    "parse",
    "query_terms",
    "terms",
    "tokens",
    "units",
]
