"""The embedded engine: keyword search with tantivy and vector search, in this process. See docs/embedded-engine.md."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from findspot.engines.embedded.build import EmbeddedBuild
from findspot.engines.embedded.files import EmbeddedFiles
from findspot.engines.embedded.namespace import Namespace
from findspot.engines.embedded.namespaces import Namespaces
from findspot.engines.embedded.os_errors import translate_os_errors
from findspot.engines.embedded.queries import Queries
from findspot.engines.embedded.staging import Staging
from findspot.engines.protocol import Batch


class EmbeddedEngine(Queries[Namespace]):
    """All namespaces below one folder, which no other process writes to."""

    def __init__(self, folder: Path) -> None:
        staging = Staging(folder / ".staging")
        super().__init__(Namespaces(folder, lambda each: Namespace(each, staging)))
        self.files = EmbeddedFiles(self._namespaces)

    @translate_os_errors()
    def write(self, namespace: str, fingerprint: str, batch: Batch) -> None:
        self._namespaces.get(namespace).write(fingerprint, batch)
        self._namespaces.close_idle()

    @translate_os_errors()
    def delete(self, namespace: str, ids: Sequence[int], *, fence: int = 0) -> None:
        self._namespaces.get(namespace).delete([int(id) for id in ids])
        self._namespaces.close_idle()

    @translate_os_errors()
    def build(self, namespace: str, fingerprint: str, dimension: int) -> EmbeddedBuild:
        return self._namespaces.get(namespace).build(fingerprint, dimension)

    @translate_os_errors()
    def drop(self, namespace: str, *, fence: int = 0) -> None:
        self._namespaces.get(namespace).drop()

    def sweep(self) -> None:
        """Do nothing: a drop leaves nothing behind."""
