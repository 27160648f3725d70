"""By which words is a text found? One analyser for texts and queries, whatever engine keeps them."""

from __future__ import annotations

from findspot.words.analyser import Token, line, terms, tokens, units
from findspot.words.matching import Acceptance, Highlights, accepts
from findspot.words.query import Phrase, Query, parse, query_terms
from findspot.words.telling import Share, Told, as_written, told

__all__ = [
    "Acceptance",
    "Highlights",
    "Phrase",
    "Query",
    "Share",
    "Token",
    "Told",
    "accepts",
    "as_written",
    "line",
    "parse",
    "query_terms",
    "terms",
    "tokens",
    "told",
    "units",
]
