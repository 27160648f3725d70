"""Creates and removes namespace folders in one step, by renaming them out of or into a staging folder."""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path


class Staging:
    """A folder for namespaces that are being created or removed. Emptied at start, as a killed process leaves some."""

    def __init__(self, folder: Path) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        self._folder = folder
        self._lock = threading.Lock()  # a project's folder must not be removed while a namespace is created in it

    def create(self, folder: Path, fill: Callable[[Path], None]) -> None:
        """Create a folder that is already filled when it appears."""
        made = self._new()
        fill(made)
        with self._lock:
            folder.parent.mkdir(parents=True, exist_ok=True)
            made.rename(folder)

    def remove(self, folder: Path) -> None:
        """Remove a folder. If it was the last one in its parent, remove the parent with any stray files."""
        with self._lock:
            if not folder.exists():
                return
            taken = self._new()
            folder.rename(taken / folder.name)
            if not any(each.is_dir() for each in folder.parent.iterdir()):
                folder.parent.rename(taken / folder.parent.name)
        shutil.rmtree(taken, ignore_errors=True)

    def _new(self) -> Path:
        self._folder.mkdir(parents=True, exist_ok=True)  # someone may have deleted the whole index folder
        return Path(tempfile.mkdtemp(dir=self._folder))
