"""Workspace search over HTTP: the channels `search:*` and `embedding:*` of a project's documents."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any, Literal

import msgspec
from fastapi import Request, Response
from pydantic import Field

from findspot.app import App
from findspot.engines.protocol import EVERYTHING, Vectors, Within
from findspot.errors import FindspotError
from findspot.models import NamespaceKey
from findspot.ranking.scores import Part
from findspot.ranking.workspace import DIGITS, HIDES_BELOW, Shown
from findspot.runtime import messages
from findspot.search import Explanation, Page, Result, SearchRequest, Strategy
from findspot.search.candidates import MAX_CANDIDATES
from findspot.search.reasons import Reasons, sentence
from findspot.surfaces.http.answers import encoded, framed, moment
from findspot.surfaces.http.body import Body, Text
from findspot.surfaces.http.router import router

api = router("workspace")

_Id = Annotated[int, Field(ge=1, lt=10**18)]


class Search(Body):
    """A search: `page` counts from 1, and a `cursor` keeps one ranking for those who read on."""

    query: Text
    page: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    cursor: Annotated[str, Field(max_length=64)] | None = None
    documentIds: Annotated[list[_Id], Field(max_length=10_000)] | None = None
    includeLowScores: bool = False
    typing: bool = False


class StrategicSearch(Search):
    strategy: Literal["fts", "semantic", "hybrid"]


class Nothing(Body):
    """A call that needs no more than its address."""


class Texts(Body):
    """Texts to embed."""

    texts: Annotated[list[Annotated[Text, Field(min_length=1, max_length=8000)]], Field(min_length=1, max_length=64)]


class Explain(Body):
    query: Text
    documentId: _Id
    chunkId: _Id
    typing: bool = False


@api.post("/api/v1/projects/{project_id}/search/fts/query")
async def search_by_words(request: Request, project_id: int, body: Search) -> Response:
    """`search:fts:query`: search documents by keyword."""
    return await _searched(request, project_id, body, Strategy.KEYWORD)


@api.post("/api/v1/projects/{project_id}/embedding/search")
async def search_by_meaning(request: Request, project_id: int, body: Search) -> Response:
    """`embedding:search`: search documents by meaning."""
    return await _searched(request, project_id, body, Strategy.VECTOR)


@api.post("/api/v1/projects/{project_id}/search/query/strategy")
async def search_by_strategy(request: Request, project_id: int, body: StrategicSearch) -> Response:
    """`search:query:strategy`: search documents by keyword, by meaning, or by both."""
    return await _searched(request, project_id, body, Strategy(body.strategy))


@api.post("/api/v1/projects/{project_id}/search/rank/explain")
async def explain_rank(request: Request, project_id: int, body: Explain) -> dict[str, Any]:
    """`search:rank:explain`: why a passage has the score it has in a hybrid search."""
    app: App = request.app.state.app
    language = _language(request)
    with _noted(language):
        search = SearchRequest(project_id, body.query, typing=body.typing)
        explained = await app.explainer.explain(search, body.documentId, body.chunkId)
    return _explanation(explained, language)


@api.post("/api/v1/projects/{project_id}/search/fts/reindex", status_code=202)
async def reindex_words(request: Request, project_id: int, body: Nothing) -> dict[str, Any]:
    """`search:fts:reindex`: build the index of the documents anew. The one in service answers meanwhile."""
    return await _reindexed(request, project_id)


@api.post("/api/v1/projects/{project_id}/embedding/reindex", status_code=202)
async def reindex_meanings(request: Request, project_id: int, body: Nothing) -> dict[str, Any]:
    """`embedding:reindex`: the same; words and vectors stand in one index. What was embedded before is not again."""
    return await _reindexed(request, project_id)


@api.post("/api/v1/projects/{project_id}/embedding/generate")
async def embed(request: Request, project_id: int, body: Texts) -> Response:
    """`embedding:generate`: the vectors of some texts, of length 1. Nothing is kept."""
    app: App = request.app.state.app
    vectors = await app.table_search.embed(project_id, body.texts)
    head = {"model": app.embeddings.embedder.id, "dimensions": int(vectors.shape[1])}
    return framed(head, await asyncio.to_thread(_rows, vectors))


async def _reindexed(request: Request, project_id: int) -> dict[str, Any]:
    app: App = request.app.state.app
    place = NamespaceKey(project_id, None)
    position = await app.index_status.request_rebuild(place)
    return {"jobId": f"rebuild_{place.namespace}", "position": position}


async def _searched(request: Request, project_id: int, body: Search, strategy: Strategy) -> Response:
    app: App = request.app.state.app
    language = _language(request)
    within = EVERYTHING if body.documentIds is None else Within(document_ids=frozenset(body.documentIds))
    search = SearchRequest(
        project_id, body.query, strategy, within=within, typing=body.typing, low_scores=body.includeLowScores
    )
    with _noted(language):
        page = await app.workspace_search.search(search, body.page, body.cursor)
    return encoded(_page(page, strategy, language))


def _rows(vectors: Vectors) -> list[bytes]:
    """A row at a time: all of them at once would keep Python's lock, and everyone, for too long."""
    rows = b",".join(msgspec.json.encode(row.tolist()) for row in vectors)
    return [b'"vectors":[', rows, b"]"]


