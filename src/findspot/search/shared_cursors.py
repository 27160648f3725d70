"""The cursors of all API processes of a server: any of them answers the next page."""

import logging

from findspot.errors import FindspotError
from findspot.search import ranking_bytes
from findspot.search.kept_rankings import KeptRankings
from findspot.search.paging import Cursor, require_same_search, split_token, unknown_cursor
from findspot.search.request import SearchRequest

log = logging.getLogger(__name__)


class SharedCursors:
    """Cursors as `Cursors` has them, but none stays in memory: another process may have gone on with it.

    Two requests that go on with the same cursor at the same time read the same ranking. The later one is kept.
    """

    def __init__(self, kept: KeptRankings) -> None:
        self._kept = kept

    async def keep(self, cursor: Cursor) -> None:
        """Keep a cursor for another five minutes. If that fails, the page that was found is answered nevertheless."""
        content = ranking_bytes.encode(cursor.ranking)
        try:
            await self._kept.put(cursor.ranking.request.project_id, cursor.name, content)
        except (OSError, FindspotError) as error:
            log.warning("a search cannot be continued, because its ranking could not be kept: %s", error)

    async def find(self, request: SearchRequest, token: str) -> tuple[Cursor, int]:
        """Return the cursor that a token names, and the page that it asks for."""
        name, page = split_token(token)
        content = await self._kept.get(request.project_id, name)
        if content is None:
            raise unknown_cursor()
        cursor = Cursor(ranking_bytes.decode(content), name)
        require_same_search(cursor, request)
        return cursor, page
