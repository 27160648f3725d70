"""`findspot doctor`: checks everything an installation depends on, and prints what to do."""

import asyncio
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from findspot.errors import KINDS
from findspot.surfaces.cli import checks
from findspot.surfaces.cli.checks import Finding
from findspot.surfaces.cli.connect import opened_api
from findspot.surfaces.cli.elapsed import show_elapsed
from findspot.surfaces.cli.failure import Failure
from findspot.surfaces.cli.formatting import count, size
from findspot.surfaces.cli.index_status import status_of
from findspot.surfaces.cli.opening import read_settings
from findspot.surfaces.cli.printing import hang, show, styled

if TYPE_CHECKING:
    from findspot.settings import Settings
    from findspot.store.checkup import Report

_UNLOCK = "Find that process with 'fuser' or 'lsof', and end its transaction or stop it."
_MARKS = {"ok": ("✓", "green"), "note": ("·", "blue"), "warn": ("!", "yellow"), "bad": ("✗", "red")}


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--data", type=click.Path(path_type=Path), metavar="DIR", help="The data folder (FINDSPOT_DATA).")
def command(as_json: bool, data: Path | None) -> None:
    """Check versions, settings, data folder, disk, limits, embedder, database, engine and indexes, and print what to
    do.

    The exit code is 1 if there is a problem. A warning alone is not a problem.
    """
    settings = read_settings(data)
    findings = [
        *checks.versions(),
        checks.changed_settings(settings),
        *checks.unknown_settings(),
        checks.data_folder(settings.data),
        *checks.missing_database(settings),
        *checks.token(settings.data),
        checks.disk(settings.data),
        checks.open_files(settings),
        checks.server(settings),
        checks.embedder(settings),
        *checks.engine_service(settings),
        *asyncio.run(_database_and_indexes(settings, data, as_json)),
    ]
    failed = any(finding.state == "bad" for finding in findings)
    report = {"ok": not failed, "findings": [asdict(each) for each in findings]}
    show(report, as_json, _report(findings))
    if failed:
        sys.exit(1)


def _report(findings: Sequence[Finding]) -> str:
    width = max(len(finding.what) for finding in findings)
    lines = []
    for finding in findings:
        mark, colour = _MARKS[finding.state]
        lines.append(f"{styled(mark, fg=colour)} {finding.what:<{width}}  {hang(finding.detail, width + 4)}")
        if finding.advice:
            lines.append(" " * (width + 4) + styled(f"→ {hang(finding.advice, width + 6)}", fg=colour))
    return "\n".join([*lines, "", _verdict(findings)])


def _verdict(findings: Sequence[Finding]) -> str:
    states = [finding.state for finding in findings]
    found = [
        count(states.count(state), name) for state, name in (("bad", "problem"), ("warn", "warning")) if state in states
    ]
    return f"{' and '.join(found)} found." if found else "No problems found."


async def _database_and_indexes(settings: "Settings", data: Path | None, silent: bool) -> list[Finding]:
    database, report = await _database(settings, silent)
    if database.state != "ok" or report is None:
        return [database]
    database_and_owner = [database, _index_owner(settings, report)]
    try:
        async with opened_api(None, None, data, as_json=silent) as api:
            projects = (await api.call("GET", "/api/v1/projects"))["projects"]
            statuses = [await status_of(api, project["id"]) for project in projects]
    except Failure as failure:
        return [*database_and_owner, Finding("index", "bad", f"not checked: {failure.message}", failure.advice or "")]
    return [*database_and_owner, *checks.indexes(statuses, settings.engine)]


async def _database(settings: "Settings", silent: bool) -> "tuple[Finding, Report | None]":
    from findspot.errors import FindspotError
    from findspot.store.checkup import examine

    url = settings.database_url.get_secret_value() if settings.database_url else None
    file = settings.data.absolute() / "findspot.db"
    if url is None and not file.exists():
        return Finding("database", "note", "SQLite; the first start creates it"), None
    try:
        async with show_elapsed("Checking the database", silent):
            report = await examine(url, file)
    except FindspotError as error:
        detail = f"{error.message} {_reason(error.__cause__, url)}".strip()
        return Finding("database", "bad", detail, _advice(url)), None
    return _examined(report, file), report


def _examined(report: "Report", file: Path) -> Finding:
    if report.damage:
        return _damaged(report.damage, file)
    if report.locked:
        return Finding("database", "bad", f"{file} is locked: another process keeps all others from writing", _UNLOCK)
    version = f"{report.name}, schema {report.schema}"
    if report.newer:
        return Finding("database", "bad", f"{version} is of a newer Findspot", "Start that version, or a later one.")
    if not report.current:
        return Finding("database", "note", f"{version}; the next start migrates it")
    return Finding("database", "ok", f"{version}, {size(report.size)}")


def _index_owner(settings: "Settings", report: "Report") -> Finding:
    """Say which engine and data folder hold the index, and whether this folder may use it."""
    from findspot.errors import FindspotError
    from findspot.runtime import installation
    from findspot.runtime.deployment import refusal

    owner = report.owner
    if settings.database_url is None:
        return Finding("index owner", "ok", f"{settings.engine}, for the database in this data folder")
    if owner is None:
        return Finding("index owner", "note", "none yet; the first server becomes it")
    try:
        sentence = refusal(owner, settings, installation.read(settings.data))
    except FindspotError as error:  # the file in the folder is damaged
        sentence = error.message
    if sentence is not None:
        return Finding("index owner", "bad", sentence, KINDS["INDEX_ELSEWHERE"].advice)
    where = f", {owner.folder} on {owner.host}, installation {owner.installation_id}" if owner.folder else ""
    return Finding("index owner", "ok", f"{owner.engine}{where}, since {owner.claimed_at:%Y-%m-%d %H:%M} UTC")


def _damaged(damage: str, file: Path) -> Finding:
    advice = f"Stop the server and keep a copy of {file}; then restore a backup, or run: sqlite3 {file} .recover"
    return Finding("database", "bad", f"{file} is damaged: {' '.join(damage.split())}", advice)


def _reason(error: BaseException | None, url: str | None) -> str:
    """Return the driver's message in one line, without the URL, which may contain a password."""
    from sqlalchemy import make_url

    message = " ".join(str(getattr(error, "orig", None) or error or "").split())
    password = make_url(url).password if url else None
    for secret in filter(None, (url, str(password) if password else None)):
        message = message.replace(secret, "…")
    return message


def _advice(url: str | None) -> str:
    if url is None:
        return "Check that no other program locks the file, and the permissions of the data folder."
    return "Check FINDSPOT_DATABASE_URL and that PostgreSQL is running: psql \"$FINDSPOT_DATABASE_URL\" -c 'select 1'"
