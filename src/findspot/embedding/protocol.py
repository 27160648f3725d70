"""What every embedder is. tests/contracts/test_embedder.py holds each of them to it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, TypeAlias

from findspot.embedding.calibration import Calibration
from findspot.errors import FindspotError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

Vector: TypeAlias = "npt.NDArray[np.float32]"  # one, of `dimension` numbers
Vectors: TypeAlias = "npt.NDArray[np.float32]"  # a row for each text


class Embedder(Protocol):
    """Text to vector.

    A vector has the length 1, so that a dot product is the cosine; or it is zero everywhere, for a text that the
    embedder knows nothing of. Such a text must never be a hit.

    Calls block, for milliseconds or for as long as a service takes: make them in a thread. Any number of threads may
    call at the same time.
    """

    @property
    def id(self) -> str:
        """The name it goes by in the settings."""

    @property
    def dimension(self) -> int: ...

    @property
    def fingerprint(self) -> str:
        """Vectors of the same fingerprint can be compared; it changes with weights, configuration and dimension."""

    @property
    def calibration(self) -> Calibration: ...

    @property
    def batch(self) -> int:
        """How many documents one call should bring, at least, for it to be worth it."""

    @property
    def vector_weight(self) -> float:
        """What vectors count for beside keywords, of 1 in all: docs/ranking.md."""

    @property
    def is_quick(self) -> bool:
        """Whether texts can be embedded while someone waits for an answer."""

    def documents(self, texts: Sequence[str], *, soon: bool = False) -> Vectors:
        """A row for every text, in their order: all of them or an error. `soon` is for someone who waits: then trouble
        that may pass is hardly waited for."""

    def query(self, text: str) -> Vector:
        """The vector to look for documents with."""

    def knows(self, text: str) -> bool:
        """Whether a word of a text means something to it. What does not may still have a vector, of the pieces that
        such words are made of; who finds none of the words themselves should not believe it."""

    def close(self) -> None: ...


def refused(index: int, reason: str) -> FindspotError:
    """A text that cannot be embedded, by its place among those that were given."""
    return FindspotError("INVALID_ARGUMENT", f"texts[{index}]: {reason}", field="texts", index=index, reason=reason)
