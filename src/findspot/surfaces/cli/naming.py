"""Names instead of ids: a project, table, tool, document or endpoint can be named where its name is unique."""

import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from findspot.surfaces.cli.arguments import Named
from findspot.surfaces.cli.failure import Failure

if TYPE_CHECKING:
    from findspot.surfaces.cli.connect import Api


@dataclass(frozen=True, slots=True)
class _Kind:
    """Where objects of a kind are listed: the path in a project, the member of the answer, the field of the name."""

    noun: str
    path: str
    member: str
    field: str = "name"


_KINDS = {
    "project_id": _Kind("project", "", "projects"),
    "table_id": _Kind("table", "/tables", "tables"),
    "tool_id": _Kind("tool", "/tools", "tools"),
    "tool_ids": _Kind("tool", "/tools", "tools"),
    "endpoint_id": _Kind("endpoint", "/mcp", "endpoints"),
    "document_id": _Kind("document", "/documents", "documents", "title"),
}


async def with_ids(api: "Api", arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a command with the ids of what was named. A project limits where others are sought."""
    found = dict(arguments)
    for parameter, kind in _KINDS.items():
        value, project = found.get(parameter), found.get("project_id") if kind.path else None
        if isinstance(value, Named):
            found[parameter] = await _id(api, kind, value, project)
        elif isinstance(value, tuple):
            ids = [await _id(api, kind, each, project) if isinstance(each, Named) else each for each in value]
            found[parameter] = tuple(ids)
    return found


async def refuse_duplicate(api: "Api", parameter: str, project_id: int, name: str, allowed: bool) -> None:
    """Raise a Failure if the project has an object of this name, unless a second one is allowed."""
    if allowed:
        return
    kind = _KINDS[parameter]
    taken = [each["id"] for each in await _listed(api, kind, project_id) if each[kind.field] == name]
    if taken:
        message = f"Project {project_id} has a {kind.noun} '{name}' already: {kind.noun} {taken[0]}."
        raise Failure(message, "Choose another name, or add --duplicate.", 5)


async def _id(api: "Api", kind: _Kind, name: str, project_id: int | None) -> int:
    listed = await _listed(api, kind, project_id)
    matches = [each for each in listed if each[kind.field] == name]
    if len(matches) == 1:
        return int(matches[0]["id"])
    if matches:
        ids = ", ".join(str(each["id"]) for each in matches)
        raise Failure(f"{len(matches)} {kind.noun}s are called '{name}': {ids}.", "Name it by its id.", 2)
    near = difflib.get_close_matches(name, [each[kind.field] for each in listed], n=1)
    advice = f"Did you mean '{near[0]}'?" if near else f"'findspot {kind.noun} list' shows their names and ids."
    raise Failure(f"There is no {kind.noun} '{name}'.", advice, 3)


async def _listed(api: "Api", kind: _Kind, project_id: int | None) -> list[dict[str, Any]]:
    projects = (
        [{"id": project_id}] if project_id is not None else (await api.call("GET", "/api/v1/projects"))["projects"]
    )
    if not kind.path:
        return list(projects)
    answers = [await api.call("GET", f"/api/v1/projects/{each['id']}{kind.path}") for each in projects]
    return [each for answer in answers for each in answer[kind.member]]
