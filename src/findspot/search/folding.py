"""Which hits of a ranking are results: a hit that is like a better one is folded into it, and a document may have a
limit.

Texts are compared by findspot.words.likeness: with those of the same block of hits, and, if they are identical, with
those of all results before. Once a hit is a result, it stays one.
"""

from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

BLOCK = 64  # hits that are compared with one another

_LEFT_OUT = -1  # in `heads`: its document has enough results
_NO_KEY = 0


@dataclass(frozen=True, slots=True)
class Listing:
    """The results among the first hits of a ranking, all of them given by their places in it."""

    places: Sequence[int] = field(default_factory=lambda: array("q"))  # of the results, in order
    heads: Sequence[int] = field(default_factory=lambda: array("q"))  # of each hit: the result that it is folded into
    keys: Sequence[int] = field(
        default_factory=lambda: array("q")
    )  # of each hit: a hash of its folded text, for every process

    @property
    def examined(self) -> int:
        """Return how many hits of the ranking were examined."""
        return len(self.heads)

    def duplicates(self, places: Sequence[int]) -> list[int]:
        """Return for each of these results how many hits are folded into it so far."""
        counts = Counter(self.heads)
        return [counts[place] - 1 for place in places]

    def first(self, results: int) -> tuple["Listing", list[int]]:
        """Return a listing of the first results and what is folded into them, and the places where these hits were."""
        chosen = list(self.places[:results])
        new = {place: number for number, place in enumerate(chosen)}
        folded = [place for place, head in enumerate(self.heads) if head in new and head != place]
        order = chosen + folded
        heads = array("q", [new[self.heads[place]] for place in order])
        keys = array("q", [self.keys[place] for place in order])
        return Listing(array("q", range(len(chosen))), heads, keys), order


def listed(
    before: Listing, documents: Sequence[int], texts: Mapping[int, str] | None, per_document: int | None
) -> Listing:
    """Examine the next hits. `documents` are those of all hits up to the last of them, `texts` the texts by place.

    Without texts nothing is folded. A hit whose text is gone is a result: it is left out when the page is read.
    """
    new = range(before.examined, len(documents))
    alike, keys = _compared(new, texts)
    places, heads = array("q", before.places), array("q", before.heads)
    results_of = Counter(documents[place] for place in places) if per_document is not None else Counter[int]()
    by_key = {before.keys[place]: place for place in places}
    head_of = dict[int, int]()  # the result of each group of hits that are alike
    for place, first, key in zip(new, alike, keys, strict=True):
        head = by_key.get(key) if key != _NO_KEY else None
        if head is None:
            head = head_of.get(first)
        if head is None and (per_document is None or results_of[documents[place]] < per_document):
            head = place
            places.append(place)
            results_of[documents[place]] += 1
        if head is not None:
            head_of.setdefault(first, head)
        heads.append(_LEFT_OUT if head is None else head)
    return Listing(places, heads, array("q", [*before.keys, *keys]))


def _compared(new: range, texts: Mapping[int, str] | None) -> tuple[Sequence[int], Sequence[int]]:
    """Return for each new hit the first one that it is like (or itself), and the key of its text."""
    if texts is None:
        return new, [_NO_KEY] * len(new)
    from findspot.words.likeness import FoldedTexts

    known = [place for place in new if place in texts]
    folded = FoldedTexts([texts[place] for place in known])
    keys = dict(zip(known, folded.keys, strict=True))
    alike = {place: known[first] for place, first in zip(known, folded.first_alike(), strict=True)}
    return [alike.get(place, place) for place in new], [keys.get(place, _NO_KEY) for place in new]
