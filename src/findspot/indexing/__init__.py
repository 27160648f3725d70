"""How does content become searchable?"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from findspot.indexing.status import IndexStatus, NamespaceReport, Problem
    from findspot.indexing.worker import IndexWorker

# The modules are loaded on first use: a helper process needs only `cutting`.
_MODULES = {
    "IndexStatus": "status",
    "IndexWorker": "worker",
    "NamespaceReport": "status",
    "Problem": "status",
}

__all__ = ["IndexStatus", "IndexWorker", "NamespaceReport", "Problem"]


if not TYPE_CHECKING:  # so that mypy reports unknown names

    def __getattr__(name: str) -> Any:
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
