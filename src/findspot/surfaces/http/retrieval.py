"""Retrieval for generation over HTTP: the channels `rag:*` and `context:*` of a project."""

from collections.abc import Iterable
from typing import cast

from fastapi import Request

from findspot.errors import FindspotError, invalid
from findspot.retrieval import AssembledContext, Retrieved
from findspot.retrieval import messages as retrieval_messages
from findspot.retrieval.budget import Chosen
from findspot.retrieval.context import Layer, Source
from findspot.retrieval.hidden import hidden_characters
from findspot.retrieval.redaction import Redaction
from findspot.runtime import messages
from findspot.store.retrieval_configs import RetrievalConfig
from findspot.surfaces.http.encoding import timestamp
from findspot.surfaces.http.models import retrieval as models
from findspot.surfaces.http.retrieval_body import Assemble, ConfigChange, Retrieve
from findspot.surfaces.http.router import Router, access_of, app_of
from findspot.surfaces.http.workspace import LANGUAGE, SEARCH_ERRORS, NoArguments, notice_of_rebuild

api = Router("retrieval")


@api.post("/api/v1/projects/{project_id}/rag/retrieve", headers=LANGUAGE, errors=SEARCH_ERRORS)
async def retrieve_passages(request: Request, project_id: int, body: Retrieve) -> models.Retrieval:
    """`rag:retrieve`: passages for a language model, for a query or for the text around a cursor. They fit the token
    budget and have placeholders for private values. An empty list is a normal answer."""
    language = access_of(request.scope).language
    with notice_of_rebuild(language):
        found = await app_of(request).retriever.retrieve(body.retrieval(project_id, body.maxTokens))
    return _retrieval(found, language)


@api.post("/api/v1/projects/{project_id}/rag/config/get")
async def get_retrieval_config(request: Request, project_id: int, body: NoArguments) -> models.RetrievalConfig:
    """`rag:config:get`: the retrieval configuration of the project."""
    return _config(await app_of(request).retrieval_configs.get(project_id))


@api.post("/api/v1/projects/{project_id}/rag/config/update")
async def update_retrieval_config(request: Request, project_id: int, body: ConfigChange) -> models.RetrievalConfig:
    """`rag:config:update`: change the retrieval configuration of the project. Who changed it and when is recorded."""
    caller = access_of(request.scope).caller
    try:
        return _config(await app_of(request).retrieval_configs.update(project_id, body.changes(), caller))
    except FindspotError as error:
        raise _named_as_sent(error) from None


@api.post(
    "/api/v1/projects/{project_id}/context/assemble",
    headers=LANGUAGE,
    errors=(*SEARCH_ERRORS, "CONTEXT_RULES_OVERBUDGET"),
)
async def assemble_context(request: Request, project_id: int, body: Assemble) -> models.AssembledContext:
    """`context:assemble`: the context of a prompt from rules, settings, retrieved passages and the immediate text,
    trimmed to a token budget. A layer that fails becomes a warning."""
    language = access_of(request.scope).language
    found = await app_of(request).context_assembler.assemble(body.request(project_id), language)
    return _context(found, body.maxTokens)


def _named_as_sent(error: FindspotError) -> FindspotError:
    """Return an error about a redaction rule with the name that its field has in the body."""
    for own, sent in (("patterns", "redactionPatterns"), ("allowed", "redactionAllowed")):
        field = str(error.fields.get("field", ""))
        if error.code == "INVALID_ARGUMENT" and field.startswith(own):
            return invalid(field.replace(own, sent, 1), error.message.removeprefix(f"{field}: "))
    return error


def _retrieval(found: Retrieved, language: messages.Language) -> models.Retrieval:
    selected = found.selected
    answer: models.Retrieval = {
        "chunks": [_chunk(each, language) for each in selected.chosen],
        "usedTokens": selected.used_tokens,
        "maxTokens": found.limits.max_tokens,
        "truncated": selected.truncated,
        "dropped": [{"chunkId": each.chunk_id, "reason": each.reason} for each in selected.dropped],
        "redactions": found.redactions,
        "fallback": found.degraded.fallback if found.degraded else "none",
        "tookMs": round(found.took_ms, 2),
    }
    notices = [messages.workspace_fallback(found.degraded.code, language)] if found.degraded else []
    if found.degraded:
        answer["code"] = found.degraded.code
    if not found.index.is_complete:
        index = found.index
        notices.append(messages.indexing(index.indexed, index.total, language, is_full=index.is_full))
    if found.corrected_query is not None:
        answer["correctedQuery"] = found.corrected_query
        notices.append(messages.corrected(found.corrected_query, language))
    if notices:
        answer["notice"] = " ".join(notices)
    return answer


def _chunk(chosen: Chosen, language: messages.Language) -> models.RetrievedChunk:
    passage = chosen.passage
    return {
        "documentId": passage.document_id,
        "documentTitle": passage.context.title,
        "path": passage.path,
        "line": passage.line,
        "headingPath": list(passage.context.headings),
        "chunkId": passage.chunk_id,
        "chunkIds": list(passage.chunk_ids),
        "text": passage.shown_text,
        "score": passage.score,
        "startOffset": passage.start,
        "endOffset": passage.end,
        "tokens": chosen.tokens,
        "reason": retrieval_messages.related_by(passage.meaning, passage.words, language),
        "redactions": _redactions(passage.own_redactions),
        "hiddenCharacters": [
            cast(models.HiddenCharacter, {"offset": each.offset, "codePoint": each.code_point, "kind": each.kind})
            for each in hidden_characters(passage.text, passage.start)
        ],
    }


def _redactions(found: Iterable[Redaction]) -> list[models.RedactedRange]:
    return [
        {"kind": each.kind, "placeholder": each.placeholder, "startOffset": each.start, "endOffset": each.end}
        for each in found
    ]


def _config(config: RetrievalConfig) -> models.RetrievalConfig:
    return {
        "topK": config.top_k,
        "minScore": config.min_score,
        "maxTokens": config.max_tokens,
        "redactionPatterns": [{"kind": kind, "pattern": pattern} for kind, pattern in config.redaction_patterns],
        "redactionAllowed": list(config.redaction_allowed),
        "changedBy": config.changed_by,
        "changedAt": timestamp(config.changed_at) if config.changed_at else None,
    }


def _context(found: AssembledContext, most: int) -> models.AssembledContext:
    return {
        "layers": [_layer(each) for each in found.layers],
        "totalTokens": found.total_tokens,
        "maxTokens": most,
        "stablePrefixHash": found.stable_prefix_hash,
        "warnings": [
            cast(
                models.ContextWarning,
                {"code": each.code, "message": each.message} | ({"layer": each.layer.value} if each.layer else {}),
            )
            for each in found.warnings
        ],
    }


def _layer(layer: Layer) -> models.ContextLayer:
    return {
        "name": layer.name.value,
        "text": layer.text,
        "tokens": layer.tokens,
        "sources": [_source(each) for each in layer.sources],
    }


def _source(source: Source) -> models.LayerSource:
    passage = source.passage
    return {
        "documentId": passage.document_id,
        "documentTitle": passage.context.title,
        "chunkId": passage.chunk_id,
        "startOffset": passage.start,
        "endOffset": passage.end,
        "textStart": source.text_start,
        "textEnd": source.text_end,
        "redactions": _redactions(passage.own_redactions),
    }
