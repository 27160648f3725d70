"""Which processes serve, and who restarts them when they die?"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from findspot.server.api_process import serve_api
    from findspot.server.command import command
    from findspot.server.index_process import serve_index
    from findspot.server.supervisor import Supervisor

_MODULES = {
    "Supervisor": "supervisor",
    "command": "command",
    "serve_api": "api_process",
    "serve_index": "index_process",
}
__all__ = ["Supervisor", "command", "serve_api", "serve_index"]


def __getattr__(name: str) -> Any:
    """Import a public name on first use: the supervisor must not load what only the API process needs."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
