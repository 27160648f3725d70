"""The interface of embedders. tests/contracts/test_embedder.py runs against each of them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, TypeAlias

from findspot.embedding.calibration import Calibration
from findspot.errors import FindspotError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from findspot.embedding.word_table import WordTable

Vector: TypeAlias = "npt.NDArray[np.float32]"  # `dimension` numbers
Vectors: TypeAlias = "npt.NDArray[np.float32]"  # one row per text


class Embedder(Protocol):
    """Turns texts into vectors.

    A vector has length 1, so that a dot product is the cosine. A text without a known word has a vector of zeros, and
    must never be a hit.

    Calls block, for milliseconds or for as long as a service takes: make them in a thread. Any number of threads may
    call at the same time.
    """

    @property
    def id(self) -> str:
        """Its name in the settings."""

    @property
    def dimension(self) -> int: ...

    @property
    def fingerprint(self) -> str:
        """A hash of weights, configuration and dimension. Only vectors with the same fingerprint can be compared."""

    @property
    def calibration(self) -> Calibration: ...

    @property
    def batch(self) -> int:
        """The number of texts in one call that makes good use of the embedder."""

    @property
    def vector_weight(self) -> float:
        """The default weight of vectors in a hybrid ranking, from 0 to 1; keywords get the rest (docs/ranking.md)."""

    @property
    def is_quick(self) -> bool:
        """Whether a query is embedded here and at once, without a service."""

    @property
    def word_table(self) -> "WordTable | None":
        """Compares passages with a query word by word before a search answers; None if the embedder cannot."""

    def documents(self, texts: Sequence[str], *, soon: bool = False) -> Vectors:
        """Return a row for every text, in order, or raise an error for all of them.

        With `soon`, a user waits for the answer: temporary errors are retried only once.
        """

    def query(self, text: str) -> Vector:
        """Return the vector of a query."""

    def knows(self, text: str) -> bool:
        """Return whether the embedder knows a word of the text.

        An unknown word may still have a vector, made of word pieces. It is not reliable on its own.
        """

    def close(self) -> None: ...


def refused(index: int, reason: str) -> FindspotError:
    """Return the error about a text that cannot be embedded. `index` is its position in the call."""
    return FindspotError("INVALID_ARGUMENT", f"texts[{index}]: {reason}", field="texts", index=index, reason=reason)
