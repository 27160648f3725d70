"""What may an agent do with a project's data?"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from findspot.agents.calls import ToolCalls
    from findspot.agents.endpoints import Endpoints
    from findspot.agents.schemas import NewSearchTool, NewTool, SearchConfig, ToolChange
    from findspot.agents.tool_index import ToolCreation, ToolIndex
    from findspot.agents.tools import Tools

# The modules are loaded on first use: a helper process needs only `views`.
_MODULES = {
    "Endpoints": "endpoints",
    "NewSearchTool": "schemas",
    "NewTool": "schemas",
    "SearchConfig": "schemas",
    "ToolCalls": "calls",
    "ToolChange": "schemas",
    "ToolCreation": "tool_index",
    "ToolIndex": "tool_index",
    "Tools": "tools",
}

__all__ = [
    "Endpoints",
    "NewSearchTool",
    "NewTool",
    "SearchConfig",
    "ToolCalls",
    "ToolChange",
    "ToolCreation",
    "ToolIndex",
    "Tools",
]


if not TYPE_CHECKING:  # so that mypy reports unknown names

    def __getattr__(name: str) -> Any:
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
