"""`findspot restore`: read a backup to its end, then write it into an empty store."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from findspot.surfaces.cli.failure import Failure
from findspot.surfaces.cli.formatting import size
from findspot.surfaces.cli.opening import opening_failures, read_settings
from findspot.surfaces.cli.printing import done, facts, show
from findspot.surfaces.cli.progress import show_progress

if TYPE_CHECKING:
    from findspot.content.backup import Verified
    from findspot.settings import Settings

_NOT_EMPTY_ADVICE = "Name an empty or new folder with --data, or an empty database with FINDSPOT_DATABASE_URL."
_SHOWN = ("projects", "tables", "documents", "versions")  # '--json' has the rows of all tables of the database
_DATABASES = {"sqlite": "SQLite", "postgresql": "PostgreSQL"}


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--check", is_flag=True, help="Only verify FILE and print what it contains.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--data", type=click.Path(path_type=Path), metavar="DIR", help="The data folder (FINDSPOT_DATA).")
def command(file: Path, check: bool, as_json: bool, data: Path | None) -> None:
    """Restore a backup into an empty data folder or database, completely or not at all.

    FILE is read to its end first. If it is truncated or altered, nothing is changed. A backup of SQLite can be restored
    into PostgreSQL and the other way round. No server may be running on the data folder. The owner's token is not in a
    backup: the next start creates a new one.

    \b
      findspot restore --check findspot.backup
      findspot restore findspot.backup --data other-folder
    """
    settings = None if check else read_settings(data)
    found = verify_backup(file, as_json)
    if settings is not None:
        _restore(found, settings, as_json)
    value = {"file": str(file), "restored": not check, **backup_value(found)}
    where = "" if settings is None else "PostgreSQL" if settings.database_url else str(settings.data)
    text = done(f"{file} is complete." if check else f"{file} is restored into {where}.")
    show(value, as_json, f"{text}\n{backup_facts(found)}")


def verify_backup(file: Path, silent: bool, advice: str = "Nothing was changed. Use another backup.") -> "Verified":
    """Read a backup to its end and return what it contains. Raise a Failure if it is damaged."""
    from findspot.content import backup as backups
    from findspot.content.backup_file import BadBackup

    try:
        with show_progress("Checking", file.stat().st_size, unit="bytes", silent=silent) as progress:
            return backups.verify(file, progress)
    except BadBackup as error:
        raise Failure(str(error), advice, 2) from None
    except OSError as error:
        raise Failure(f"{file} cannot be read: {error.strerror or error}.", exit_code=2) from None


def _restore(found: "Verified", settings: "Settings", silent: bool) -> None:
    from findspot.content import backup as backups
    from findspot.content.backup_file import BadBackup
    from findspot.runtime.data_folder import FolderInUse

    try:
        with (
            opening_failures(settings),
            show_progress("Restoring", found.size, unit="bytes", silent=silent) as progress,
        ):
            asyncio.run(backups.restore(found, settings, progress))
    except FolderInUse as error:
        raise Failure(str(error), exit_code=7) from None
    except backups.NotEmpty as error:
        raise Failure(str(error), _NOT_EMPTY_ADVICE, 5) from None
    except BadBackup as error:
        raise Failure(str(error), exit_code=2) from None


def backup_value(found: "Verified") -> dict[str, Any]:
    """Return what a backup contains, for --json."""
    header = found.header
    return {
        "created_at": header.created_at.isoformat().replace("+00:00", "Z"),
        "findspot": header.findspot,
        "schema": header.schema,
        "database": header.database,
        "bytes": found.size,
        "unpacked_bytes": found.unpacked,
        "rows": found.rows,
    }


def backup_facts(found: "Verified") -> str:
    """Return what a backup contains, as text."""
    header = found.header
    maker = f"Findspot {header.findspot} on {_DATABASES.get(header.database, header.database)}, schema {header.schema}"
    return facts(
        [
            ("created", f"{header.created_at:%Y-%m-%d %H:%M:%S} UTC by {maker}"),
            ("size", f"{size(found.size)}, {size(found.unpacked)} unpacked"),
            *((name, f"{found.rows.get(name, 0):,}") for name in _SHOWN),
        ]
    )
