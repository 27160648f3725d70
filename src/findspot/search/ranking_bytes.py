"""Encodes a ranking as bytes, so that another process can go on with it."""

from array import array
from collections.abc import Iterable
from datetime import datetime

import msgspec

from findspot.engines.protocol import Within
from findspot.ranking.scores import Look
from findspot.search.folding import Listing
from findspot.search.paging import Ranking
from findspot.search.recall import Degradation
from findspot.search.request import SearchRequest
from findspot.search.total import Total

_PLAIN = ("request", "now", "within", "page_ends", "looks", "limit", "complete", "capped", "total", "without_phrases")


class _Encoded(msgspec.Struct, array_like=True):
    """The fields of a ranking. Columns of numbers are bytes, as they are in memory."""

    request: SearchRequest
    now: datetime
    within: Within
    page_ends: tuple[int, ...]
    looks: dict[int, Look]
    limit: int
    complete: bool
    capped: bool
    total: Total
    without_phrases: bool
    degraded: dict[int, Degradation]
    query: msgspec.Raw
    ids: bytes
    scores: bytes
    documents: bytes
    places: bytes
    heads: bytes
    keys: bytes
    rejected: bytes


_DECODER = msgspec.msgpack.Decoder(_Encoded)


def encode(ranking: Ranking) -> bytes:
    """Return all that `decode` needs."""
    listing = ranking.listing
    plain = {name: getattr(ranking, name) for name in _PLAIN}
    encoded = _Encoded(
        **plain,
        degraded=dict(ranking.degraded),
        query=msgspec.Raw(msgspec.msgpack.encode(ranking.query)),
        ids=_integers(ranking.ids),
        scores=array("d", ranking.scores).tobytes(),
        documents=_integers(ranking.documents),
        places=_integers(listing.places),
        heads=_integers(listing.heads),
        keys=_integers(listing.keys),
        rejected=_integers(ranking.rejected),
    )
    return msgspec.msgpack.encode(encoded)


def decode(content: bytes) -> Ranking:
    """Return the ranking that `encode` was given."""
    from findspot.words import Query

    found = _DECODER.decode(content)
    return Ranking(
        **{name: getattr(found, name) for name in _PLAIN},
        degraded=found.degraded,
        query=msgspec.msgpack.decode(found.query, type=Query),
        ids=array("q", found.ids),
        scores=array("d", found.scores),
        documents=array("q", found.documents),
        listing=Listing(array("q", found.places), array("q", found.heads), array("q", found.keys)),
        rejected=frozenset(array("q", found.rejected)),
    )


def _integers(numbers: Iterable[int]) -> bytes:
    return (numbers if isinstance(numbers, array) else array("q", numbers)).tobytes()
