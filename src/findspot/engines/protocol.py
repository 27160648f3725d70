"""The interface of a search engine, and the values that cross it.

`Engine` is what every engine offers. `LocalFiles` is a second, optional interface: the upkeep of index files on this
machine. tests/contracts/test_engine.py and test_local_files.py hold every implementation to both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

Vector: TypeAlias = "npt.NDArray[np.float32]"
Vectors: TypeAlias = "npt.NDArray[np.float32]"
Stop: TypeAlias = Callable[[], None]  # called between slices of work; raises to cancel it


@dataclass(frozen=True, slots=True)
class Source:
    """The text that a chunk was cut from: a node of a table with its chunk settings, or a document (no pointer)."""

    document_id: int | None = None
    pointer: str = ""
    chunk_size: int = 0
    chunk_overlap: int = 0
    length: int = 0  # characters of the node


# How much the fields of a context count for the keyword score, beside 1 for the text: docs/ranking.md.
TITLE_WEIGHT = 0.2
HEADINGS_WEIGHT = 0.1
# A chunk named by every word of a query scores as if its text repeated them without end: BM25 multiplies the weight of
# a word by less than 2.2. So a title that was asked for comes before texts that mention it.
NAME_WEIGHT = 2.2


class ContextTerms(NamedTuple):
    """The terms of a chunk's context, separated by spaces: those of its title and of the headings above it.

    `name` are the terms of what the chunk begins: the title of a document for its first chunk, the keys of a string for
    its first one. Other chunks have none.
    """

    title: str = ""
    headings: str = ""
    name: str = ""


NO_CONTEXT = ContextTerms()


@dataclass(frozen=True, slots=True)
class Batch:
    """Chunks to write, as six columns of equal length. A chunk whose vector is all zeros has no vector.

    Without `contexts`, no chunk has any. `fence` is the token of the worker's lease (`Engine`).
    """

    ids: Sequence[int]
    doc_ids: Sequence[str]  # the ids used by a remote engine
    sources: Sequence[Source]
    terms: Sequence[str]  # of each chunk, separated by spaces
    vectors: Vectors
    contexts: Sequence[ContextTerms] = ()
    fence: int = 0

    def __len__(self) -> int:
        return len(self.ids)

    def context(self, position: int) -> ContextTerms:
        return self.contexts[position] if self.contexts else NO_CONTEXT


@dataclass(frozen=True, slots=True)
class Within:
    """Filter: which chunks of a namespace a query may find. The default is all of them."""

    pointer: str = ""  # this pointer, or anything below it
    cut: tuple[int, int] | None = None  # chunk size and overlap
    least_length: int = 0  # of the node, in characters
    document_ids: Set[int] | None = None


EVERYTHING = Within()


@dataclass(frozen=True, slots=True)
class Words:
    """A keyword query. A chunk matches if its text has all of `all_of`, none of `none_of` and, when `all_of` is empty,
    at least one of `any_of` or a completion of `prefix`. Without `all_of`, a chunk also matches if its name has all of
    `named` (and a completion of `prefix`, if there is one).

    The score is BM25 of the text, plus BM25 of title and headings times their weights: a context alone is no match. A
    chunk that matches by its name scores NAME_WEIGHT times the BM25 weight of each term of `named` on top.

    A term counts once for the score, even if it is in both `any_of` and `all_of`. `prefix` is the start of a word that
    is still being typed. The terms that start with it, and `stems` (terms the finished word may have without starting
    with it), count as one term of `any_of`.

    A chunk with all terms of `full_match`, in its text or in its name, is a full match. Full matches are recalled
    before all other chunks, whatever their score. If there is a prefix, a full match also needs a completion of it, or
    a term of `typed` (the terms of the typed word, if it is already complete).

    `variants` are pairs of a term and others that count as this term in a text, for matches and scores alike: a chunk
    has the score of the one that scores best.
    """

    any_of: tuple[str, ...] = ()
    all_of: tuple[str, ...] = ()
    none_of: tuple[str, ...] = ()
    prefix: str | None = None
    stems: tuple[str, ...] = ()
    typed: tuple[str, ...] = ()
    full_match: tuple[str, ...] = ()
    named: tuple[str, ...] = ()
    variants: tuple[tuple[str, tuple[str, ...]], ...] = ()


@dataclass(frozen=True, slots=True)
class Recall:
    """The chunks found by each leg, by id: BM25 scores above zero, and cosines.

    `keyword_also` and `vector_also` hold the scores of other chunks: those that only the other leg found, and those
    the caller asked for with `also`. A chunk that matches no word, or has no vector, is left out there.

    `full_matches` are the recalled chunks that are full matches; `more_full_matches` is true if others may be.
    `documents` maps recalled chunks to their documents, if they were cut from documents. `exists` is false if there is
    no index. `matches` is how many chunks match, if the engine has counted on the way.
    """

    keyword: Mapping[int, float] = field(default_factory=dict)
    vector: Mapping[int, float] = field(default_factory=dict)
    keyword_also: Mapping[int, float] = field(default_factory=dict)
    vector_also: Mapping[int, float] = field(default_factory=dict)
    full_matches: Set[int] = frozenset()
    more_full_matches: bool = False
    documents: Mapping[int, int] = field(default_factory=dict)
    exists: bool = True
    matches: int | None = None


@dataclass(frozen=True, slots=True)
class Status:
    """The contents of a namespace. `fingerprint` names the embedder; `evicted` counts chunks whose vector was
    evicted. An index that an older version wrote `is_outdated`: it answers, and should be rebuilt."""

    chunks: int
    vectors: int
    bytes: int
    fingerprint: str
    dimension: int
    evicted: int = 0
    is_outdated: bool = False


class Damaged(Exception):
    """The index of a namespace is damaged and must be rebuilt from the store."""


class DimensionMismatch(Exception):
    """The query vector and the vectors of the namespace differ in dimension, for example after a recent switch."""


class Abandoned(Exception):
    """A build is no longer wanted: its namespace was dropped, or another build was started."""


class StaleFence(Exception):
    """A write with a lower fence than an earlier one was refused: another worker has taken the namespace over."""


class Engine(Protocol):
    """Chunks in namespaces. Calls block, so make them in a thread. Calls from several threads are safe.

    A namespace that does not exist is empty: reads return nothing and deletes do nothing. When a write returns, it
    survives a killed process; a write that did not return is either complete or absent. Any call may raise
    ENGINE_UNAVAILABLE, for example if the disk is full or a service is unreachable. Reads and writes raise Damaged if
    the index is damaged.

    An engine that workers on several machines share refuses writes, deletes and drops with a lower `fence` than an
    earlier one had (StaleFence). An engine with local files has one owner, and ignores `fence`.
    """

    @property
    def files(self) -> LocalFiles | None:
        """Upkeep of the local index files; None for an engine that keeps no files on this machine."""

    def prepare(self) -> None:
        """Load what the first recall would otherwise wait for."""

    def warm(self, namespace: str) -> None:
        """Take a hint that searches of a namespace will follow soon. Never raises."""

    def write(self, namespace: str, fingerprint: str, batch: Batch) -> None:
        """Write chunks, replacing any with the same ids.

        The fingerprint must be that of the index, or of the build that will replace it; otherwise raises ValueError.
        During a build with another fingerprint, the index in service takes these chunks without their vectors.
        """

    def delete(self, namespace: str, ids: Sequence[int], *, fence: int = 0) -> None: ...

    def build(self, namespace: str, fingerprint: str, dimension: int) -> Build:
        """Start an index beside the one in service, to replace it. A build in progress is abandoned."""

    def recall(
        self,
        namespace: str,
        words: Words | None,
        vector: Vector | None,
        *,
        limit: int,
        within: Within = EVERYTHING,
        also: Sequence[int] = (),
        stop: Stop = lambda: None,
        count_to: int = 0,
        timeout_s: float | None = None,
    ) -> Recall:
        """Return the best `limit` chunks of each leg.

        Both legs also score the chunks of `also`, whether recalled or not; the filter does not apply to them. With a
        limit of 0 nothing else is scored. Raises DimensionMismatch if the vector cannot be compared.

        With `count_to`, an engine that does so in less time than a call of `count` takes counts the matches too. The
        number is exact up to `count_to`; a larger one may be too small. An engine that waits for a service raises
        ENGINE_UNAVAILABLE after `timeout_s`.
        """

    def count(self, namespace: str, words: Words | None, within: Within = EVERYTHING) -> int:
        """Return how many chunks match; without words, how many have a vector."""

    def frequencies(self, namespace: str, terms: Sequence[str], *, prefix: str | None = None) -> dict[str, int] | None:
        """Return in how many chunks each of these terms, and each term with this prefix, occurs.

        Terms that occur nowhere are left out. Chunks that were deleted lately may be counted. An engine that does not
        know its terms returns None; then no query is corrected.
        """

    def ids(self, namespace: str) -> npt.NDArray[np.int64]:
        """Return the ids of all chunks, in ascending order."""

    def doc_ids(self, namespace: str) -> list[tuple[int, str]] | None:
        """Return our id of each chunk with the one of a remote engine, by our ids. An engine without the latter returns
        None."""

    def kind(self, namespace: str) -> tuple[str, int]:
        """Return fingerprint and dimension of the vectors; ("", 0) if there is no index. Every search asks."""

    def status(self, namespace: str) -> Status: ...

    def namespaces(self, project_id: int) -> list[str]:
        """Return the names of a project's namespaces, sorted."""

    def drop(self, namespace: str, *, fence: int = 0) -> None:
        """Delete a namespace and free its space."""

    def sweep(self) -> None:
        """Delete what earlier calls could not delete. The index worker calls this now and then."""

    def cancel(self) -> None:
        """Have calls that wait for a service fail soon, because the process ends."""

    def close(self) -> None: ...


class LocalFiles(Protocol):
    """Upkeep of index files on this machine. A remote engine has none."""

    def verify(self, namespace: str) -> None:
        """Read all files again. Raises Damaged if one is not as it was written."""

    def vector_ids(self, namespace: str) -> npt.NDArray[np.int64]:
        """Return the ids of the chunks that have a vector, in ascending order."""

    def evict(self, namespace: str, ids: Sequence[int]) -> None:
        """Delete the vectors of these chunks. Keywords still find them."""


class Build(Protocol):
    """An index that is written beside the one in service. Writes and deletes in the meantime go to both.

    Raises Abandoned when the build is no longer wanted.
    """

    def write(self, batch: Batch) -> None:
        """Write chunks, except those that were written or deleted since the build started: these are newer."""

    def switch(self) -> None:
        """Replace the index in service, in one step."""

    def abandon(self) -> None: ...
