"""What do people put in? Tables, documents, keys, and ways to import, export and back them up."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from findspot.content.backup import NotEmpty, Verified, restore, stream, verify
    from findspot.content.backup_file import BadBackup
    from findspot.content.documents import Documents, Saved
    from findspot.content.exporting import Exporting
    from findspot.content.importing import Importing
    from findspot.content.keys import Keys
    from findspot.content.tables import Tables

# Loaded on first use: helper processes import single modules of this package and have to stay small.
_MODULES = {
    "BadBackup": "backup_file",
    "Documents": "documents",
    "Exporting": "exporting",
    "Importing": "importing",
    "Keys": "keys",
    "NotEmpty": "backup",
    "Saved": "documents",
    "Tables": "tables",
    "Verified": "backup",
    "restore": "backup",
    "stream": "backup",
    "verify": "backup",
}

__all__ = [
    "BadBackup",
    "Documents",
    "Exporting",
    "Importing",
    "Keys",
    "NotEmpty",
    "Saved",
    "Tables",
    "Verified",
    "restore",
    "stream",
    "verify",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
