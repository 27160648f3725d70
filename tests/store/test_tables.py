"""Rows of JSON tables, on both databases."""

import json

from findspot.app import App
from findspot.store import tables as rows
from findspot.store.owners import Owned, project_of
from findspot.store.tables import PIECE
from tests.agents.tools import make_table


async def test_pieces_of_a_text_are_read_by_number_at_one_revision(app: App) -> None:
    value = ["月" * PIECE]
    table, text = await make_table(app, value), json.dumps(value, ensure_ascii=False).encode()
    async with app.store.lookup() as connection:
        found = await connection.run_sync(rows.read_pieces, table.id, table.revision, [1, 3, 9])
        assert found == {number: text[number * PIECE : (number + 1) * PIECE] for number in (1, 3)}
        assert await connection.run_sync(rows.read_pieces, table.id, table.revision + 1, [1, 3]) == {}
        assert await connection.run_sync(project_of, Owned.TABLE, table.id) == table.project_id
    async with app.store.write() as connection:
        await rows.hide(connection, table.id)
    async with app.store.lookup() as connection:
        assert await connection.run_sync(project_of, Owned.TABLE, table.id) is None
