"""Assemble the context of a prompt from its layers: rules, settings, retrieved passages, and the text at hand."""

import hashlib
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from findspot import tokens
from findspot.errors import FindspotError
from findspot.retrieval import labels
from findspot.retrieval import messages as retrieval_messages
from findspot.retrieval.budget import Selected, block
from findspot.retrieval.hidden import hidden_characters
from findspot.retrieval.layers import SEPARATOR, LayerName, allotted, around_cursor, budgets, first_tokens
from findspot.retrieval.passages import Passage
from findspot.retrieval.request import MAX_TOKENS, RetrievalRequest
from findspot.retrieval.retrieve import Retrieved, Retriever
from findspot.runtime import messages
from findspot.runtime.threads import ThreadPool

log = logging.getLogger(__name__)

NEARLY_FULL = 0.87
FULL = 0.95
_CALLERS_FAULT = ("INVALID_ARGUMENT", "NOT_FOUND")


@dataclass(frozen=True, slots=True)
class ContextRequest:
    """The layers that a caller has. `before` and `after` are the immediate text on both sides of the cursor.

    Without `retrieval` there is no retrieved layer.
    """

    max_tokens: int
    rules: str = ""
    settings: str = ""
    before: str = ""
    after: str = ""
    retrieval: RetrievalRequest | None = None


@dataclass(frozen=True, slots=True)
class Source:
    """A passage in the text of a layer: `text[text_start:text_end]` is the passage, with its redactions."""

    passage: Passage
    text_start: int
    text_end: int


@dataclass(frozen=True, slots=True)
class Layer:
    """A layer as it stands in the context."""

    name: LayerName
    text: str
    tokens: int
    sources: tuple[Source, ...] = ()


@dataclass(frozen=True, slots=True)
class ContextWarning:
    """What a caller should know about the context, by a code and in a sentence."""

    code: str
    message: str
    layer: LayerName | None = None


@dataclass(frozen=True, slots=True)
class AssembledContext:
    """All layers in order. The context is the texts that are not empty, with SEPARATOR between them."""

    layers: tuple[Layer, ...]
    total_tokens: int
    stable_prefix_hash: str
    warnings: tuple[ContextWarning, ...]


class ContextAssembler:
    """Assembles contexts. Counting and trimming run in a thread."""

    def __init__(self, retriever: Retriever, threads: ThreadPool) -> None:
        self._retriever = retriever
        self._threads = threads

    async def assemble(self, request: ContextRequest, language: str) -> AssembledContext:
        """Return the layers within the budget. Raise CONTEXT_RULES_OVERBUDGET if the rules alone are too long."""
        sizes = await self._threads.run(_sizes, request)
        if sizes[LayerName.RULES] > request.max_tokens:
            message = f"The rules have {sizes[LayerName.RULES]} tokens, and the whole context may have only "
            fields = {"rulesTokens": sizes[LayerName.RULES], "maxTokens": request.max_tokens}
            raise FindspotError("CONTEXT_RULES_OVERBUDGET", f"{message}{request.max_tokens}.", **fields)
        retrieved, warnings = await self._retrieved(request, sizes, language)
        return await self._threads.run(partial(_assembled, request, sizes, retrieved, warnings, language))

    async def _retrieved(
        self, request: ContextRequest, sizes: Mapping[LayerName, int], language: str
    ) -> tuple[Selected, list[ContextWarning]]:
        """Retrieve as much as the other layers leave room for. A failure becomes a warning."""
        wanted = {**sizes, LayerName.RETRIEVED: budgets(request.max_tokens)[LayerName.RETRIEVED]}
        room = min(allotted(_room(request), wanted)[LayerName.RETRIEVED], MAX_TOKENS)
        if request.retrieval is None or room <= 0:
            return Selected(), []
        try:
            found = await self._retriever.retrieve(replace(request.retrieval, max_tokens=room))
        except FindspotError as error:
            if error.code in _CALLERS_FAULT:
                raise
            log.warning("the retrieved layer of a context failed: %s", error.code)
            message = retrieval_messages.layer_failed(LayerName.RETRIEVED, error.code, language)
            return Selected(), [ContextWarning("LAYER_FAILED", message, LayerName.RETRIEVED)]
        return found.selected, _retrieval_warnings(found, language)


def _room(request: ContextRequest) -> int:
    """Return the tokens for the texts of the layers, without those for the separators between them."""
    return max(0, request.max_tokens - (len(LayerName) - 1) * tokens.count(SEPARATOR))


