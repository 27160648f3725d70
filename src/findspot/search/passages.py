"""A closer look at passages: how near is the stretch that is nearest? Those looked at of late are remembered."""

import threading
from collections import OrderedDict
from collections.abc import Mapping

from findspot.embedding.protocol import Embedder, Vector, Vectors
from findspot.ranking.fusion import STRETCH

REMEMBERED = 16_000  # vectors: of 384 numbers, 25 MB; a passage has some six of them, and a long one far more


class Stretches:
    """The vectors of stretches of passages. Any number of threads may ask."""

    def __init__(self, embedder: Embedder, most: int = REMEMBERED) -> None:
        self._embedder = embedder
        self._most = most
        self._lock = threading.Lock()
        self._held = 0  # vectors
        self._known: OrderedDict[int, Vectors] = OrderedDict()  # by the chunk's id, which never gets another text

    def best(self, query: Vector, texts: Mapping[int, str]) -> dict[int, float]:
        """The cosine with the query of the best stretch of each of these chunks."""
        with self._lock:
            found = {id: self._known[id] for id in texts if id in self._known}
        made = self._made({id: text for id, text in texts.items() if id not in found})
        with self._lock:
            for id in texts:
                if id in made:
                    self._keep(id, made[id])
                elif id in self._known:
                    self._known.move_to_end(id)
            while self._held > self._most:
                self._held -= len(self._known.popitem(last=False)[1])
        found |= made
        return {id: max((vectors @ query).tolist(), default=-1.0) for id, vectors in found.items()}

    def _keep(self, id: int, vectors: Vectors) -> None:
        """The lock is held. Another thread may have been quicker with the same passage."""
        self._held += len(vectors) - len(self._known.pop(id, ()))
        self._known[id] = vectors

    def _made(self, texts: Mapping[int, str]) -> dict[int, Vectors]:
        from findspot.chunking import cut

        if not texts:
            return {}
        pieces = {id: [text[each.start : each.end] for each in cut(text, STRETCH, 0)] for id, text in texts.items()}
        vectors = self._embedder.documents([piece for of_one in pieces.values() for piece in of_one])
        made, place = {}, 0
        for id, of_one in pieces.items():
            made[id] = vectors[place : place + len(of_one)].copy()  # not a view, which would keep all of them
            place += len(of_one)
        return made
