"""Answers of the workspace channels."""

from typing import Literal, NotRequired

from typing_extensions import TypedDict

from findspot.surfaces.http.models.errors import ErrorCode

Fallback = Literal["none", "fts"]


class ScoreBreakdown(TypedDict):
    """The weighted parts of a score; their sum is `finalScore`."""

    bm25: float
    semantic: float
    recency: float


class SearchResult(TypedDict):
    """A passage. `highlights` are ranges of `snippet`; the offsets count characters of the document's text.

    `path` is the file that the document was imported from. `line` and `column` (from 1) say where the first match is in
    it, or where the snippet begins if there are no highlights.
    `duplicates` is the number of passages like this one that are folded into it.
    `headingPath` are the headings above it, from the outermost to the nearest.
    """

    documentId: int
    documentTitle: str
    documentType: str
    path: str | None
    line: int | None
    column: int | None
    chunkId: int
    snippet: str
    highlights: list[list[int]]
    startOffset: int
    endOffset: int
    chunkStart: int
    chunkEnd: int
    headingPath: list[str]
    finalScore: float
    scoreBreakdown: ScoreBreakdown
    updatedAt: str | None
    duplicates: int


class DocumentHits(TypedDict):
    documentId: int
    documentTitle: str
    documentType: str
    count: int


class TypeHits(TypedDict):
    type: str
    count: int


class HitCounts(TypedDict):
    """How many passages match, the most first. `byDocument` has at most a hundred of the `documents` with a match."""

    byDocument: list[DocumentHits]
    byType: list[TypeHits]
    documents: int


class SearchPage(TypedDict):
    """One page of results. `code` and `notice` say what could not be done. `correctedQuery` was searched for instead of
    a query with words that occur nowhere; it is null if nothing was corrected.

    `indexState` is `ready` if everything that was saved before the request is searchable; otherwise
    `indexedDocuments` of `totalDocuments` are. While it is `rebuilding`, the index before answers.
    """

    results: list[SearchResult]
    total: int
    totalIsLowerBound: NotRequired[bool]
    hasMore: bool
    page: int
    offset: int
    cursor: str
    strategy: Literal["fts", "semantic", "hybrid"]
    indexState: Literal["ready", "indexing", "rebuilding"]
    indexedDocuments: NotRequired[int]
    totalDocuments: NotRequired[int]
    fallback: Fallback
    code: NotRequired[ErrorCode]
    notice: NotRequired[str]
    correctedQuery: str | None
    counts: NotRequired[HitCounts]
    tookMs: float


class RankedPart(TypedDict):
    """One part of a score: the raw value, the normalised one, its weight, and the rank among the candidates."""

    raw: float | None
    normalised: float
    weight: float
    rank: int | None


class KeywordPart(RankedPart):
    allWords: bool


class CloserLook(TypedDict):
    """What a search compares in its best 24 hits: the cosine of the best segment, and the similarity of words."""

    bestSegment: float
    wordSimilarity: float


class SemanticPart(RankedPart):
    closerLook: NotRequired[CloserLook]


class RecencyPart(TypedDict):
    updatedAt: str | None
    ageDays: float
    normalised: float
    weight: float


class MatchedWord(TypedDict):
    word: str
    weight: float


class RankExplanation(TypedDict):
    """Why a passage has the score it has. `contextWords` are in its title or headings, and add to `bm25`."""

    documentId: int
    documentTitle: str
    chunkId: int
    headingPath: list[str]
    finalScore: float
    scoreBreakdown: ScoreBreakdown
    hidden: bool
    bm25: KeywordPart
    semantic: SemanticPart
    recency: RecencyPart
    matchedWords: list[MatchedWord]
    missingWords: list[str]
    contextWords: list[str]
    explanation: str
    fallback: Fallback
    code: NotRequired[ErrorCode]
    notice: NotRequired[str]


class ReindexJob(TypedDict):
    jobId: str
    position: int


class Vectors(TypedDict):
    """Vectors of length 1, in the order of the texts."""

    model: str
    dimensions: int
    vectors: list[list[float]]
