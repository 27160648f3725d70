"""Calls of a replace tool: a preview first, then the replace by the preview's id, then perhaps its undo."""

import asyncio
from typing import Annotated, Any

import msgspec

from findspot.agents.budget import fit, summarize_cuts
from findspot.agents.cards import MAX_OFFSET
from findspot.agents.document_calls import scope_of
from findspot.errors import FindspotError, invalid
from findspot.jsontext.check import check
from findspot.jsontext.mismatch import mismatch
from findspot.models import Caller, Tool
from findspot.replacing import messages as replace_messages
from findspot.replacing.execute import Confirmed, Excluded, Execution
from findspot.replacing.preview import PreviewPage, Previews, Scope, stale
from findspot.replacing.rule import MAX_LENGTH, ReplaceRule
from findspot.replacing.undo import undo
from findspot.runtime import messages
from findspot.settings import Settings
from findspot.store import document_scopes
from findspot.store import replaces as replace_rows
from findspot.store.database import Store

_MAX_PAGE = 1_000_000

_Id = Annotated[int, msgspec.Meta(ge=1, le=MAX_OFFSET)]
_Start = Annotated[int, msgspec.Meta(ge=0, le=MAX_OFFSET)]


class _Exclusion(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    document_id: _Id
    start: _Start | None = None


class ReplaceArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What to replace; or, with `preview_id`, what to do with a preview."""

    search: str | None = None
    replace: str | None = None
    case_sensitive: bool = False
    whole_word: bool = False
    regex: bool = False
    preserve_case: bool = False
    document_id: _Id | None = None
    page: int = 1
    preview_id: _Id | None = None
    confirmed: bool = False
    confirmed_risk: bool = False
    exclude: list[_Exclusion] = []
    undo: bool = False

    @property
    def rule(self) -> ReplaceRule:
        return ReplaceRule(
            self.search or "", self.replace or "", self.case_sensitive, self.whole_word, self.regex, self.preserve_case
        )


def read_replace_arguments(text: bytes) -> ReplaceArguments:
    """Parse the arguments. Raise INVALID_ARGUMENT that names the invalid field."""
    try:
        found = msgspec.json.decode(check(text, "arguments", frame=1), type=ReplaceArguments)
    except msgspec.ValidationError as error:
        raise mismatch(error, ReplaceArguments, "arguments") from None
    if not 1 <= found.page <= _MAX_PAGE:
        raise invalid("page", "must be a whole number from 1")
    if found.preview_id is None:
        for name in ("search", "replace"):
            if getattr(found, name) is None:
                raise invalid(name, "is missing; a preview comes first, with 'search' and 'replace'")
        if found.confirmed or found.undo or found.exclude:
            raise invalid("preview_id", "is missing; a replace is executed and undone by the id of its preview")
    elif found.search is not None or found.replace is not None:
        raise invalid("preview_id", "cannot be sent together with 'search' or 'replace'")
    elif found.confirmed and found.undo:
        raise invalid("undo", "cannot be sent together with 'confirmed'")
    for name in ("search", "replace"):
        if len(getattr(found, name) or "") > MAX_LENGTH:
            raise invalid(name, f"must have at most {MAX_LENGTH} characters")
    return found


class ReplaceCalls:
    """Calls replace tools, within the documents that a tool may use."""

    def __init__(self, store: Store, previews: Previews, execution: Execution, settings: Settings) -> None:
        self._store = store
        self._previews = previews
        self._execution = execution
        self._settings = settings

    async def call(self, tool: Tool, arguments: bytes, caller: Caller, language: str) -> bytes:
        """Preview a replace, execute the preview, or undo it. A tool handles only previews of its own."""
        asked = read_replace_arguments(arguments)
        kind = "replace"
        if asked.preview_id is None:
            id = await self._previews.create(asked.rule, await self._scope(tool, asked.document_id), caller)
            answer = await self._page(tool, id, asked.page, language)
        elif asked.undo:
            kind, answer = "edit", await self._undo(tool, asked.preview_id, caller)
        elif asked.confirmed:
            kind, answer = "edit", await self._execute(tool, asked.preview_id, asked, caller, language)
        else:
            answer = await self._page(tool, asked.preview_id, asked.page, language)
        return await asyncio.to_thread(
            fit,
            answer,
            self._settings.answer_tokens,
            lambda cuts: messages.truncated(kind, summarize_cuts(cuts), language),
        )

    async def _scope(self, tool: Tool, document_id: int | None) -> Scope:
        scope = scope_of(tool)
        if scope.is_everything:
            return Scope(tool.project_id, document_id, tool.id)
        async with self._store.read() as connection:
            admitted = await document_scopes.ids(connection, tool.project_id, scope)
        return Scope(tool.project_id, document_id, tool.id, admitted)

    async def _page(self, tool: Tool, preview_id: int, page: int, language: str) -> dict[str, Any]:
        shown = await self._previews.page(tool.project_id, preview_id, page, tool.id)
        preview = shown.preview
        return {
            "preview_id": preview.id,
            "affected_documents": preview.documents,
            "total_matches": preview.matches,
            "items": _items(shown),
            "page": page,
            "has_more": shown.has_more,
            "needs_confirmed_risk": shown.is_risky,
            "skipped": [{"document_id": each.document_id, "reason": each.skipped} for each in shown.skipped],
            "notice": replace_messages.previewed(preview.id, preview.matches, language, risky=shown.is_risky),
        }

    async def _execute(
        self, tool: Tool, preview_id: int, asked: ReplaceArguments, caller: Caller, language: str
    ) -> dict[str, Any]:
        exclude = tuple(Excluded(each.document_id, each.start) for each in asked.exclude)
        confirmed = Confirmed(preview_id, asked.confirmed_risk, exclude, tool.id)
        await self._require_admitted(tool, preview_id)
        try:
            outcome = await self._execution.execute(tool.project_id, confirmed, caller)
        except FindspotError as error:
            raise _named_as_argument(error) from None
        return {
            "preview_id": preview_id,
            "replaced_count": outcome.replaced,
            "affected_document_count": len(outcome.version_ids),
            "version_ids": outcome.version_ids,
            "skipped": [{"document_id": id, "reason": reason} for id, reason in outcome.skipped],
            "notice": replace_messages.executed(preview_id, language),
        }

    async def _require_admitted(self, tool: Tool, preview_id: int) -> None:
        """Raise REPLACE_PREVIEW_STALE if the tool may no longer use a document of the preview."""
        admitted = (await self._scope(tool, None)).admitted
        if admitted is None:
            return
        async with self._store.read() as connection:
            found = await replace_rows.matching_documents(connection, preview_id)
        if not found <= admitted:
            raise stale()

    async def _undo(self, tool: Tool, preview_id: int, caller: Caller) -> dict[str, Any]:
        work = asyncio.ensure_future(undo(self._store, tool.project_id, preview_id, caller, tool.id))
        undone = await asyncio.shield(work)  # a change is finished, even if the caller has left
        return {
            "preview_id": preview_id,
            "restored_count": undone.replaced,
            "restored_document_count": len(undone.version_ids),
            "version_ids": undone.version_ids,
            "skipped": [{"document_id": id, "reason": reason} for id, reason in undone.skipped],
        }


def _named_as_argument(error: FindspotError) -> FindspotError:
    """Return an error about the missing confirmation with the name that the argument has here."""
    if error.fields.get("field") != "confirmedRisk":
        return error
    return invalid("confirmed_risk", error.message.removeprefix("confirmedRisk: "))


def _items(page: PreviewPage) -> list[dict[str, Any]]:
    return [
        {
            "document_id": each.document_id,
            "title": each.title,
            "match_count": each.count,
            "changed": each.is_changed,
            "matches": [msgspec.structs.asdict(match) for match in each.matches],
        }
        for each in page.items
    ]
