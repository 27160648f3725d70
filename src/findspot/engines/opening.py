"""Opens the configured engine. The libraries of an engine are imported only when it is opened."""

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from findspot.engines.protocol import Engine
from findspot.errors import FindspotError
from findspot.settings import Settings

if TYPE_CHECKING:
    from findspot.engines.turbopuffer.catalog import Catalog
    from findspot.engines.turbopuffer.transport import Transport


class Unavailable:
    """An engine that cannot be used. Every call raises ENGINE_UNAVAILABLE with the reason."""

    files = None

    def __init__(self, reason: str) -> None:
        self._reason = reason

    def __getattr__(self, call: str) -> Any:
        raise FindspotError("ENGINE_UNAVAILABLE", self._reason)

    def warm(self, namespace: str) -> None: ...

    def cancel(self) -> None: ...

    def close(self) -> None: ...


_OWNER = "store"  # file in the index folder with the identity of the store that the index belongs to


def unavailable(reason: str) -> Engine:
    """Return an engine that answers every call with this reason."""
    return cast(Engine, Unavailable(reason))


def open_engine(settings: Settings, identity: str, catalog: "Catalog | None" = None) -> Engine:
    """Open the engine for the store with this identity. A remote engine finds its namespaces in the catalogue."""
    if settings.engine == "turbopuffer":
        assert catalog is not None, "a remote engine needs a catalogue"
        return _open_turbopuffer(settings, catalog)
    from findspot.engines.embedded.engine import EmbeddedEngine

    folder = settings.data / "index"
    _remove_index_of_other_store(folder, identity)
    return EmbeddedEngine(folder)


def open_reader(settings: Settings, identity: str, number: int, catalog: "Catalog | None" = None) -> Engine:
    """Open the engine in a process that only searches: another one of the same server writes the index.

    `number` is that of this process among those that search.
    """
    if settings.engine != "embedded":  # a service is the same for all
        return open_engine(settings, identity, catalog)
    from findspot.engines.embedded.reader import EmbeddedReader

    return EmbeddedReader(settings.data / "index", number)


def namespaces_of_service(settings: Settings) -> list[str]:
    """Ask the configured service for its namespaces, to see whether it can be reached. Raises ENGINE_UNAVAILABLE."""
    opened = _open_transport(settings)
    try:
        return opened.list("project_")
    finally:
        opened.close()


def _open_turbopuffer(settings: Settings, catalog: "Catalog") -> Engine:
    try:
        transport = _open_transport(settings)
    except FindspotError as error:
        return unavailable(error.message)
    from findspot.engines.turbopuffer.engine import TurbopufferEngine

    return TurbopufferEngine(transport, catalog, settings.turbopuffer_batch_size)


def _open_transport(settings: Settings) -> "Transport":
    key, region, url = settings.turbopuffer_api_key, settings.turbopuffer_region, settings.turbopuffer_base_url
    if key is None:
        raise FindspotError("ENGINE_UNAVAILABLE", "turbopuffer needs an API key: set TURBOPUFFER_API_KEY.")
    if bool(region) == bool(url):
        raise FindspotError("ENGINE_UNAVAILABLE", "Set either TURBOPUFFER_REGION or TURBOPUFFER_BASE_URL.")
    try:
        from findspot.engines.turbopuffer.transport import Transport
    except ModuleNotFoundError as error:
        if error.name != "turbopuffer":
            raise
        message = "The package of turbopuffer is missing: install findspot[turbopuffer]."
        raise FindspotError("ENGINE_UNAVAILABLE", message) from error
    return Transport(key.get_secret_value(), region=region, base_url=url)


def _remove_index_of_other_store(folder: Path, identity: str) -> None:
    """Delete the index of another store: its chunks have the same ids but other texts."""
    owner = folder / _OWNER
    if folder.exists() and (not owner.exists() or owner.read_bytes() != identity.encode()):
        shutil.rmtree(folder)
    folder.mkdir(parents=True, exist_ok=True)
    if not owner.exists():
        owner.write_text(identity, encoding="utf-8")
