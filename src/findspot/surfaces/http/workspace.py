"""Workspace search over HTTP: the channels `search:*` and `embedding:*` of a project's documents."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import msgspec
from fastapi import Request, Response
from pydantic import Field

from findspot.engines.protocol import Vectors
from findspot.errors import FindspotError
from findspot.models import NamespaceKey
from findspot.ranking.scores import Look, Part
from findspot.ranking.workspace import DIGITS, HIDES_BELOW, Shown
from findspot.runtime import messages
from findspot.search import Explanation, Page, Result, SearchRequest, Strategy
from findspot.search.candidates import MAX_CANDIDATES
from findspot.search.counts import HitCounts
from findspot.search.reasons import Reasons, sentence
from findspot.search.request import Sort
from findspot.surfaces.http.body import Body, Text
from findspot.surfaces.http.encoding import framed, timestamp
from findspot.surfaces.http.models import workspace as models
from findspot.surfaces.http.router import Router, access_of, app_of
from findspot.surfaces.http.search_body import Explain, Search, StrategicSearch

api = Router("workspace")


class NoArguments(Body):
    """An empty object."""


class Texts(Body):
    """Texts to embed."""

    texts: Annotated[list[Annotated[Text, Field(min_length=1, max_length=8000)]], Field(min_length=1, max_length=64)]


LANGUAGE = ("Accept-Language",)
SEARCH_ERRORS = (
    "SEARCH_BACKPRESSURE",
    "SEARCH_TIMEOUT",
    "EMBEDDING_DIMENSION_MISMATCH",
    "EMBEDDING_UNAVAILABLE",
    "ENGINE_UNAVAILABLE",
    "INDEX_REBUILDING",
)


@api.post("/api/v1/projects/{project_id}/search/fts/query", headers=LANGUAGE, errors=SEARCH_ERRORS)
async def search_documents_by_keyword(request: Request, project_id: int, body: Search) -> models.SearchPage:
    """`search:fts:query`: search documents by keyword."""
    return await _search(request, project_id, body, Strategy.KEYWORD)


@api.post("/api/v1/projects/{project_id}/embedding/search", headers=LANGUAGE, errors=SEARCH_ERRORS)
async def search_documents_by_meaning(request: Request, project_id: int, body: Search) -> models.SearchPage:
    """`embedding:search`: search documents by meaning."""
    return await _search(request, project_id, body, Strategy.VECTOR)


@api.post("/api/v1/projects/{project_id}/search/query/strategy", headers=LANGUAGE, errors=SEARCH_ERRORS)
async def search_documents(request: Request, project_id: int, body: StrategicSearch) -> models.SearchPage:
    """`search:query:strategy`: search documents by keyword, by meaning, or by both."""
    return await _search(request, project_id, body, Strategy(body.strategy))


@api.post("/api/v1/projects/{project_id}/search/rank/explain", headers=LANGUAGE, errors=SEARCH_ERRORS)
async def explain_rank(
    request: Request, project_id: int, body: Explain
) -> models.RankExplanation | list[models.RankExplanation]:
    """`search:rank:explain`: explain the score of a passage in a hybrid search, or of up to fifty passages at once.
    Passages that do not exist any more are left out of a list."""
    language = access_of(request.scope).language
    search = SearchRequest(project_id, body.query, typing=body.typing, exact=body.exact)
    explainer = app_of(request).explainer
    with notice_of_rebuild(language):
        if body.chunkIds is not None:
            return [_explanation(each, language) for each in await explainer.explain_all(search, body.chunkIds)]
        assert body.documentId is not None
        assert body.chunkId is not None
        return _explanation(await explainer.explain(search, body.documentId, body.chunkId), language)


@api.post("/api/v1/projects/{project_id}/search/fts/reindex", status=202, errors=("SEARCH_CAPACITY_EXCEEDED",))
async def rebuild_keyword_index(request: Request, project_id: int, body: NoArguments) -> models.ReindexJob:
    """`search:fts:reindex`: rebuild the index of the documents. Searches use the old index until it is done."""
    return await _rebuild(request, project_id)


@api.post("/api/v1/projects/{project_id}/embedding/reindex", status=202, errors=("SEARCH_CAPACITY_EXCEEDED",))
async def rebuild_embedding_index(request: Request, project_id: int, body: NoArguments) -> models.ReindexJob:
    """`embedding:reindex`: rebuild the index of the documents; keywords and vectors are in one index. Vectors that were
    calculated before are used again."""
    return await _rebuild(request, project_id)


@api.post("/api/v1/projects/{project_id}/embedding/generate", answer=models.Vectors, errors=SEARCH_ERRORS)
async def embed_texts(request: Request, project_id: int, body: Texts) -> Response:
    """`embedding:generate`: calculate the vectors of texts, normalised to unit length. Nothing is stored."""
    app = app_of(request)
    vectors = await app.workspace_search.embed(project_id, body.texts)
    head = {"model": app.embeddings.embedder.id, "dimensions": int(vectors.shape[1])}
    return framed(head, await asyncio.to_thread(_rows, vectors))


async def _rebuild(request: Request, project_id: int) -> models.ReindexJob:
    key = NamespaceKey(project_id, None)
    position = await app_of(request).index_status.request_rebuild(key)
    return {"jobId": f"rebuild_{key.namespace}", "position": position}


async def _search(request: Request, project_id: int, body: Search, strategy: Strategy) -> models.SearchPage:
    access = access_of(request.scope)
    with notice_of_rebuild(access.language):
        search = body.request(project_id, strategy)
        page = await app_of(request).workspace_search.search(search, body.page, body.cursor, access.index)
    return _page(page, search, access.language)


def _rows(vectors: Vectors) -> list[bytes]:
    """Encode vectors as JSON. One row at a time, since encoding all at once would hold Python's lock for too long."""
    rows = b",".join(msgspec.json.encode(row.tolist()) for row in vectors)
    return [b'"vectors":[', rows, b"]"]


