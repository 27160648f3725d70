"""`findspot restore`: a backup is read to its end, and only then put into an empty store."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from findspot.surfaces.cli.opening import read_settings, said_plainly
from findspot.surfaces.cli.outcome import Failure
from findspot.surfaces.cli.printing import done, facts, show
from findspot.surfaces.cli.progress import following
from findspot.surfaces.cli.wording import size

if TYPE_CHECKING:
    from findspot.content.backup import Verified
    from findspot.settings import Settings

_ELSEWHERE = "Name an empty or new folder with --data, or an empty database with FINDSPOT_DATABASE_URL."
_DATABASES = {"sqlite": "SQLite", "postgresql": "PostgreSQL"}


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--check", is_flag=True, help="Only read FILE to its end and say what is in it.")
@click.option("--json", "as_json", is_flag=True, help="Output for machines.")
@click.option("--data", type=click.Path(path_type=Path), metavar="DIR", help="The data folder (FINDSPOT_DATA).")
def command(file: Path, check: bool, as_json: bool, data: Path | None) -> None:
    """Put a backup into an empty data folder or database: all of it, or nothing.

    FILE is read to its end first; if it is cut off or altered, nothing is touched. It may come from SQLite or
    PostgreSQL and go into either. No server may be running on the data folder. The owner's token is not in a backup:
    the next start makes a new one.

    \b
      findspot restore --check findspot.backup
      findspot restore findspot.backup --data elsewhere
    """
    settings = None if check else read_settings(data)
    found = verified(file, as_json)
    if settings is not None:
        _restore(found, settings, as_json)
    value = {"file": str(file), "restored": not check, **contents(found)}
    where = "" if settings is None else "PostgreSQL" if settings.database_url else str(settings.data)
    text = done(f"{file} is whole." if check else f"{file} is restored into {where}.")
    show(value, as_json, f"{text}\n{told(found)}")


def verified(file: Path, silent: bool, advice: str = "Nothing was touched. Use another backup.") -> "Verified":
    """A backup read to its end, or a Failure that says what is wrong with it."""
    from findspot.content import backup as backups
    from findspot.content.backup_file import BadBackup

    try:
        with following("Checking", file.stat().st_size, unit="bytes", silent=silent) as moved:
            return backups.verify(file, moved)
    except BadBackup as error:
        raise Failure(str(error), advice, 2) from None
    except OSError as error:
        raise Failure(f"{file} cannot be read: {error.strerror or error}.", exit_code=2) from None


def _restore(found: "Verified", settings: "Settings", silent: bool) -> None:
    from findspot.content import backup as backups
    from findspot.content.backup_file import BadBackup
    from findspot.runtime.data_folder import FolderInUse

    try:
        with said_plainly(settings), following("Restoring", found.size, unit="bytes", silent=silent) as moved:
            asyncio.run(backups.restore(found, settings, moved))
    except FolderInUse as error:
        raise Failure(str(error), exit_code=7) from None
    except backups.NotEmpty as error:
        raise Failure(str(error), _ELSEWHERE, 5) from None
    except BadBackup as error:
        raise Failure(str(error), exit_code=2) from None


def contents(found: "Verified") -> dict[str, Any]:
    """What is in a backup, for machines."""
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


def told(found: "Verified") -> str:
    """What is in a backup, for people."""
    header = found.header
    maker = f"Findspot {header.findspot} on {_DATABASES.get(header.database, header.database)}, schema {header.schema}"
    rows = [(name.replace("_", " "), f"{count:,}") for name, count in found.rows.items() if count]
    return facts(
        [
            ("made", f"{header.created_at:%Y-%m-%d %H:%M:%S} UTC by {maker}"),
            ("size", f"{size(found.size)}, {size(found.unpacked)} unpacked"),
            *(rows or [("rows", "none")]),
        ]
    )
