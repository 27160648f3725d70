"""Delete an object after saying what goes with it, and say it again when it is done."""

from typing import Any

from findspot.surfaces.cli.arguments import confirm
from findspot.surfaces.cli.connect import Api
from findspot.surfaces.cli.formatting import count
from findspot.surfaces.cli.printing import done, show

_GONE = {"tables": "table", "documents": "document", "tools": "tool", "endpoints": "endpoint", "chunks": "chunk"}


async def delete_with_dependents(api: Api, path: str, name: str, id: int, yes: bool) -> None:
    """Delete the object at a path of the API. `name` is how people call it, such as 'table 4'."""
    found = await api.call("GET", f"{path}/dependents")
    parts = _parts(found)
    confirm(f"Delete {name}?", yes, f"{name[:1].upper()}{name[1:]} has {', '.join(parts)}." if parts else "")
    await api.call("DELETE", path)
    text = f"Deleted {name} with {', '.join(parts)}." if parts else f"Deleted {name}."
    show({"deleted": id, "with": found}, api.as_json, done(text))


def _parts(found: dict[str, Any]) -> list[str]:
    parts = [count(found[field], noun) for field, noun in _GONE.items() if found[field] and field != "chunks"]
    if empty := found["endpoints_without_tools"]:
        parts.append(f"{count(empty, 'endpoint')} left without tools")
    return [*parts, count(found["chunks"], "chunk")] if found["chunks"] else parts