def _sizes(request: ContextRequest) -> dict[LayerName, int]:
    return {
        LayerName.RULES: tokens.count(request.rules),
        LayerName.SETTINGS: tokens.count(request.settings),
        LayerName.RETRIEVED: 0,
        LayerName.IMMEDIATE: tokens.count(request.before) + tokens.count(request.after),
    }


def _retrieval_warnings(found: Retrieved, language: str) -> list[ContextWarning]:
    warnings = []
    if found.degraded:
        message = messages.workspace_fallback(found.degraded.code, language)
        warnings.append(ContextWarning("RETRIEVAL_DEGRADED", message, LayerName.RETRIEVED))
    hidden = sum(len(hidden_characters(each.passage.text)) for each in found.selected.chosen)
    if hidden:
        message = retrieval_messages.hidden_characters(hidden, language)
        warnings.append(ContextWarning("HIDDEN_CHARACTERS", message, LayerName.RETRIEVED))
    return warnings


def _assembled(
    request: ContextRequest,
    sizes: Mapping[LayerName, int],
    retrieved: Selected,
    warnings: Sequence[ContextWarning],
    language: str,
) -> AssembledContext:
    """Trim the layers until the whole fits. The sum of their tokens may be a little less than those of the whole."""
    room = _room(request)
    while True:
        allowed = allotted(room, {**sizes, LayerName.RETRIEVED: retrieved.used_tokens})
        retrieved = retrieved.within(allowed[LayerName.RETRIEVED])
        texts = _texts(request, sizes, retrieved, allowed)
        total = tokens.count(SEPARATOR.join(filter(None, texts.values())))
        if total <= request.max_tokens or room <= 0:
            break
        room -= total - request.max_tokens
    layers = tuple(
        Layer(name, text, tokens.count(text), _sources(retrieved) if name is LayerName.RETRIEVED and text else ())
        for name, text in texts.items()
    )
    given = {LayerName.SETTINGS: request.settings, LayerName.IMMEDIATE: request.before + request.after}
    is_trimmed = {name: texts[name] != text for name, text in given.items()} | {
        LayerName.RETRIEVED: retrieved.truncated
    }
    trimmed = [
        ContextWarning("LAYER_TRIMMED", retrieval_messages.layer_trimmed(name, language), name)
        for name in LayerName
        if is_trimmed.get(name)
    ]
    prefix = "\x1f".join((texts[LayerName.RULES], texts[LayerName.SETTINGS]))
    return AssembledContext(
        layers,
        total,
        hashlib.sha256(prefix.encode(errors="surrogatepass")).hexdigest(),
        (*warnings, *trimmed, *_fullness(total, request.max_tokens, language)),
    )


def _texts(
    request: ContextRequest, sizes: Mapping[LayerName, int], retrieved: Selected, allowed: Mapping[LayerName, int]
) -> dict[LayerName, str]:
    """Return the texts of the layers within what each is allowed."""
    settings = request.settings
    if allowed[LayerName.SETTINGS] < sizes[LayerName.SETTINGS]:
        settings = first_tokens(settings, allowed[LayerName.SETTINGS])
    immediate = request.before + request.after
    if allowed[LayerName.IMMEDIATE] < sizes[LayerName.IMMEDIATE]:
        immediate = "".join(around_cursor(request.before, request.after, allowed[LayerName.IMMEDIATE]))
    return {
        LayerName.RULES: request.rules,
        LayerName.SETTINGS: settings,
        LayerName.RETRIEVED: retrieved.text,
        LayerName.IMMEDIATE: immediate,
    }


def _sources(retrieved: Selected) -> tuple[Source, ...]:
    """Return where each passage stands in the text of the retrieved layer."""
    found = []
    position = len(labels.head(retrieved.code))
    for each in retrieved.chosen:
        passage = each.passage
        place = (passage.document_id, passage.start, passage.end, passage.place)
        start = position + labels.text_offset(retrieved.code, *place)
        found.append(Source(passage, start, start + len(passage.shown_text)))
        position += len(block(retrieved.code, passage))
    return tuple(found)


def _fullness(total: int, most: int, language: str) -> list[ContextWarning]:
    for share, code in ((FULL, "BUDGET_95"), (NEARLY_FULL, "BUDGET_87")):
        if total >= share * most:
            return [ContextWarning(code, retrieval_messages.context_fullness(total, most, language))]
    return []
