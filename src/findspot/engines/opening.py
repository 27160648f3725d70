"""Opens the engine that is set. What an engine needs is loaded only then."""

import shutil
from pathlib import Path
from typing import Any, cast

from findspot.engines.protocol import Engine
from findspot.errors import FindspotError
from findspot.settings import Settings


class Unavailable:
    """An engine that this Findspot knows by name only: whatever is asked of it says so."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, call: str) -> Any:
        raise FindspotError("ENGINE_UNAVAILABLE", f"This Findspot has no engine '{self._name}' yet.")

    def close(self) -> None: ...


_OWNER = "store"  # names the store that an index folder belongs to


def open_engine(settings: Settings, identity: str) -> Engine:
    """The engine for the store of this identity."""
    if settings.engine != "embedded":
        return cast(Engine, Unavailable(settings.engine))
    from findspot.engines.embedded.engine import EmbeddedEngine

    folder = settings.data / "index"
    _belong(folder, identity)
    return EmbeddedEngine(folder)


def _belong(folder: Path, identity: str) -> None:
    """An index of another store would answer with chunks that merely have the same numbers: it is removed."""
    owner = folder / _OWNER
    if folder.exists() and (not owner.exists() or owner.read_text(encoding="utf-8") != identity):
        shutil.rmtree(folder)
    folder.mkdir(parents=True, exist_ok=True)
    if not owner.exists():
        owner.write_text(identity, encoding="utf-8")
