"""Which passages does a language model get? Those that fit its budget, with private values removed."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from findspot.retrieval.config import RetrievalConfigs
    from findspot.retrieval.context import AssembledContext, ContextAssembler, ContextRequest
    from findspot.retrieval.request import EditingContext, RetrievalRequest
    from findspot.retrieval.retrieve import Retrieved, Retriever

# The modules are loaded on first use: redaction and tokens take time.
_MODULES = {
    "AssembledContext": "context",
    "ContextAssembler": "context",
    "ContextRequest": "context",
    "EditingContext": "request",
    "RetrievalConfigs": "config",
    "RetrievalRequest": "request",
    "Retrieved": "retrieve",
    "Retriever": "retrieve",
}

__all__ = [
    "AssembledContext",
    "ContextAssembler",
    "ContextRequest",
    "EditingContext",
    "RetrievalConfigs",
    "RetrievalRequest",
    "Retrieved",
    "Retriever",
]


if not TYPE_CHECKING:  # so that mypy reports unknown names

    def __getattr__(name: str) -> Any:
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
