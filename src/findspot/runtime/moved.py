"""Refuses to use a database that was moved away, or that is still being filled by a move."""

from findspot.errors import FindspotError
from findspot.store import moves
from findspot.store.database import Store


async def require_usable(store: Store) -> None:
    """Raise STORE_UNAVAILABLE if the database was moved away, or is still being filled."""
    async with store.read() as connection:
        away, filling = await moves.get(connection, moves.SOURCE), await moves.get(connection, moves.TARGET)
    if away is not None and away.state == moves.MOVED:
        raise FindspotError(
            "STORE_UNAVAILABLE",
            f"This installation was moved to {away.peer}. Start the server there. 'findspot migrate --cancel' undoes "
            "the move and loses what was saved there since.",
        )
    if filling is not None:
        raise FindspotError(
            "STORE_UNAVAILABLE",
            f"This database is being filled from {filling.peer} by 'findspot migrate'. Run that to its end first.",
        )
