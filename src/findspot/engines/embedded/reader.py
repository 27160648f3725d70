"""The embedded engine for processes that only search: it follows an index that the index worker's process writes."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from findspot.engines.embedded.namespaces import Namespaces
from findspot.engines.embedded.queries import Queries
from findspot.engines.embedded.read_namespace import ReadNamespace
from findspot.engines.protocol import Batch
from findspot.errors import FindspotError

FOLDER = ".readers"  # in the index folder: one folder for each process that reads


class EmbeddedReader(Queries[ReadNamespace]):
    """The query side of Engine. `number` is that of this process among those that read the same folder."""

    files = None

    def __init__(self, folder: Path, number: int) -> None:
        work = folder / FOLDER / str(number)
        shutil.rmtree(work, ignore_errors=True)  # a killed process leaves it
        work.mkdir(parents=True)
        super().__init__(Namespaces(folder, lambda each: ReadNamespace(each, work)))

    def write(self, namespace: str, fingerprint: str, batch: Batch) -> None:
        _refuse()

    def delete(self, namespace: str, ids: Sequence[int], *, fence: int = 0) -> None:
        _refuse()

    def build(self, namespace: str, fingerprint: str, dimension: int) -> NoReturn:
        _refuse()

    def drop(self, namespace: str, *, fence: int = 0) -> None:
        _refuse()

    def sweep(self) -> None:
        """Do nothing: the process that writes does it."""


def _refuse() -> NoReturn:
    raise FindspotError("ENGINE_UNAVAILABLE", "This process only reads the index. The index worker writes it.")
