"""The interface of a product that is measured, and the values that all products get."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from bench.new_documents import OF_A_DOCUMENT

SHOWN = 10  # hits of an answer
CANDIDATES = 200  # per leg of a hybrid search, as in Findspot
RRF = 60
SECTIONS = 100  # a filter keeps the documents of one section: 1 % of the chunks

Answer = list[int]  # numbers of chunks, best first


@dataclass(frozen=True, slots=True)
class Query:
    text: str
    vector: Any
    section: int | None = None  # only chunks of this section


@dataclass(frozen=True, slots=True)
class Chunks:
    """Some chunks with their vectors. They are numbered from `first` on."""

    first: int
    texts: list[str]
    vectors: Any

    @property
    def numbers(self) -> range:
        return range(self.first, self.first + len(self.texts))

    @property
    def sections(self) -> list[int]:
        return [section_of(number) for number in self.numbers]


Way = Callable[[Query], Answer]


class Product(Protocol):
    """A product with an empty folder of its own."""

    def add(self, chunks: Chunks) -> None:
        """Add chunks durably. `finish` follows after the chunks of the first build; later ones are searchable at once,
        or as soon as the product makes them so."""

    def finish(self, count: int) -> None:
        """Build the indexes, so that all chunks can be searched."""

    def remove(self, numbers: range) -> None:
        """Delete chunks durably."""

    def ways(self) -> dict[str, Way]:
        """Return the supported searches by name. They can be called by several threads at once.

        `nearest` is not timed: recall is measured with it, if the vector search leaves out hits on purpose.
        """

    def processes(self) -> list[int]:
        """Return the ids of server processes that are no children of this process."""

    def close(self) -> None:
        """End what was started."""


def section_of(number: int) -> int:
    return number // OF_A_DOCUMENT % SECTIONS
