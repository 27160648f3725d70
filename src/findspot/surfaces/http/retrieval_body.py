"""The bodies of retrievals and contexts, and the requests that they stand for."""

from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from findspot.errors import invalid
from findspot.retrieval import ContextRequest, EditingContext, RetrievalRequest
from findspot.retrieval.request import MAX_AROUND, MAX_QUERY, MAX_TOKENS, MAX_TOP_K
from findspot.surfaces.http.body import Body, Text

MAX_CONTEXT = 1_000_000  # tokens
MAX_LAYER = 200_000  # characters
MAX_PATTERNS = 50
MAX_ALLOWED = 1000

_TopK = Annotated[int, Field(ge=1, le=MAX_TOP_K)]
_Score = Annotated[float, Field(ge=0, le=1)]
_Tokens = Annotated[int, Field(ge=1, le=MAX_TOKENS)]
_Around = Annotated[Text, Field(max_length=MAX_AROUND)]
_Layer = Annotated[Text, Field(max_length=MAX_LAYER)]


class Cursor(Body):
    """The text before and after the cursor in a document."""

    documentId: Annotated[int, Field(ge=1, lt=10**18)]
    before: _Around
    after: _Around


class Asking(Body):
    """A query, or the text around a cursor."""

    query: Annotated[Text, Field(max_length=MAX_QUERY)] | None = None
    context: Cursor | None = None
    topK: _TopK | None = None
    minScore: _Score | None = None

    def retrieval(self, project_id: int, max_tokens: int | None = None) -> RetrievalRequest:
        cursor = self.context
        context = EditingContext(cursor.documentId, cursor.before, cursor.after) if cursor else None
        return RetrievalRequest(project_id, self.query or "", context, self.topK, self.minScore, max_tokens)


class Retrieve(Asking):
    """A retrieval: a `query`, or the `context` around a cursor, whose own passage is never returned. What is left out
    is taken from the configuration of the project."""

    maxTokens: _Tokens | None = None

    @model_validator(mode="after")
    def _asks_once(self) -> Self:
        if (self.query is None) == (self.context is None):
            raise invalid("query", "send either a query or a context")
        return self


class Around(Body):
    """The immediate text on both sides of the cursor."""

    before: _Layer
    after: _Layer


class Layers(Body):
    """The layers that the caller has. If `immediate` is one text, the cursor is at its end. Without it, the text of
    `context` is taken."""

    rules: _Layer = ""
    settings: _Layer = ""
    immediate: _Layer | Around | None = None


class Assemble(Asking):
    """The layers of a context, what to retrieve for it, and the tokens of the whole."""

    layers: Layers
    maxTokens: Annotated[int, Field(ge=1, le=MAX_CONTEXT)]

    @model_validator(mode="after")
    def _asks_at_most_once(self) -> Self:
        if self.query is not None and self.context is not None:
            raise invalid("query", "send either a query or a context, or neither")
        return self

    def request(self, project_id: int) -> ContextRequest:
        asks = self.query is not None or self.context is not None
        given: str | Around | Cursor = "" if self.layers.immediate is None else self.layers.immediate
        if self.layers.immediate is None and self.context is not None:
            given = self.context
        before, after = (given, "") if isinstance(given, str) else (given.before, given.after)
        retrieval = self.retrieval(project_id) if asks else None
        return ContextRequest(self.maxTokens, self.layers.rules, self.layers.settings, before, after, retrieval)


class Pattern(Body):
    """A pattern of private values: their kind, and a regular expression."""

    kind: Annotated[Text, Field(min_length=1, max_length=40)]
    pattern: Annotated[Text, Field(min_length=1, max_length=300)]


class ConfigChange(Body):
    """Changes of the retrieval configuration. Fields that are left out do not change."""

    topK: _TopK | None = None
    minScore: _Score | None = None
    maxTokens: _Tokens | None = None
    redactionPatterns: Annotated[list[Pattern], Field(max_length=MAX_PATTERNS)] | None = None
    redactionAllowed: (
        Annotated[list[Annotated[Text, Field(min_length=1, max_length=200)]], Field(max_length=MAX_ALLOWED)] | None
    ) = None

    def changes(self) -> dict[str, Any]:
        patterns = self.redactionPatterns
        found = {
            "top_k": self.topK,
            "min_score": self.minScore,
            "max_tokens": self.maxTokens,
            "redaction_patterns": None if patterns is None else tuple((each.kind, each.pattern) for each in patterns),
            "redaction_allowed": None if self.redactionAllowed is None else tuple(self.redactionAllowed),
        }
        return {name: value for name, value in found.items() if value is not None}
