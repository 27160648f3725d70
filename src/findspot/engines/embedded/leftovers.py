"""How does a folder come and go at once? It is made, or taken apart, in a place where nobody looks for it."""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path


class Leftovers:
    """The place. What a killed process left there is removed when it is opened."""

    def __init__(self, folder: Path) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        self._folder = folder
        self._lock = threading.Lock()  # so that the folder above does not go while another comes into it

    def bring(self, folder: Path, fill: Callable[[Path], None]) -> None:
        """Make a folder that is filled when it is first seen."""
        made = self._room()
        fill(made)
        with self._lock:
            folder.parent.mkdir(parents=True, exist_ok=True)
            made.rename(folder)

    def take(self, folder: Path) -> None:
        """Remove a folder, and the one above if it was the last in it; files that others put beside it go with that."""
        with self._lock:
            if not folder.exists():
                return
            taken = self._room()
            folder.rename(taken / folder.name)
            if not any(each.is_dir() for each in folder.parent.iterdir()):
                folder.parent.rename(taken / folder.parent.name)
        shutil.rmtree(taken, ignore_errors=True)

    def _room(self) -> Path:
        self._folder.mkdir(parents=True, exist_ok=True)  # it may be gone, with all that was beside it
        return Path(tempfile.mkdtemp(dir=self._folder))
