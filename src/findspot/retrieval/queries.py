"""The query of an editing context: the current sentence, its names and its rare words.

The meaning of the whole sentence is searched for, but of its words only names and rare words: the others would recall
every passage.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from findspot.retrieval.request import EditingContext

if TYPE_CHECKING:
    from findspot.words import Query

NEAR = 2_000  # characters on each side of the cursor that are read
SHORTEST = 24  # bytes (8 Chinese characters); a shorter sentence says too little without the one before it
LONGEST = 600  # characters of the query, those nearest to the cursor
RARE = 8  # terms

_CLOSING = r"[\"'”’」』）)\]]*"
_SENTENCE_END = re.compile(rf"[。！？!?…]+{_CLOSING}|\.(?={_CLOSING}(?:\s|$)){_CLOSING}|[\r\n]+")
_QUOTED = re.compile(r"「([^」]{1,40})」|『([^』]{1,40})』|“([^”]{1,40})”|《([^》]{1,40})》|\"([^\"]{1,40})\"")
_LETTER = r"[A-Za-z\u00c0-\u024f0-9_'’-]"  # without Han characters, which may stand directly beside a name
_CAPITALISED = re.compile(rf"(?<!{_LETTER})[A-Z\u00c0-\u00de]{_LETTER}*(?:[ ]+[A-Z\u00c0-\u00de]{_LETTER}*)*")


def current_sentence(context: EditingContext) -> str:
    """Return the sentence around the cursor; after its end, the one that ends there. A short one gets the sentences
    before it."""
    before, after = context.before[-NEAR:].rstrip(), context.after[:NEAR]
    starts = [0, *(found.end() for found in _SENTENCE_END.finditer(before))]
    is_open = bool(before[starts[-1] :].strip())
    end = _SENTENCE_END.search(after) if is_open or not before else None
    rest = after[: end.end() if end else len(after)] if is_open or not before else ""
    for start in reversed(starts):
        found = " ".join(f"{before[start:]}{rest}".split())
        if len(found.encode(errors="replace")) >= SHORTEST:
            break
    kept = max(0, LONGEST - len(rest))
    return found if len(found) <= LONGEST else " ".join(f"{before[-kept:] if kept else ''}{rest[:LONGEST]}".split())


def names(sentence: str) -> Iterator[str]:
    """Yield the names in a sentence: what is quoted, and capitalised words that do not begin it."""
    for found in _QUOTED.finditer(sentence):
        yield next(filter(None, found.groups()))
    for found in _CAPITALISED.finditer(sentence):
        if found.start() > 0 or " " in found[0]:
            yield found[0]


def focused(query: "Query", names: "Query", frequencies: Mapping[str, int] | None) -> "Query":
    """Return the query with the terms of its names and its rarest terms only. Its meaning stays that of the sentence.

    `frequencies` says in how many chunks each term occurs. A term that occurs nowhere is not needed. If nothing is
    known of them, all terms stay.
    """
    if frequencies is None:
        return _only(query, tuple(dict.fromkeys((*query.content_terms, *names.content_terms))))
    of_names = [term for term in names.content_terms if term in frequencies]
    others = [term for term in query.content_terms if term in frequencies and term not in of_names]
    rarest = sorted(others, key=lambda term: (frequencies[term], term))[:RARE]
    terms = tuple(term for term in dict.fromkeys((*query.content_terms, *of_names)) if term in {*of_names, *rarest})
    return _only(query, terms)


def _only(query: "Query", terms: tuple[str, ...]) -> "Query":
    """Return the query with these terms and no other condition."""
    return replace(query, terms=terms, content_terms=terms, complete_terms=terms, preferred=(), prefix=None, stems=())
