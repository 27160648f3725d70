"""How does the process run? Helper processes, threads, limits, backoff, metrics, messages, logs and the data folder."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from findspot.runtime.backoff import CircuitBreaker, RetrySchedule
    from findspot.runtime.data_folder import DataFolder, FolderInUse
    from findspot.runtime.embeddings import Embeddings
    from findspot.runtime.helpers import Helpers
    from findspot.runtime.limits import Deadline, Gate
    from findspot.runtime.threads import ThreadPool, Threads

# Loaded on first use: helper processes import single modules of this package and have to stay small.
_MODULES = {
    "CircuitBreaker": "backoff",
    "DataFolder": "data_folder",
    "Deadline": "limits",
    "Embeddings": "embeddings",
    "FolderInUse": "data_folder",
    "Gate": "limits",
    "Helpers": "helpers",
    "RetrySchedule": "backoff",
    "ThreadPool": "threads",
    "Threads": "threads",
}

__all__ = [
    "CircuitBreaker",
    "DataFolder",
    "Deadline",
    "Embeddings",
    "FolderInUse",
    "Gate",
    "Helpers",
    "RetrySchedule",
    "ThreadPool",
    "Threads",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
