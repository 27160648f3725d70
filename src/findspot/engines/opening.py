"""Opens the configured engine. The libraries of an engine are imported only when it is opened."""

import shutil
from pathlib import Path
from typing import Any, cast

from findspot.engines.protocol import Engine
from findspot.errors import FindspotError
from findspot.settings import Settings


class Unavailable:
    """An engine that cannot be used. Every call raises ENGINE_UNAVAILABLE with the reason."""

    files = None

    def __init__(self, reason: str) -> None:
        self._reason = reason

    def __getattr__(self, call: str) -> Any:
        raise FindspotError("ENGINE_UNAVAILABLE", self._reason)

    def close(self) -> None: ...


_OWNER = "store"  # file in the index folder with the identity of the store that the index belongs to


def unavailable(reason: str) -> Engine:
    """Return an engine that answers every call with this reason."""
    return cast(Engine, Unavailable(reason))


def open_engine(settings: Settings, identity: str) -> Engine:
    """Open the engine for the store with this identity."""
    if settings.engine != "embedded":
        return unavailable(f"This version of Findspot has no engine '{settings.engine}'.")
    from findspot.engines.embedded.engine import EmbeddedEngine

    folder = settings.data / "index"
    _remove_index_of_other_store(folder, identity)
    return EmbeddedEngine(folder)


def open_reader(settings: Settings, identity: str, number: int) -> Engine:
    """Open the engine in a process that only searches: another one of the same server writes the index.

    `number` is that of this process among those that search.
    """
    if settings.engine != "embedded":  # a service is the same for all
        return open_engine(settings, identity)
    from findspot.engines.embedded.reader import EmbeddedReader

    return EmbeddedReader(settings.data / "index", number)


def _remove_index_of_other_store(folder: Path, identity: str) -> None:
    """Delete the index of another store: its chunks have the same ids but other texts."""
    owner = folder / _OWNER
    if folder.exists() and (not owner.exists() or owner.read_text(encoding="utf-8") != identity):
        shutil.rmtree(folder)
    folder.mkdir(parents=True, exist_ok=True)
    if not owner.exists():
        owner.write_text(identity, encoding="utf-8")
