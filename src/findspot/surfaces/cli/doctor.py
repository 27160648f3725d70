"""`findspot doctor`: looks at everything an installation stands on, and says what to do."""

import asyncio
import importlib.metadata
import os
import platform
import shutil
import sqlite3
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from findspot import __version__
from findspot.surfaces.cli.connect import read_settings

if TYPE_CHECKING:
    from findspot.settings import Settings

_LOW_DISK = 2 * 1024**3
_PACKAGES = ("fastapi", "uvicorn", "sqlalchemy", "alembic", "aiosqlite", "psycopg", "msgspec", "pydantic")
_MARKS = {"ok": ("✓", "green"), "note": ("·", "blue"), "warn": ("!", "yellow"), "bad": ("✗", "red")}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at."""

    what: str
    state: Literal["ok", "note", "warn", "bad"]
    detail: str
    advice: str = ""


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Output for machines.")
@click.option("--data", type=click.Path(path_type=Path), metavar="DIR", help="Data folder (FINDSPOT_DATA).")
def command(as_json: bool, data: Path | None) -> None:
    """Check settings, data folder, disk, database and versions, and say what to do.

    Exits with 1 if anything is wrong.
    """
    import json

    settings = read_settings(data)
    findings = [*_versions(), *_settings(settings), _folder(settings.data), _disk(settings.data), _server(settings)]
    findings += asyncio.run(_database(settings))
    wrong = sum(finding.state == "bad" for finding in findings)
    if as_json:
        click.echo(json.dumps({"ok": not wrong, "findings": [asdict(each) for each in findings]}, ensure_ascii=False))
    else:
        _print(findings, wrong)
    if wrong:
        sys.exit(1)


def _print(findings: list[Finding], wrong: int) -> None:
    width = max(len(finding.what) for finding in findings)
    for finding in findings:
        mark, colour = _MARKS[finding.state]
        click.echo(f"{click.style(mark, fg=colour)} {finding.what:<{width}}  {finding.detail}")
        if finding.advice:
            click.echo(" " * (width + 4) + click.style("→ " + finding.advice, fg=colour))
    click.echo(f"\n{wrong} problem{'s' if wrong != 1 else ''} found." if wrong else "\nAll is well.")


def _versions() -> list[Finding]:
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in _PACKAGES)
    system = (
        f"{platform.python_implementation()} {platform.python_version()}, {platform.system()}, {os.cpu_count()} cores"
    )
    return [
        Finding("findspot", "ok", __version__),
        Finding("python", "ok", system),
        Finding("packages", "ok", f"{versions}, SQLite {sqlite3.sqlite_version}"),
    ]


def _settings(settings: "Settings") -> list[Finding]:
    """Those that differ from their defaults; secrets are only said to be set."""
    changed = []
    for name, field in type(settings).model_fields.items():
        value = getattr(settings, name)
        if value != field.get_default():
            changed.append(f"{field.alias}={'(set)' if 'Secret' in str(field.annotation) else value}")
    return [Finding("settings", "ok", ", ".join(changed) or "all at their defaults")]


def _folder(folder: Path) -> Finding:
    if not folder.exists():
        return Finding("data folder", "note", f"{folder.resolve()} is not there yet; the first start makes it")
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        return Finding(
            "data folder", "bad", f"{folder.resolve()} cannot be written", f"chown or chmod it: chmod u+rwx {folder}"
        )
    if folder.stat().st_mode & 0o077:
        return Finding("data folder", "warn", f"{folder.resolve()} is open to other users", f"chmod 700 {folder}")
    token = folder / "owner-token"
    if token.exists() and token.stat().st_mode & 0o077:
        return Finding("data folder", "bad", "the owner's token can be read by other users", f"chmod 600 {token}")
    return Finding("data folder", "ok", str(folder.resolve()))


def _disk(folder: Path) -> Finding:
    there = next(each for each in (folder.absolute(), *folder.absolute().parents) if each.exists())
    free = shutil.disk_usage(there).free
    detail = f"{free / 1024**3:.1f} GiB free"
    if free < _LOW_DISK:
        return Finding(
            "disk", "bad", detail, "Make room or move the data folder with FINDSPOT_DATA; writes fail when it is full."
        )
    return Finding("disk", "ok", detail)


def _server(settings: "Settings") -> Finding:
    from findspot.datafolder import owner_of

    owner = owner_of(settings.data)
    if owner is None:
        return Finding("server", "note", "not running on this data folder; 'findspot serve' starts it")
    return Finding("server", "ok", f"running at {owner.url} (process {owner.pid})")


async def _database(settings: "Settings") -> list[Finding]:
    from findspot.errors import FindspotError
    from findspot.store.checkup import examine

    url = settings.database_url.get_secret_value() if settings.database_url else None
    file = settings.data / "findspot.db"
    if url is None and not file.exists():
        return [Finding("database", "note", "SQLite; the first start makes it")]
    try:
        report = await examine(url, file)
    except FindspotError as error:
        return [
            Finding("database", "bad", f"{error.message} ({error.__cause__.__class__.__name__})", _database_advice(url))
        ]
    if report.damage:
        advice = f"Stop the server, keep a copy of {file}, then restore a backup or run: sqlite3 {file} .recover"
        return [Finding("database", "bad", f"damaged: {report.damage}", advice)]
    if not report.current:
        return [
            Finding("database", "note", f"{report.name}, schema {report.schema}; the next start brings it up to date")
        ]
    return [Finding("database", "ok", f"{report.name}, schema {report.schema}, {report.size / 1024**2:.1f} MiB")]


def _database_advice(url: str | None) -> str:
    if url is None:
        return "Check that no other program holds the file, and the rights of the data folder."
    return "Check FINDSPOT_DATABASE_URL and that PostgreSQL is running: psql \"$FINDSPOT_DATABASE_URL\" -c 'select 1'"