@contextmanager
def notice_of_rebuild(language: messages.Language) -> Iterator[None]:
    """Add a notice in the caller's language to the error that the index is being rebuilt."""
    try:
        yield
    except FindspotError as error:
        if error.code == "INDEX_REBUILDING":
            error.fields["notice"] = messages.rebuilding(language)
        raise


def _page(page: Page, search: SearchRequest, language: messages.Language) -> models.SearchPage:
    answer: models.SearchPage = {
        "results": [_result(each) for each in page.results],
        "total": page.total.count,
        "hasMore": page.has_more,
        "page": page.page,
        "offset": page.offset,
        "cursor": page.cursor,
        "strategy": search.strategy.value,
        "indexState": page.index.state,
        "fallback": page.degraded.fallback if page.degraded else "none",
        "correctedQuery": page.corrected_query,
        "tookMs": round(page.took_ms, 2),
    }
    notices = [messages.workspace_fallback(page.degraded.code, language)] if page.degraded else []
    if page.index.state != "ready":
        answer["indexedDocuments"], answer["totalDocuments"] = page.index.indexed, page.index.total
    if not page.index.is_complete:
        index = page.index
        notices.append(messages.indexing(index.indexed, index.total, language, is_full=index.is_full))
    if page.corrected_query is not None:
        notices.append(messages.corrected(page.corrected_query, language))
    if page.without_phrases:
        notices.append(messages.without_phrases(language))
    if not page.total.exact:
        answer["totalIsLowerBound"] = True
    if page.is_capped:
        notices.append(messages.too_many_matches(MAX_CANDIDATES, language, by_date=search.sort is Sort.DATE))
    if page.degraded:
        answer["code"] = page.degraded.code
    if page.counts:
        answer["counts"] = _counts(page.counts)
    if notices:
        answer["notice"] = " ".join(notices)
    return answer


