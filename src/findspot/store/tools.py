"""Tools in the store."""

from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from findspot.store.schema import tools


async def search_scopes(connection: AsyncConnection, table_id: int) -> list[tuple[str, dict[str, Any]]]:
    """The scopes of a table's search tools, each with the tool's configuration."""
    query = sa.select(tools.c.json_pointer, tools.c.search_config).where(
        tools.c.table_id == table_id, tools.c.type == "search"
    )
    return [(row[0], row[1] or {}) for row in await connection.execute(query)]
