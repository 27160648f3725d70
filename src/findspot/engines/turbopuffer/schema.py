"""The attributes of a row. All settings that the service has a default for are set, because its defaults change.

Language and ASCII folding are not: they do not apply to tokens that the client makes.
"""

from __future__ import annotations

import hashlib
from typing import Any

METRIC = "cosine_distance"
MAX_TOKEN = 254  # bytes; the service drops longer tokens
# Names have a weight per word, not BM25: with b = 0 their length does not count, with a small k1 repetitions do not.
_NAME = {"k1": 0.001, "b": 0.0}
_TEXT = {"k1": 1.2, "b": 0.75}

TERMS, TITLE, HEADINGS, NAME = "terms", "title", "headings", "name"
VECTOR = "vector"


def schema(dimension: int) -> dict[str, Any]:
    """Return the schema of a namespace whose vectors have this dimension."""
    return {
        "id": "string",
        VECTOR: {"type": f"[{dimension}]f16", "ann": True},
        "chunk_id": {"type": "uint", "filterable": True},
        "document_id": {"type": "uint", "filterable": True},
        "pointer": {"type": "string", "filterable": True},
        "cut": {"type": "string", "filterable": True},  # chunk size and overlap
        "length": {"type": "uint", "filterable": True},  # of the node, in characters
        "embedded": {"type": "bool", "filterable": True},  # false: the vector is a placeholder
        "fence": {"type": "uint", "filterable": True},  # fence and revision: which write this row is of
        "revision": {"type": "uint", "filterable": True},
        TERMS: _tokens(_TEXT),
        TITLE: _tokens(_TEXT),
        HEADINGS: _tokens(_TEXT),
        NAME: _tokens(_NAME),
    }


def _tokens(parameters: dict[str, float]) -> dict[str, Any]:
    """Tokens are made by Findspot, so that both engines match the same words, in any language."""
    pinned = {"tokenizer": "pre_tokenized_array", "stemming": False, "remove_stopwords": False, "case_sensitive": True}
    search = {**pinned, "max_token_length": MAX_TOKEN, **parameters}
    return {"type": "[]string", "full_text_search": search, "filterable": False}


def token(term: str) -> str:
    """Return the token of a term: the term, or a hash of one that is too long for the service."""
    if len(term) * 4 <= MAX_TOKEN:
        return term
    encoded = term.encode("utf-8", "surrogatepass")
    return term if len(encoded) <= MAX_TOKEN else "#" + hashlib.sha256(encoded).hexdigest()


def cut(size: int, overlap: int) -> str:
    return f"{size}/{overlap}"
