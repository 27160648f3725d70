"""`findspot status`: how far the index is behind, the running processes, and which worker holds which index."""

from typing import Any

import click

from findspot.surfaces.cli.connect import Api, api_command
from findspot.surfaces.cli.formatting import ago, count, duration
from findspot.surfaces.cli.printing import facts, show, table_of


@click.command()
@click.option("--processes", is_flag=True, help="List the running processes, and the indexes that workers hold.")
@api_command
async def command(api: Api, processes: bool) -> None:
    """Show how far the index is behind; with --processes, what runs.

    The owner's token is needed. A process that has stopped without a word is listed for half a minute.

    \b
      findspot status --processes
      findspot status --processes --json
    """
    found = await api.call("GET", "/internal/processes")
    if not processes:
        found = {name: found[name] for name in ("database", "engine", "lag")}
    show(found, api.as_json, "" if api.as_json else _text(found))


def _text(found: dict[str, Any]) -> str:
    parts = [facts((("Database", found["database"]), ("Engine", found["engine"]), ("Index", _lag(found["lag"]))))]
    if "processes" in found:
        names = {each["id"]: f"{each['host']}:{each['pid']}" for each in found["processes"]}
        parts += [_processes(found["processes"]), _leases(found["leases"], names)]
    return "\n\n".join(parts)


def _lag(lag: dict[str, Any]) -> str:
    if not lag["sources"] and not lag["deletes"]:
        return "up to date"
    parts = []
    if lag["sources"]:
        parts.append(f"{count(lag['sources'], 'change')} behind")
    if lag["seconds"] is not None:
        parts.append(f"the oldest is from {duration(lag['seconds'])} ago")
    if lag["errors"]:
        parts.append(f"{lag['errors']:,} failed and will be tried again")
    if lag["deletes"]:
        parts.append(f"{count(lag['deletes'], 'chunk')} to delete")
    return ", ".join(parts)


def _processes(processes: list[dict[str, Any]]) -> str:
    rows = [
        (
            each["id"],
            each["role"],
            f"{each['host']}:{each['pid']}",
            each["version"],
            each["serves"],
            ago(each["started_at"]),
            f"{each['silent_s']:.0f} s ago",
        )
        for each in processes
    ]
    headings = ("process", "role", "host and pid", "version", "serves", "started", "heart-beat")
    return table_of(headings, rows) if rows else "No server and no worker is running."


def _leases(leases: list[dict[str, Any]], names: dict[str, str]) -> str:
    rows = [
        (each["namespace"], each["holder"], names.get(each["holder"], "gone"), each["token"], ago(each["claimed_at"]))
        for each in leases
    ]
    headings = ("index", "process", "host and pid", "token", "since")
    return table_of(headings, rows) if rows else "No worker holds an index."
