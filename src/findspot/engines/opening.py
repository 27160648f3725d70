"""Opens the configured engine. The libraries of an engine are imported only when it is opened."""

import shutil
from pathlib import Path
from typing import Any, cast

from findspot.engines.protocol import Engine
from findspot.errors import FindspotError
from findspot.settings import Settings


class Unavailable:
    """An engine that has a name but no implementation yet. Every call raises ENGINE_UNAVAILABLE."""

    files = None

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, call: str) -> Any:
        raise FindspotError("ENGINE_UNAVAILABLE", f"This version of Findspot has no engine '{self._name}'.")

    def close(self) -> None: ...


_OWNER = "store"  # file in the index folder with the identity of the store that the index belongs to


def open_engine(settings: Settings, identity: str) -> Engine:
    """Open the engine for the store with this identity."""
    if settings.engine != "embedded":
        return cast(Engine, Unavailable(settings.engine))
    from findspot.engines.embedded.engine import EmbeddedEngine

    folder = settings.data / "index"
    _remove_index_of_other_store(folder, identity)
    return EmbeddedEngine(folder)


def _remove_index_of_other_store(folder: Path, identity: str) -> None:
    """Delete the index of another store: its chunks have the same ids but other texts."""
    owner = folder / _OWNER
    if folder.exists() and (not owner.exists() or owner.read_text(encoding="utf-8") != identity):
        shutil.rmtree(folder)
    folder.mkdir(parents=True, exist_ok=True)
    if not owner.exists():
        owner.write_text(identity, encoding="utf-8")
