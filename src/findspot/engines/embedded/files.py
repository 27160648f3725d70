"""Upkeep of the embedded engine's files: verify and evict."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from findspot.engines.embedded.os_errors import translate_os_errors

if TYPE_CHECKING:
    import numpy.typing as npt

    from findspot.engines.embedded.namespace import Namespace
    from findspot.engines.embedded.namespaces import Namespaces


class EmbeddedFiles:
    """Implements LocalFiles."""

    def __init__(self, namespaces: Namespaces[Namespace]) -> None:
        self._namespaces = namespaces

    @translate_os_errors()
    def verify(self, namespace: str) -> None:
        self._namespaces.get(namespace).verify()

    @translate_os_errors()
    def vector_ids(self, namespace: str) -> npt.NDArray[np.int64]:
        snapshot = self._namespaces.snapshot(self._namespaces.get(namespace))
        return np.empty(0, np.int64) if snapshot is None else snapshot.vectors.vector_ids()

    @translate_os_errors()
    def evict(self, namespace: str, ids: Sequence[int]) -> None:
        self._namespaces.get(namespace).evict([int(id) for id in ids])
        self._namespaces.close_idle()
