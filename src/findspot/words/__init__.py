"""Which terms is a text found by? One analyser for texts and queries, shared by every engine."""

from __future__ import annotations

from findspot.words.analyser import Token, joined_terms, terms, tokens, units
from findspot.words.coverage import Coverage, MatchCount, measure_coverage, surface_form
from findspot.words.many_texts import joined_terms_of
from findspot.words.matching import Acceptance, Highlights, accepts
from findspot.words.query import Phrase, Query, parse, query_terms

__all__ = [
    "Acceptance",
    "Coverage",
    "Highlights",
    "MatchCount",
    "Phrase",
    "Query",
    "Token",
    "accepts",
    "joined_terms",
    "joined_terms_of",
    "measure_coverage",
    "parse",
    "query_terms",
    "surface_form",
    "terms",
    "tokens",
    "units",
]
