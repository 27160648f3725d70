"""The retrieval configuration of a project: read it, and change it with a record of who did and when."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from cachetools import LRUCache

from findspot.models import Caller
from findspot.retrieval.redaction_rules import DEFAULT_RULES, CustomPattern, Rules, custom_rules
from findspot.store import retrieval_configs as rows
from findspot.store.database import Store
from findspot.store.reader import Reader
from findspot.store.retrieval_configs import RetrievalConfig

DEFAULTS = RetrievalConfig()
_CACHED = 64  # projects with patterns of their own


class RetrievalConfigs:
    """The configurations of all projects. A project that never changed its own has the defaults."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._rules: LRUCache[tuple[Any, ...], Rules] = LRUCache(_CACHED)

    async def get(self, project_id: int) -> RetrievalConfig:
        async with self._store.lookup(one=True) as connection:
            return await self.read(connection, project_id)

    async def read(self, connection: Reader, project_id: int) -> RetrievalConfig:
        return await rows.newest(connection, project_id) or DEFAULTS

    async def update(self, project_id: int, changes: Mapping[str, Any], caller: Caller) -> RetrievalConfig:
        """Change some values. Patterns that cannot be used are refused, and nothing is changed."""
        async with self._store.write() as connection:
            now = await rows.newest(connection, project_id) or DEFAULTS
            changed = replace(now, **changes, changed_by=caller.name, changed_at=datetime.now(UTC))
            self.rules(changed)
            await rows.add(connection, project_id, changed, caller.key_id)
        return changed

    def rules(self, config: RetrievalConfig) -> Rules:
        """Return the redaction rules of a project: the default ones and its own."""
        own = config.redaction_patterns, config.redaction_allowed
        if not any(own):
            return DEFAULT_RULES
        found = self._rules.get(own)
        if found is None:
            patterns = [CustomPattern(kind, pattern) for kind, pattern in config.redaction_patterns]
            found = self._rules[own] = custom_rules(patterns, config.redaction_allowed)
        return found