def _counts(counts: HitCounts) -> models.HitCounts:
    return {
        "byDocument": [
            {
                "documentId": each.document_id,
                "documentTitle": each.title,
                "documentType": each.type,
                "count": each.count,
            }
            for each in counts.documents
        ],
        "byType": [{"type": type, "count": count} for type, count in counts.types],
        "documents": counts.all_documents,
    }


def _result(result: Result) -> models.SearchResult:
    found = result.found
    assert found.chunk.document_id is not None
    assert found.title is not None
    assert found.type is not None
    return {
        "documentId": found.chunk.document_id,
        "documentTitle": found.title,
        "documentType": found.type,
        "path": found.path,
        "line": result.line,
        "column": result.column,
        "chunkId": found.chunk.id,
        "snippet": result.snippet,
        "highlights": [list(each) for each in result.highlights],
        "startOffset": result.start,
        "endOffset": result.end,
        "chunkStart": found.chunk.char_start,
        "chunkEnd": found.chunk.char_end,
        "headingPath": list(found.chunk.context.headings),
        "finalScore": result.score.total,
        "scoreBreakdown": _breakdown(result.score),
        "updatedAt": timestamp(found.updated_at) if found.updated_at else None,
        "duplicates": result.duplicates,
    }


def _breakdown(score: Shown) -> models.ScoreBreakdown:
    return {"bm25": score.keyword, "semantic": score.vector, "recency": score.recency}


def _explanation(explained: Explanation, language: messages.Language) -> models.RankExplanation:
    found, score = explained.found, explained.score
    assert found.chunk.document_id is not None
    assert found.title is not None
    keyword, vector, recency = explained.ranked.parts
    answer: models.RankExplanation = {
        "documentId": found.chunk.document_id,
        "documentTitle": found.title,
        "chunkId": found.chunk.id,
        "headingPath": list(found.chunk.context.headings),
        "finalScore": score.total,
        "scoreBreakdown": _breakdown(score),
        "hidden": explained.is_hidden,
        "bm25": {**_leg(keyword), "allWords": explained.full_match},
        "semantic": _semantic(vector, explained.look),
        "recency": {
            "updatedAt": timestamp(found.updated_at) if found.updated_at else None,
            "ageDays": round(explained.age.total_seconds() / 86_400, 2),
            "normalised": round(recency.norm, DIGITS),
            "weight": round(recency.weight, DIGITS),
        },
        "matchedWords": [{"word": each.word, "weight": round(each.weight, DIGITS)} for each in explained.matched],
        "missingWords": list(explained.coverage.missing),
        "contextWords": list(explained.in_context),
        "explanation": sentence(_reasons(explained), language),
        "fallback": explained.degraded.fallback if explained.degraded else "none",
    }
    if explained.degraded:
        answer["code"] = explained.degraded.code
        answer["notice"] = messages.workspace_fallback(explained.degraded.code, language)
    return answer


def _leg(part: Part) -> models.RankedPart:
    return {
        "raw": None if part.raw is None else round(part.raw, DIGITS),
        "normalised": round(part.norm, DIGITS),
        "weight": round(part.weight, DIGITS),
        "rank": part.rank,
    }


def _semantic(part: Part, look: Look | None) -> models.SemanticPart:
    answer = models.SemanticPart(**_leg(part))  # type: ignore[typeddict-item]
    if look is not None:
        segment, words = (round(each, DIGITS) for each in look)
        answer["closerLook"] = {"bestSegment": segment, "wordSimilarity": words}
    return answer


def _reasons(explained: Explanation) -> Reasons:
    keyword, vector, _ = explained.ranked.parts
    coverage = explained.coverage
    return Reasons(
        coverage.matches,
        coverage.words,
        coverage.characters,
        explained.score.keyword,
        keyword.rank,
        None if vector.raw is None else vector.norm,
        explained.score.vector,
        vector.rank,
        explained.age,
        explained.score.recency,
        explained.score.total,
        explained.score.total < HIDES_BELOW,
        explained.is_left_out,
        explained.degraded is not None,
        coverage.missing,
        explained.in_context,
    )
