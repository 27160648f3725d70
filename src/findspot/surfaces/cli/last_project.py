"""The project that was used last with a server or data folder: the default of the next command.

It is kept per user, in $XDG_STATE_HOME/findspot or ~/.local/state/findspot. Losing the file loses only the default.
"""

import contextlib
import json
import os
import tempfile
from pathlib import Path

_MAX_KEPT = 100  # servers and data folders


def last_used(where: str) -> int | None:
    """Return the id of the project that was used last at a URL or in a data folder."""
    found = _read().get(where)
    return found if isinstance(found, int) else None


def remember(where: str, project_id: int) -> None:
    """Keep the project as the one used last. A folder that cannot be written keeps nothing."""
    kept = _read()
    if kept.get(where) == project_id:
        return
    kept.pop(where, None)
    newest = [*list(kept.items())[1 - _MAX_KEPT :], (where, project_id)]
    with contextlib.suppress(OSError):
        _replace(_file(), json.dumps(dict(newest), indent=1, ensure_ascii=False) + "\n")


def _read() -> dict[str, object]:
    try:
        found = json.loads(_file().read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _file() -> Path:
    folder = os.environ.get("XDG_STATE_HOME")
    return (Path(folder) if folder else Path.home() / ".local" / "state") / "findspot" / "last-projects.json"


def _replace(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}-")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(text)
        Path(temporary).replace(file)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
