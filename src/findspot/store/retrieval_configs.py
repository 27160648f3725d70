"""Rows of retrieval configurations: one per change, of which the newest is in force."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from findspot.store.reader import Reader
from findspot.store.schema import retrieval_configs as configs

KEPT = 100  # changes of a project; older ones are deleted


@dataclass(frozen=True, slots=True)
class RetrievalConfig:
    """What retrieval does in a project unless a request says otherwise, and who changed it last.

    A redaction pattern is the kind of value that it finds, and a regular expression. `redaction_allowed` are values
    that are never redacted.
    """

    top_k: int = 5
    min_score: float = 0.7
    max_tokens: int = 1500
    redaction_patterns: tuple[tuple[str, str], ...] = ()
    redaction_allowed: tuple[str, ...] = ()
    changed_by: str | None = None
    changed_at: datetime | None = None


_columns = (
    configs.c.top_k,
    configs.c.min_score,
    configs.c.max_tokens,
    configs.c.redaction_patterns,
    configs.c.redaction_allowed,
    configs.c.actor,
    configs.c.created_at,
)


def _config(row: Sequence[Any]) -> RetrievalConfig:
    top_k, min_score, max_tokens, patterns, allowed, actor, at = row
    pairs = tuple((kind, pattern) for kind, pattern in patterns)
    return RetrievalConfig(top_k, min_score, max_tokens, pairs, tuple(allowed), actor, at)


async def newest(connection: Reader, project_id: int) -> RetrievalConfig | None:
    """Return the configuration in force; None if it was never changed."""
    query = sa.select(*_columns).where(configs.c.project_id == project_id).order_by(configs.c.id.desc()).limit(1)
    row = (await connection.execute(query)).one_or_none()
    return _config(row) if row else None


async def history(connection: Reader, project_id: int) -> list[RetrievalConfig]:
    """Return all changes that are kept, the newest first."""
    query = sa.select(*_columns).where(configs.c.project_id == project_id).order_by(configs.c.id.desc())
    return [_config(row) for row in await connection.execute(query)]


async def add(connection: AsyncConnection, project_id: int, config: RetrievalConfig, key_id: int | None) -> None:
    """Put a configuration into force, and delete the oldest changes beyond KEPT."""
    values = {
        "project_id": project_id,
        "top_k": config.top_k,
        "min_score": config.min_score,
        "max_tokens": config.max_tokens,
        "redaction_patterns": [list(pair) for pair in config.redaction_patterns],
        "redaction_allowed": list(config.redaction_allowed),
        "actor": config.changed_by,
        "key_id": key_id,
        "created_at": config.changed_at,
    }
    await connection.execute(sa.insert(configs), values)
    kept = sa.select(configs.c.id).where(configs.c.project_id == project_id).order_by(configs.c.id.desc()).limit(KEPT)
    old = configs.c.id.not_in(sa.select(kept.subquery().c.id))
    await connection.execute(sa.delete(configs).where(configs.c.project_id == project_id, old))
