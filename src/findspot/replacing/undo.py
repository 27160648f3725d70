"""Undoing a replace: every document that did not change since gets its old content back, in one transaction."""

from findspot.errors import not_found
from findspot.models import Caller
from findspot.store import replaces as rows
from findspot.store.database import Store
from findspot.store.replaces import Change


class Undone:
    """What an undo did. Repeating it changes nothing and returns the same."""

    def __init__(self, changes: list[Change]) -> None:
        self._changes = [each for each in changes if each.version_id is not None]

    @property
    def replaced(self) -> int:
        """How many replacements were taken back."""
        return sum(each.replaced for each in self._changes if each.undo_version_id is not None)

    @property
    def version_ids(self) -> list[int]:
        return [each.undo_version_id for each in self._changes if each.undo_version_id is not None]

    @property
    def skipped(self) -> list[tuple[int, str]]:
        return [(each.document_id, each.undo_skipped) for each in self._changes if each.undo_skipped is not None]


async def undo(store: Store, project_id: int, preview_id: int, caller: Caller, tool_id: int | None = None) -> Undone:
    """Put back every document that a replace changed and nobody changed since. The others are reported.

    The replaced content is kept as a version, as with every restore. An undo cannot be undone; a new replace can be
    made instead.
    """
    async with store.write() as connection:
        replace = await rows.get(connection, project_id, preview_id)
        is_mine = replace is not None and (tool_id is None or replace.tool_id == tool_id)
        if replace is None or not is_mine or replace.executed_at is None:
            raise not_found("replace")
        await rows.undo(connection, project_id, preview_id, caller)
    async with store.read() as connection:  # afterwards, so that other writers wait no longer than needed
        return Undone(await rows.changes(connection, preview_id))