def _language(request: Request) -> messages.Language:
    return messages.language(request.headers.get("accept-language"))


@contextmanager
def _noted(language: messages.Language) -> Iterator[None]:
    """An index that is being rebuilt is told in the caller's language too."""
    try:
        yield
    except FindspotError as error:
        if error.code == "INDEX_REBUILDING":
            error.fields["notice"] = messages.rebuilding(language)
        raise


def _page(page: Page, strategy: Strategy, language: messages.Language) -> dict[str, Any]:
    answer: dict[str, Any] = {
        "results": [_result(each) for each in page.results],
        "total": page.total.count,
        "hasMore": page.has_more,
        "page": page.page,
        "offset": page.offset,
        "cursor": page.cursor,
        "strategy": strategy,
        "indexState": "rebuilding" if page.rebuilding else "ready",
        "fallback": page.degraded.fallback if page.degraded else "none",
    }
    said = [messages.workspace_fallback(page.degraded.code, language)] if page.degraded else []
    if not page.total.exact:
        answer["totalIsLowerBound"] = True
    if page.is_capped:
        said.append(messages.too_many_matches(MAX_CANDIDATES, language))
    if page.degraded:
        answer["code"] = page.degraded.code
    if said:
        answer["notice"] = " ".join(said)
    return answer | {"tookMs": round(page.took_ms, 2)}


def _result(result: Result) -> dict[str, Any]:
    found = result.found
    return {
        "documentId": found.chunk.document_id,
        "documentTitle": found.title,
        "documentType": found.type,
        "chunkId": found.chunk.id,
        "snippet": result.snippet,
        "highlights": [list(each) for each in result.highlights],
        "startOffset": result.start,
        "endOffset": result.end,
        "chunkStart": found.chunk.char_start,
        "chunkEnd": found.chunk.char_end,
        "finalScore": result.score.total,
        "scoreBreakdown": _breakdown(result.score),
        "updatedAt": moment(found.updated_at) if found.updated_at else None,
    }


def _breakdown(score: Shown) -> dict[str, float]:
    return {"bm25": score.keyword, "semantic": score.vector, "recency": score.recency}


def _explanation(explained: Explanation, language: messages.Language) -> dict[str, Any]:
    found, score = explained.found, explained.score
    keyword, vector, recency = explained.ranked.parts
    answer: dict[str, Any] = {
        "documentId": found.chunk.document_id,
        "documentTitle": found.title,
        "chunkId": found.chunk.id,
        "finalScore": score.total,
        "scoreBreakdown": _breakdown(score),
        "hidden": explained.is_hidden,
        "bm25": _leg(keyword) | {"allWords": explained.full_match},
        "semantic": _leg(vector),
        "recency": {
            "updatedAt": moment(found.updated_at) if found.updated_at else None,
            "ageDays": round(explained.age.total_seconds() / 86_400, 2),
            "normalised": round(recency.norm, DIGITS),
            "weight": round(recency.weight, DIGITS),
        },
        "matchedWords": [{"word": each.word, "weight": round(each.weight, DIGITS)} for each in explained.matched],
        "explanation": sentence(_reasons(explained), language),
        "fallback": explained.degraded.fallback if explained.degraded else "none",
    }
    if explained.degraded:
        code = explained.degraded.code
        answer |= {"code": code, "notice": messages.workspace_fallback(code, language)}
    return answer


def _leg(part: Part) -> dict[str, Any]:
    return {
        "raw": None if part.raw is None else round(part.raw, DIGITS),
        "normalised": round(part.norm, DIGITS),
        "weight": round(part.weight, DIGITS),
        "rank": part.rank,
    }


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
    )
