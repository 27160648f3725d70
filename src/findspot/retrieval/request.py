"""What can be asked of retrieval: a query, or the text around a cursor; and within which limits."""

from dataclasses import dataclass

from findspot.engines.protocol import EVERYTHING, Within
from findspot.runtime.limits import TIMEOUT_S
from findspot.store.retrieval_configs import RetrievalConfig

MAX_TOP_K = 50
MAX_TOKENS = 32_000
MAX_QUERY = 10_000  # characters
MAX_AROUND = 200_000  # characters on each side of the cursor


@dataclass(frozen=True, slots=True)
class EditingContext:
    """The text around the cursor in a document that is being edited. It may not be saved yet."""

    document_id: int
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class RetrievalRequest:
    """A query or an editing context. What is None is taken from the configuration of the project."""

    project_id: int
    query: str = ""
    context: EditingContext | None = None
    top_k: int | None = None
    min_score: float | None = None
    max_tokens: int | None = None
    within: Within = EVERYTHING
    timeout_s: float = TIMEOUT_S


@dataclass(frozen=True, slots=True)
class Limits:
    """How many passages an answer has at most, from which score on, and within how many tokens."""

    top_k: int
    min_score: float
    max_tokens: int

    @classmethod
    def of(cls, request: RetrievalRequest, config: RetrievalConfig) -> "Limits":
        """Return the values of the request and, where it names none, those of the project."""
        return cls(
            config.top_k if request.top_k is None else request.top_k,
            config.min_score if request.min_score is None else request.min_score,
            config.max_tokens if request.max_tokens is None else request.max_tokens,
        )
