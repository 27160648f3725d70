"""API keys: issue and identify. Secrets are shown once and stored as hashes; the owner's token allows everything."""

import hashlib
import hmac
import secrets
from collections.abc import Callable, Collection

from findspot.models import OWNER, Caller, Key, Role, Tool
from findspot.runtime.owner_token import PREFIX
from findspot.store import keys as rows
from findspot.store.database import Store
from findspot.store.index_states import DocumentsInIndex

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

    async def issue(self, project_id: int, name: str, role: Role) -> tuple[Key, str]:
        """Create a key. Return it with its secret, which cannot be shown again."""
        secret = PREFIX + secrets.token_urlsafe(32)
        async with self._store.write() as connection:
            key = await rows.create(connection, project_id, name, role, hashed(secret), secret[:_HINT])
        return key, secret

    async def identify(self, secret: str) -> Caller | None:
        """Return the client that a secret belongs to, or None."""
        digest = hashed(secret)
        if hmac.compare_digest(digest, self._token):
            return OWNER
        return await self._store.remembered.get(("key", digest), lambda: self._holder(digest))

    async def _holder(self, digest: str) -> Caller | None:
        async with self._store.lookup(one=True) as connection:
            key = await rows.by_hash(connection, digest)
        return _caller(key)

    async def identify_with_tool(self, secret: str, tool_id: int) -> tuple[Caller | None, Tool | None]:
        """Return the client that a secret belongs to, and a tool with the state of its index, in one look-up: a call of
        a tool needs them all."""
        digest = hashed(secret)
        caller, tool = await self._store.remembered.get(
            ("tool", digest, tool_id), lambda: self._holder_and_tool(digest, tool_id)
        )
        return OWNER if hmac.compare_digest(digest, self._token) else caller, tool

    async def _holder_and_tool(self, digest: str, tool_id: int) -> tuple[Caller | None, Tool | None]:
        async with self._store.lookup(one=True) as connection:
            key, tool = await rows.with_tool(connection, digest, tool_id)
        return _caller(key), tool

    async def identify_in_project(self, secret: str, project_id: int) -> tuple[Caller | None, DocumentsInIndex | None]:
        """Return the client that a secret belongs to and, if the project exists, the state of its documents' index, in
        one look-up: a search of documents needs them all."""
        digest = hashed(secret)
        caller, index = await self._store.remembered.get(
            ("project", digest, project_id), lambda: self._holder_and_index(digest, project_id)
        )
        return OWNER if hmac.compare_digest(digest, self._token) else caller, index

    async def _holder_and_index(self, digest: str, project_id: int) -> tuple[Caller | None, DocumentsInIndex | None]:
        async with self._store.lookup(one=True) as connection:
            return await connection.run_sync(rows.with_project, digest, project_id)

    async def valid(self, hashes: Collection[str]) -> set[str]:
        """Return those of the hashes that belong to a key, or to the owner's token."""
        async with self._store.read() as connection:
            found = await rows.existing(connection, hashes)
        return found | ({self._token} & set(hashes))


def _caller(key: Key | None) -> Caller | None:
    return Caller(key.role, key.name, key.project_id, key.id) if key else None
