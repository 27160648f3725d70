"""Which namespaces of the service hold the index of which namespace of ours. The catalogue itself is in the store.

A rebuild is written to a new namespace of the service, and then takes the place of the old one here. So a namespace of
the service is never renamed, and no process has to be told: each reads the catalogue.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol


class Placement(NamedTuple):
    """A namespace of the service, and the kind of its vectors."""

    name: str
    fingerprint: str
    dimension: int


class Catalog(Protocol):
    """Calls block. A namespace is recorded here before it is created, and forgotten after it was deleted, so that none
    is left behind by a process that is killed."""

    def serving(self, namespace: str, *, fresh: bool = False) -> Placement | None:
        """Return the namespace in service; None if there is none. May be a few seconds old, unless it is to be
        `fresh`."""

    def claim(self, namespace: str, fingerprint: str, dimension: int, fence: int) -> tuple[Placement, bool]:
        """Return the namespace in service, for a write, and whether it is new: if none served, this records one.
        Raises StaleFence if a worker with a higher fence has written."""

    def admit(self, namespace: str, fence: int) -> Placement | None:
        """Return the namespace in service, for a delete. Raises StaleFence like `claim`."""

    def begin(self, namespace: str, fingerprint: str, dimension: int) -> Placement:
        """Record a new namespace that is to replace the one in service. One begun before is to be deleted."""

    def switch(self, namespace: str, name: str) -> bool:
        """Put a namespace that was begun into service. The one that served is to be deleted. False if it is no longer
        wanted: another was begun, or everything was dropped."""

    def discard(self, name: str) -> None:
        """Note that a namespace of the service is to be deleted."""

    def drop(self, namespace: str, fence: int) -> None:
        """Note that all namespaces of the service that hold this one are to be deleted. Raises StaleFence like
        `claim`."""

    def unwanted(self, namespace: str | None = None) -> list[str]:
        """Return the namespaces of the service that are to be deleted."""

    def deleted(self, name: str) -> None:
        """Forget a namespace of the service that was deleted."""

    def namespaces(self, project_id: int) -> list[str]:
        """Return the names of a project's namespaces that are in service, sorted."""
