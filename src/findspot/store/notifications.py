"""Hears of work for the index while it is saved, whichever process or program saves it. PostgreSQL only."""

import contextlib
from collections.abc import AsyncGenerator
from typing import Any

from findspot.errors import FindspotError
from findspot.store.database import Store

CHANNEL = "findspot_work"  # triggers notify it when a source is pending, a chunk is deleted, or a request is made
_PROBE_S = 30.0  # how often to ask whether the server is still there: a connection may be cut without a sign


async def listen(store: Store) -> AsyncGenerator[None, None]:
    """Yield once when connected, then after each change and each probe. Raise STORE_UNAVAILABLE if the connection is
    lost."""
    from psycopg import OperationalError  # here, because most installations never need it

    async with store.session() as connection:
        await connection.exec_driver_sql(f"LISTEN {CHANNEL}")
        yield
        driver: Any = (await connection.get_raw_connection()).driver_connection
        while True:
            try:
                async with contextlib.aclosing(driver.notifies(timeout=_PROBE_S)) as notifications:
                    async for _ in notifications:
                        yield
            except OperationalError as error:
                raise FindspotError("STORE_UNAVAILABLE", "The connection to the database was lost.") from error
            await connection.exec_driver_sql("SELECT 1")
            yield  # a change may have been announced during the probe
