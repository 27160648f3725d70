"""What every engine is. tests/contracts/test_engine.py holds each of them to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

Vector: TypeAlias = "npt.NDArray[np.float32]"
Vectors: TypeAlias = "npt.NDArray[np.float32]"
Stop: TypeAlias = Callable[[], None]  # raises when the work is no longer wanted; called between slices of it


@dataclass(frozen=True, slots=True)
class Source:
    """What a chunk was cut from: a node of a table under certain settings, or a document (with no pointer)."""

    document_id: int | None = None
    pointer: str = ""
    chunk_size: int = 0
    chunk_overlap: int = 0
    length: int = 0  # characters of the node


@dataclass(frozen=True, slots=True)
class Batch:
    """Chunks to keep: five columns of one length. A vector that is zero everywhere is never a hit."""

    ids: Sequence[int]
    doc_ids: Sequence[str]  # the ids that an engine outside this machine knows them by
    sources: Sequence[Source]
    terms: Sequence[str]  # of each chunk, separated by blanks
    vectors: Vectors

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True, slots=True)
class Within:
    """Which chunks of a namespace a query may see; the default is all of them."""

    pointer: str = ""  # this pointer, or anything below it
    cut: tuple[int, int] | None = None  # chunk size and overlap
    least_length: int = 0  # of the node, in characters
    document_ids: Set[int] | None = None


EVERYTHING = Within()


@dataclass(frozen=True, slots=True)
class Words:
    """What keywords look for: any of `any_of`; all of `all_of` must be there, and if there are some, that is enough;
    none of `none_of` may be. A term counts once for the score, be it in `any_of`, in `all_of` or in both. `prefix`
    begins a word that is still being typed; the terms that begin so, and `stems`, which do not but may be the terms of
    such a word, count together like one of `any_of`.

    What has all of `together` is recalled before anything else, whatever its score. With a prefix it needs a word that
    begins so too, or one of `any_of` that is not in `together`: the word that is typed, if that is whole."""

    any_of: tuple[str, ...] = ()
    all_of: tuple[str, ...] = ()
    none_of: tuple[str, ...] = ()
    prefix: str | None = None
    stems: tuple[str, ...] = ()
    together: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Recall:
    """What both legs found, by id: BM25 scores above zero, and cosines.

    What one leg found and the other did not stands with the other's score in `keyword_also` or `vector_also`: a BM25
    score (left out where no word matches), or a cosine (left out where the chunk has no vector).

    `full` are those of all these that have what was looked for `together`, and `more_full` says that others may.
    `documents` tells which documents all these were cut from, where they were cut from documents. `is_there` says
    whether there was an index at all.
    """

    keyword: Mapping[int, float] = field(default_factory=dict)
    vector: Mapping[int, float] = field(default_factory=dict)
    keyword_also: Mapping[int, float] = field(default_factory=dict)
    vector_also: Mapping[int, float] = field(default_factory=dict)
    full: Set[int] = frozenset()
    more_full: bool = False
    documents: Mapping[int, int] = field(default_factory=dict)
    is_there: bool = True


@dataclass(frozen=True, slots=True)
class Status:
    """What a namespace holds. `fingerprint` tells which embedder's vectors these are; `evicted` were given up."""

    chunks: int
    vectors: int
    bytes: int
    fingerprint: str
    dimension: int
    evicted: int = 0


class Damaged(Exception):
    """A namespace cannot be trusted: it has to be built anew from the store."""


class Misfit(Exception):
    """A query's vector has not the length of those in a namespace, which may have been switched a moment ago."""


class Abandoned(Exception):
    """An index that was being built is no longer wanted: its namespace was dropped, or another build was begun."""


class Building(Protocol):
    """An index that is written beside the one in service. What is written or deleted in the meantime reaches both.

    Raises Abandoned once it is no longer wanted.
    """

    def write(self, batch: Batch) -> None:
        """Keep these chunks, except those that were written or deleted since the build was begun: these are newer."""

    def switch(self) -> None:
        """Let it take the place of the one in service, at once and for good."""

    def abandon(self) -> None: ...


class Engine(Protocol):
    """Chunks in namespaces. Calls block: make them in a thread. Any number of threads may call at the same time.

    A namespace that does not exist is empty: reading and deleting there finds nothing. What returned is durable: a
    killed process finds it again. What was called and did not return is either there as a whole or not at all. Any call
    may raise ENGINE_UNAVAILABLE, where a disk is full or a service away.
    """

    def prepare(self) -> None:
        """Load what the first recall would otherwise wait for."""

    def write(self, namespace: str, fingerprint: str, batch: Batch) -> None:
        """Keep these chunks, in place of any with the same ids.

        The fingerprint is that of the index, or of the one that is being built to take its place: anything else raises
        ValueError. In the meantime an index with another one keeps these chunks by their words alone.
        """

    def delete(self, namespace: str, ids: Sequence[int]) -> None: ...

    def evict(self, namespace: str, ids: Sequence[int]) -> None:
        """Forget the vectors of these chunks, which are still found by their words."""

    def recall(
        self,
        namespace: str,
        words: Words | None,
        vector: Vector | None,
        *,
        limit: int,
        within: Within = EVERYTHING,
        stop: Stop = lambda: None,
    ) -> Recall:
        """The best `limit` chunks of each leg. Raises Misfit if the vector cannot be compared with those that are
        kept, and Damaged if the namespace cannot be trusted."""

    def count(self, namespace: str, words: Words | None, within: Within = EVERYTHING) -> int:
        """How many chunks match; without words, how many have a vector. Raises Damaged if the namespace cannot be
        trusted."""

    def scores(self, namespace: str, words: Words, ids: Sequence[int]) -> dict[int, float]:
        """The BM25 scores of those of these chunks that match. Raises Damaged if the namespace cannot be trusted."""

    def cosines(self, namespace: str, vector: Vector, ids: Sequence[int]) -> dict[int, float]:
        """The cosines of those of these chunks that have a vector."""

    def build(self, namespace: str, fingerprint: str, dimension: int) -> Building:
        """Begin an index to take the place of this one."""

    def verify(self, namespace: str) -> None:
        """Look through everything that is kept. Raises Damaged if it is not as it was written."""

    def ids(self, namespace: str) -> npt.NDArray[np.int64]:
        """All that are kept, in ascending order."""

    def vector_ids(self, namespace: str) -> npt.NDArray[np.int64]:
        """Those that have a vector, in ascending order."""

    def status(self, namespace: str) -> Status: ...

    def namespaces(self, project_id: int) -> list[str]: ...

    def drop(self, namespace: str) -> None:
        """Forget a namespace and free its room."""

    def drop_project(self, project_id: int) -> None: ...

    def close(self) -> None: ...
