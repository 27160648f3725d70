"""Answers of the channels `rag:*` and `context:*`."""

from typing import Literal, NotRequired

from typing_extensions import TypedDict

from findspot.surfaces.http.models.errors import ErrorCode
from findspot.surfaces.http.models.workspace import Fallback


class RedactedRange(TypedDict):
    """A private value: what stands for it in the text, and its range in the document."""

    kind: str
    placeholder: str
    startOffset: int
    endOffset: int


class HiddenCharacter(TypedDict):
    """A character that a reader does not see, at its offset in the document."""

    offset: int
    codePoint: str
    kind: Literal["bidirectional", "invisible", "control"]


class RetrievedChunk(TypedDict):
    """A passage, with placeholders for private values. The offsets are those of the original text in the document.

    `tokens` are those of the passage with its label and separators in an assembled context. A passage that was merged
    from neighbours has several `chunkIds`, and the first of them is `chunkId`. `reason` says why it was retrieved.
    """

    documentId: int
    documentTitle: str
    path: str | None
    line: int | None
    headingPath: list[str]
    chunkId: int
    chunkIds: list[int]
    text: str
    score: float
    startOffset: int
    endOffset: int
    tokens: int
    reason: str
    redactions: list[RedactedRange]
    hiddenCharacters: list[HiddenCharacter]


class DroppedChunk(TypedDict):
    """A passage that was related enough, but is not in the answer."""

    chunkId: int
    reason: Literal["own_passage", "overlap", "duplicate", "budget", "top_k"]


class Retrieval(TypedDict):
    """Passages for a language model, best first. `redactions` counts private values by kind. `truncated` says that the
    budget was too small for a passage. `code` and `notice` say what could not be done."""

    chunks: list[RetrievedChunk]
    usedTokens: int
    maxTokens: int
    truncated: bool
    dropped: list[DroppedChunk]
    redactions: dict[str, int]
    fallback: Fallback
    code: NotRequired[ErrorCode]
    notice: NotRequired[str]
    correctedQuery: NotRequired[str]
    tookMs: float


class RedactionPattern(TypedDict):
    """A pattern of the project: the kind of value that it finds, and a regular expression."""

    kind: str
    pattern: str


class RetrievalConfig(TypedDict):
    """The retrieval configuration of a project. `changedBy` and `changedAt` are null if it was never changed."""

    topK: int
    minScore: float
    maxTokens: int
    redactionPatterns: list[RedactionPattern]
    redactionAllowed: list[str]
    changedBy: str | None
    changedAt: str | None


class LayerSource(TypedDict):
    """A passage in the text of a layer: `text[textStart:textEnd]`. The offsets are those in the document."""

    documentId: int
    documentTitle: str
    chunkId: int
    startOffset: int
    endOffset: int
    textStart: int
    textEnd: int
    redactions: list[RedactedRange]


class ContextLayer(TypedDict):
    name: Literal["rules", "settings", "retrieved", "immediate"]
    text: str
    tokens: int
    sources: list[LayerSource]


class ContextWarning(TypedDict):
    code: Literal["LAYER_FAILED", "LAYER_TRIMMED", "RETRIEVAL_DEGRADED", "HIDDEN_CHARACTERS", "BUDGET_87", "BUDGET_95"]
    message: str
    layer: NotRequired[Literal["rules", "settings", "retrieved", "immediate"]]


class AssembledContext(TypedDict):
    """The layers in their order. The context is the texts that are not empty, with a blank line between two of them;
    `totalTokens` counts exactly that. `stablePrefixHash` changes only if rules or settings do."""

    layers: list[ContextLayer]
    totalTokens: int
    maxTokens: int
    stablePrefixHash: str
    warnings: list[ContextWarning]
