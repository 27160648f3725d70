"""API keys: issue and identify. Secrets are shown once and stored as hashes; the owner's token allows everything."""

import hashlib
import hmac
import secrets
from collections.abc import Callable

from findspot.models import OWNER, Caller, Key, Role
from findspot.runtime.owner_token import PREFIX
from findspot.store import keys as rows
from findspot.store.database import Store

_HINT = len(PREFIX) + 4


def hashed(secret: str) -> str:
    """Return the hash of a secret. It needs no salt or stretching: a secret has 256 random bits."""
    return hashlib.sha256(secret.encode()).hexdigest()


def query_hash(token: str) -> Callable[[str], str]:
    """Return a function that hashes queries for logs. It is keyed per installation, because queries can be guessed."""
    key = hashlib.sha256(f"queries:{token}".encode()).digest()
    return lambda query: hmac.new(key, query.encode(errors="surrogatepass"), hashlib.sha256).hexdigest()[:16]


class Keys:
    """Issues keys and recognises them."""

    def __init__(self, store: Store, token: str) -> None:
        self._store = store
        self._token = hashed(token)
        self.browser_pass = hashed(f"browser:{token}")  # the cookie of a signed-in browser; it is no API key

    async def issue(self, project_id: int, name: str, role: Role) -> tuple[Key, str]:
        """Create a key. Return it with its secret, which cannot be shown again."""
        secret = PREFIX + secrets.token_urlsafe(32)
        async with self._store.write() as connection:
            key = await rows.create(connection, project_id, name, role, hashed(secret), secret[:_HINT])
        return key, secret

    def admits(self, browser_pass: str) -> Caller | None:
        """Return the owner if the cookie is the one that the sign-in link sets."""
        sent = browser_pass.encode(errors="surrogatepass")  # compare_digest refuses strings that are not ASCII
        return OWNER if hmac.compare_digest(sent, self.browser_pass.encode()) else None

    async def identify(self, secret: str) -> Caller | None:
        """Return the client that a secret belongs to, or None."""
        digest = hashed(secret)
        if hmac.compare_digest(digest, self._token):
            return OWNER
        async with self._store.lookup() as connection:
            key = await rows.by_hash(connection, digest)
        return Caller(key.role, key.name, key.project_id, key.id) if key else None
