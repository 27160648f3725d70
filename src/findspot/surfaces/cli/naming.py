"""Names instead of ids: a project, table, tool, document or endpoint can be named where its name is unique.

A name is sought in the given project. Without one, it is sought in the project that was used last, then in all of them.
"""

import difflib
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from findspot.surfaces.cli.arguments import LAST_USED, Named
from findspot.surfaces.cli.failure import Failure
from findspot.surfaces.cli.formatting import count
from findspot.surfaces.cli.last_project import last_used, remember
from findspot.surfaces.cli.printing import hang, styled

if TYPE_CHECKING:
    from findspot.surfaces.cli.connect import Api


@dataclass(frozen=True, slots=True)
class Kind:
    """Where objects of a kind are listed: the path in a project, the member of the answer, the fields of their names.

    The second name counts where no object has the first.
    """

    noun: str
    path: str
    member: str
    field: str = "name"
    second_field: str | None = None

    def called(self, name: str, every: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the objects with a name."""
        found = [each for each in every if each[self.field] == name]
        return found or [each for each in every if self.second_field and each[self.second_field] == name]

    def names(self, each: dict[str, Any]) -> list[str]:
        """Return the names of an object."""
        second = each[self.second_field] if self.second_field else None
        return [each[self.field], *([second] if second else [])]


_TOOL, _DOCUMENT = Kind("tool", "/tools", "tools"), Kind("document", "/documents", "documents", "title", "path")
KINDS = {
    "project_id": Kind("project", "", "projects"),
    "project_ids": Kind("project", "", "projects"),
    "table_id": Kind("table", "/tables", "tables"),
    "tool_id": _TOOL,
    "tool_ids": _TOOL,
    "endpoint_id": Kind("endpoint", "/mcp", "endpoints"),
    "document_id": _DOCUMENT,
    "document_ids": _DOCUMENT,
}


async def with_ids(api: "Api", arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a command with the ids of what was named, and remember the project that is used."""
    found = dict(arguments)
    for parameter, kind in KINDS.items():
        value, project = found.get(parameter), found.get("project_id") if kind.path else None
        if value is LAST_USED or (parameter in found and value is None and not kind.path):
            found[parameter] = await default_project(api)
        elif isinstance(value, Named):
            found[parameter] = await id_of(api, kind, value, project)
        elif isinstance(value, tuple):
            ids = [await id_of(api, kind, each, project) if isinstance(each, Named) else each for each in value]
            found[parameter] = tuple(ids)
    if isinstance(found.get("project_id"), int):
        remember(api.where, found["project_id"])
    return found


async def default_project(api: "Api") -> int:
    """Return the project that was used last, or the only one that exists. Say which one it is if there are several."""
    projects = (await api.call("GET", "/api/v1/projects"))["projects"]
    last = last_used(api.where)
    chosen = [each for each in projects if each["id"] == last] or (projects if len(projects) == 1 else [])
    if not chosen:
        names = ", ".join(f"{each['name']} ({each['id']})" for each in projects[:10])
        message = f"There are {count(len(projects), 'project')}: {names}." if projects else "There is no project yet."
        advice = "Name one of them." if projects else "'findspot project create NAME' creates one."
        raise Failure(message, advice, 2)
    if len(projects) > 1 and not api.as_json:
        text = f"Project {chosen[0]['id']}, {chosen[0]['name']}: the one used last."
        click.echo(styled(hang(text, 0, sys.stderr), dim=True), err=True)
    return int(chosen[0]["id"])


async def refuse_duplicate(api: "Api", parameter: str, project_id: int, name: str, allowed: bool) -> None:
    """Raise a Failure if the project has an object of this name, unless a second one is allowed."""
    if allowed:
        return
    kind = KINDS[parameter]
    taken = [each["id"] for each in await listed(api, kind, project_id) if each[kind.field] == name]
    if taken:
        message = f"Project {project_id} has a {kind.noun} '{name}' already: {kind.noun} {taken[0]}."
        raise Failure(message, "Choose another name, or add --duplicate.", 5)


async def id_of(api: "Api", kind: Kind, name: Named, project_id: int | None) -> int:
    """Return the id of what is named. A name that several have means the one in the project used last, if it has one.

    A command that deletes takes only a name that is unique everywhere.
    """
    last = last_used(api.where) if project_id is None and not name.must_be_unique else None
    if last is not None and kind.path:
        matches = kind.called(name, await listed(api, kind, last, or_nothing=True))
        if len(matches) == 1:
            return int(matches[0]["id"])
    every = await listed(api, kind, project_id)
    matches = kind.called(name, every)
    if not kind.path:
        matches = [each for each in matches if each["id"] == last] or matches
    if len(matches) == 1:
        if project_id is None and kind.path:
            remember(api.where, matches[0]["_project"])
        return int(matches[0]["id"])
    if matches:
        ids = ", ".join(str(each["id"]) for each in matches)
        raise Failure(f"{len(matches)} {kind.noun}s are called '{name}': {ids}.", "Name it by its id.", 2)
    near = difflib.get_close_matches(name, [known for each in every for known in kind.names(each)], n=1)
    advice = f"Did you mean '{near[0]}'?" if near else f"'findspot {kind.noun} list' shows their names and ids."
    raise Failure(f"There is no {kind.noun} '{name}'.", advice, 3)


async def listed(api: "Api", kind: Kind, project_id: int | None, *, or_nothing: bool = False) -> list[dict[str, Any]]:
    """Return the objects of a kind in a project, or in all projects. `or_nothing`: the project may be gone."""
    projects = (
        [{"id": project_id}] if project_id is not None else (await api.call("GET", "/api/v1/projects"))["projects"]
    )
    if not kind.path:
        return list(projects)
    found = []
    for project in projects:
        try:
            answer = await api.call("GET", f"/api/v1/projects/{project['id']}{kind.path}")
        except Failure as failure:
            if or_nothing and failure.exit_code in _GONE:
                return []
            raise
        found += [{**each, "_project": project["id"]} for each in answer[kind.member]]
    return found


_GONE = (3, 4)  # deleted, or not for this key
