"""Sessions: browsers in which the owner is signed in. Each has a random id, an expiry, and can be ended."""

import hashlib
import hmac
import secrets
from collections.abc import Collection
from datetime import UTC, datetime, timedelta

from findspot.models import OWNER, Caller
from findspot.store import sessions as rows
from findspot.store.database import Store

LIFETIME = timedelta(days=30)


class Sessions:
    """Starts, recognises and ends sessions."""

    def __init__(self, store: Store, token: str) -> None:
        self._store = store
        self._token = token.encode()

    def hashed(self, session_id: str) -> str:
        """Return the hash that is stored. It is keyed by the owner's token, so a new token ends all sessions."""
        sent = session_id.encode(errors="surrogatepass")  # a cookie may hold any character
        return hmac.new(self._token, b"session:" + sent, hashlib.sha256).hexdigest()

    async def start(self) -> str:
        """Start a session and return its id, which cannot be shown again. Expired sessions are deleted."""
        session_id, now = secrets.token_urlsafe(32), datetime.now(UTC)
        async with self._store.write() as connection:
            await rows.delete_expired(connection, now)
            await rows.add(connection, self.hashed(session_id), now + LIFETIME)
        return session_id

    async def identify(self, session_id: str) -> Caller | None:
        """Return the owner if the session is valid."""
        async with self._store.lookup(one=True) as connection:
            found = await rows.valid(connection, [self.hashed(session_id)], datetime.now(UTC))
        return OWNER if found else None

    async def valid(self, hashes: Collection[str]) -> set[str]:
        """Return those of the hashes whose session has neither ended nor expired."""
        async with self._store.read() as connection:
            return await rows.valid(connection, hashes, datetime.now(UTC))

    async def end(self, session_id: str) -> None:
        async with self._store.write() as connection:
            await rows.delete(connection, self.hashed(session_id))

    async def end_all(self) -> None:
        async with self._store.write() as connection:
            await rows.delete_all(connection)
