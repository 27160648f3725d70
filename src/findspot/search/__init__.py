"""How is content found?"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from findspot.search.explain import Explainer, Explanation
    from findspot.search.recall import Degradation, Recaller
    from findspot.search.request import SearchRequest, Strategy
    from findspot.search.results import Result, Results
    from findspot.search.table_search import Found, Hit, TableSearch
    from findspot.search.total import Total
    from findspot.search.workspace_search import Page, WorkspaceSearch

# The modules are loaded on first use: a helper process that imports one of them should not load all.
_MODULES = {
    "Degradation": "recall",
    "Explainer": "explain",
    "Explanation": "explain",
    "Found": "table_search",
    "Hit": "table_search",
    "Page": "workspace_search",
    "Recaller": "recall",
    "Result": "results",
    "Results": "results",
    "SearchRequest": "request",
    "Strategy": "request",
    "TableSearch": "table_search",
    "Total": "total",
    "WorkspaceSearch": "workspace_search",
}

__all__ = [
    "Degradation",
    "Explainer",
    "Explanation",
    "Found",
    "Hit",
    "Page",
    "Recaller",
    "Result",
    "Results",
    "SearchRequest",
    "Strategy",
    "TableSearch",
    "Total",
    "WorkspaceSearch",
]


if not TYPE_CHECKING:  # so that mypy reports unknown names

    def __getattr__(name: str) -> Any:
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
