"""Search and replace over HTTP: the channels `search:match` and `search:replace:*` of a project's documents."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from typing import Annotated, Any, Literal, Self

import msgspec
from fastapi import Request, Response
from fastapi.responses import StreamingResponse
from pydantic import AfterValidator, Field, WithJsonSchema, model_validator

from findspot.errors import FindspotError, invalid
from findspot.replacing import messages
from findspot.replacing.execute import Confirmed, Excluded, Outcome
from findspot.replacing.preview import PreviewPage, Scope
from findspot.replacing.rule import MAX_LENGTH, ReplaceRule
from findspot.replacing.undo import undo
from findspot.runtime.messages import Language
from findspot.store import replaces as rows
from findspot.store.replaces import Past
from findspot.surfaces.http.body import Body, Text
from findspot.surfaces.http.encoding import encoded, timestamp
from findspot.surfaces.http.models import replacing as models
from findspot.surfaces.http.router import Media, Router, access_of, app_of
from findspot.surfaces.http.workspace import LANGUAGE

api = Router("replacing")

LISTED = 50  # replaces in one list
_NDJSON = "application/x-ndjson"


def _must_be_true(confirmed: bool) -> bool:
    if not confirmed:
        raise ValueError("must be true")
    return confirmed


_Id = Annotated[int, Field(ge=1, lt=10**18)]
# Literal[True] would accept 1 and 1.0, which equal True.
_Confirmed = Annotated[bool, AfterValidator(_must_be_true), WithJsonSchema({"type": "boolean", "const": True})]
_Search = Annotated[Text, Field(min_length=1, max_length=MAX_LENGTH)]
_Replace = Annotated[Text, Field(max_length=MAX_LENGTH)]


class Match(Body):
    """What an editor searches for in a document."""

    documentId: _Id
    search: _Search
    caseSensitive: bool = False
    wholeWord: bool = False
    regex: bool = False

    def rule(self) -> ReplaceRule:
        return ReplaceRule(self.search, "", self.caseSensitive, self.wholeWord, self.regex)


class WantedReplace(Body):
    """What to replace and where. With `previewId`, and nothing else but `page`, another page of that preview.

    Without it, a new preview is made, and `page` of it is shown.
    """

    search: _Search | None = None
    replace: _Replace | None = None
    caseSensitive: bool = False
    wholeWord: bool = False
    regex: bool = False
    preserveCase: bool = False
    scope: Literal["document", "project"] | None = None
    documentId: _Id | None = None
    previewId: _Id | None = None
    page: Annotated[int, Field(ge=1, le=1_000_000)] = 1

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        if self.previewId is not None:
            others = self.model_fields_set - {"previewId", "page"}
            if others:
                raise invalid(min(others), "cannot be sent together with previewId")
            return self
        for name in ("search", "replace", "scope"):
            if getattr(self, name) is None:
                raise invalid(name, "is required")
        if (self.scope == "document") != (self.documentId is not None):
            raise invalid("documentId", "is required" if self.scope == "document" else "needs the scope 'document'")
        return self

    def rule(self) -> ReplaceRule:
        return ReplaceRule(
            self.search or "", self.replace or "", self.caseSensitive, self.wholeWord, self.regex, self.preserveCase
        )


class Exclusion(Body):
    """A match that starts at `start` and stays as it is; without `start`, every match of the document."""

    documentId: _Id
    start: Annotated[int, Field(ge=0, lt=10**12)] | None = None


class Execute(Body):
    """A preview to execute. An empty replacement, or more than 1,000 matches, needs `confirmedRisk`."""

    previewId: _Id
    confirmed: _Confirmed
    confirmedRisk: bool = False
    exclude: Annotated[list[Exclusion], Field(max_length=20_000)] = Field(default_factory=list)


class Undo(Body):
    """The preview whose replace is undone."""

    previewId: _Id


class List(Body):
    """Which replaces to list: those before the preview with this id, or the newest ones."""

    before: _Id | None = None


@api.post("/api/v1/projects/{project_id}/search/match")
async def find_in_document(request: Request, project_id: int, body: Match) -> models.DocumentMatches:
    """`search:match`: find what an editor marks in a document, by the rules of a replace."""
    found, truncated = await app_of(request).editor_matches.find(project_id, body.documentId, body.rule())
    return {"matches": [{"start": start, "end": end} for start, end in found], "truncated": truncated}


@api.post("/api/v1/projects/{project_id}/search/replace/preview", headers=LANGUAGE, errors=("REPLACE_PREVIEW_STALE",))
async def preview_replace(request: Request, project_id: int, body: WantedReplace) -> models.ReplacePreview:
    """`search:replace:preview`: list what a replace would change in a document or in all documents. Nothing changes."""
    app, id = app_of(request), body.previewId
    if id is None:
        scope = Scope(project_id, body.documentId)
        id = await app.previews.create(body.rule(), scope, access_of(request.scope).caller)
    return _preview(await app.previews.page(project_id, id, body.page), access_of(request.scope).language)


@api.post(
    "/api/v1/projects/{project_id}/search/replace/execute",
    headers=LANGUAGE,
    errors=("REPLACE_PREVIEW_STALE",),
    answer=Media({"application/json": models.ReplaceOutcome, _NDJSON: models.ReplaceProgress}),
)
async def execute_replace(request: Request, project_id: int, body: Execute) -> Response:
    """`search:replace:execute`: replace the matches of a preview in one step, and keep a version of every document.

    Documents that changed since the preview are skipped. With `Accept: application/x-ndjson`, the answer is lines of
    progress, and the outcome is in the last one.
    """
    app, access = app_of(request), access_of(request.scope)
    caller, language = access.caller, access.language
    exclude = tuple(Excluded(each.documentId, each.start) for each in body.exclude)
    confirmed = Confirmed(body.previewId, body.confirmedRisk, exclude)
    if _NDJSON not in request.headers.get("accept", ""):
        return encoded(_outcome(await app.execution.execute(project_id, confirmed, caller), language))
    steps: asyncio.Queue[tuple[int, int]] = asyncio.Queue()
    await app.execution.check(project_id, confirmed)  # so that a bad request has its status
    work = asyncio.ensure_future(
        app.execution.execute(project_id, confirmed, caller, lambda *step: steps.put_nowait(step))
    )
    return StreamingResponse(_lines(work, steps, language), media_type=_NDJSON)


@api.post("/api/v1/projects/{project_id}/search/replace/undo", headers=LANGUAGE)
async def undo_replace(request: Request, project_id: int, body: Undo) -> models.UndoOutcome:
    """`search:replace:undo`: put back every document that a replace changed and nobody changed since."""
    access = access_of(request.scope)
    undone = await undo(app_of(request).store, project_id, body.previewId, access.caller)
    count, skipped = len(undone.version_ids), _skipped(undone.skipped)
    return {
        "restoredCount": undone.replaced,
        "restoredDocumentCount": count,
        "versionIds": undone.version_ids,
        "skipped": skipped,
        "notice": messages.undone(count, len(skipped), access.language),
    }


@api.post("/api/v1/projects/{project_id}/search/replace/list")
async def list_replaces(request: Request, project_id: int, body: List) -> models.PastReplaces:
    """`search:replace:list`: list the replaces that were executed, newest first, and what can be undone."""
    async with app_of(request).store.read() as connection:
        found = await rows.past(connection, project_id, body.before, LISTED + 1)
    shown = found[:LISTED]
    return {"replaces": [_past(each) for each in shown], "before": shown[-1].replace.id if found[LISTED:] else None}


async def _lines(
    work: asyncio.Future[Outcome], steps: asyncio.Queue[tuple[int, int]], language: Language
) -> AsyncIterator[bytes]:
    """Yield the progress of a replace, then its outcome or its error. The replace goes on if nobody reads this."""
    step = (0, 0)
    work.add_done_callback(lambda _: steps.put_nowait((-1, 0)))
    while (next_step := await steps.get())[0] >= 0:
        step = next_step
        yield _line({"done": step[0], "total": step[1]})
    head = {"done": step[0], "total": step[1]}
    try:
        yield _line({**head, "outcome": _outcome(await work, language)})
    except FindspotError as error:
        yield _line({**head, "error": error.body()})


def _line(value: Mapping[str, Any]) -> bytes:
    return msgspec.json.encode(value) + b"\n"


def _preview(page: PreviewPage, language: Language) -> models.ReplacePreview:
    preview = page.preview
    return {
        "previewId": preview.id,
        "affectedDocuments": preview.documents,
        "totalMatches": preview.matches,
        "items": [
            {
                "documentId": each.document_id,
                "documentTitle": each.title,
                "matchCount": each.count,
                "changed": each.is_changed,
                "matches": [
                    {
                        "start": match.start,
                        "end": match.end,
                        "before": match.before,
                        "after": match.after,
                        "leading": match.leading,
                        "trailing": match.trailing,
                    }
                    for match in each.matches
                ],
            }
            for each in page.items
        ],
        "page": page.page,
        "hasMore": page.has_more,
        "needsConfirmedRisk": page.is_risky,
        "expiresAt": timestamp(preview.expires_at),
        "skipped": _skipped((each.document_id, each.skipped or "") for each in page.skipped),
        "notice": messages.found(preview.documents, preview.matches, language),
    }


def _outcome(outcome: Outcome, language: Language) -> models.ReplaceOutcome:
    return {
        "replacedCount": outcome.replaced,
        "affectedDocumentCount": len(outcome.version_ids),
        "versionIds": outcome.version_ids,
        "skipped": _skipped(outcome.skipped),
        "notice": messages.done(outcome.replaced, len(outcome.skipped), language),
    }


def _skipped(skipped: Iterable[tuple[int, str]]) -> list[models.SkippedDocument]:
    return [{"documentId": id, "reason": reason} for id, reason in skipped]


def _past(past: Past) -> models.PastReplace:
    replace = past.replace
    rule = ReplaceRule(**replace.rule)
    assert replace.executed_at is not None
    return {
        "previewId": replace.id,
        "search": rule.search,
        "replace": rule.replace,
        "caseSensitive": rule.case_sensitive,
        "wholeWord": rule.whole_word,
        "regex": rule.regex,
        "preserveCase": rule.preserve_case,
        "scope": "project" if replace.document_id is None else "document",
        "documentId": replace.document_id,
        "replacedCount": past.replaced,
        "affectedDocumentCount": past.changed,
        "undoableDocumentCount": past.undoable,
        "executedAt": timestamp(replace.executed_at),
        "executedBy": replace.executed_by or "",
        "undoneAt": timestamp(replace.undone_at) if replace.undone_at else None,
        "undoneBy": replace.undone_by,
    }
