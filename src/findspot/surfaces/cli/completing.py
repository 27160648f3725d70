"""Completes commands in a shell, and the names of what the running server has."""

import asyncio
import re
from pathlib import Path
from typing import Any

import click
from click.shell_completion import BashComplete, CompletionItem, add_completion_class, get_completion_class

from findspot.surfaces.cli.failure import Failure

_PATIENCE_S = 2.0  # a person waits for the list
_MOST = 500  # names
_SPECIAL = re.compile(r"[^\w@%+=:,./-]")


class _Bash(BashComplete):
    """Bash inserts an answer as it is, so special characters get a backslash. Other shells do that themselves."""

    source_template = BashComplete.source_template.replace("read type value", "read -r type value")  # keeps backslashes

    def format_completion(self, item: CompletionItem) -> str:
        value = _SPECIAL.sub(r"\\\g<0>", item.value)
        return f"{item.type},{value}"


def register() -> None:
    """Make Click use this way to answer Bash."""
    add_completion_class(_Bash)


def script(shell: str) -> str:
    """Return the script that a shell runs at its start."""
    from findspot.surfaces.cli.main import COMPLETION_VARIABLE, cli

    register()
    answering = get_completion_class(shell)
    assert answering is not None
    return answering(cli, {}, "findspot", COMPLETION_VARIABLE).source()


def complete_name(ctx: click.Context, parameter: str, incomplete: str) -> list[CompletionItem]:
    """Return the names of a kind that begin as typed. Without a running server there are none."""
    given: dict[str, Any] = {each.name: ctx.params.get(each.name or "") for each in ctx.command.params}
    try:
        return asyncio.run(_names(given, parameter, incomplete))
    except (Failure, TimeoutError, OSError):  # a completion has no place for a message
        return []


async def _names(given: dict[str, Any], parameter: str, incomplete: str) -> list[CompletionItem]:
    from findspot.surfaces.cli.connect import opened_api, running_server
    from findspot.surfaces.cli.naming import KINDS, listed, with_ids

    url, key, data = (given.get(name) or None for name in ("url", "key", "data"))
    folder = Path(data) if data else None
    if not url and running_server(folder) is None:
        return []
    kind = KINDS[parameter]
    async with asyncio.timeout(_PATIENCE_S), opened_api(url, key, folder, as_json=True) as api:
        project = given.get("project_id") if kind.path else None
        if project is not None:
            project = (await with_ids(api, {"project_id": project}))["project_id"]
        found = {name: each["id"] for each in await listed(api, kind, project) for name in kind.names(each)}
    names = [name for name in found if name.startswith(incomplete) and name.isprintable()]
    return [CompletionItem(name, help=f"{kind.noun} {found[name]}") for name in sorted(names)[:_MOST]]
