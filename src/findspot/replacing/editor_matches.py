"""The matches in one document, for an editor that marks them."""

from findspot.errors import not_found
from findspot.replacing import contents
from findspot.replacing.rule import ReplaceRule
from findspot.runtime.helpers import Helpers
from findspot.runtime.memory import MemoryBudget
from findspot.store import documents as document_rows
from findspot.store.database import Store

MAX_RANGES = 10_000
_COPIES = 2


class EditorMatches:
    """Finds what an editor marks, by the rules of a replace."""

    def __init__(self, store: Store, helpers: Helpers, memory: MemoryBudget) -> None:
        self._store = store
        self._helpers = helpers
        self._memory = memory

    async def find(self, project_id: int, document_id: int, rule: ReplaceRule) -> tuple[list[tuple[int, int]], bool]:
        """Return the ranges that match in the document's text, and whether there are more than are returned."""
        async with self._store.lookup() as reader:
            document = await document_rows.get(reader, document_id)
            size = await document_rows.size_of(reader, document_id)
        if document is None or document.project_id != project_id:
            raise not_found("document")
        async with self._memory.hold(size * _COPIES):
            async with self._store.read() as connection:
                loaded = await document_rows.load(connection, document_id)
            if loaded is None:
                raise not_found("document")
            document, content = loaded
            limit = MAX_RANGES + 1
            found = await self._helpers.run(project_id, contents.ranges, rule, document.format, limit, content)
        return found[:MAX_RANGES], len(found) > MAX_RANGES
