"""The installation id of a data folder whose index belongs to a PostgreSQL database.

The id changes whenever a server starts. So of two copies of a folder, only the one that was started last is current.
"""

import contextlib
import json
import os
import secrets
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from findspot.errors import FindspotError

if TYPE_CHECKING:
    from findspot.settings import Settings

FILE = "installation.json"


@dataclass(frozen=True, slots=True)
class Installation:
    """What the file says: the id, the id before it, and the database, without user and password.

    The id before is valid until the database has recorded the new one.
    """

    id: str
    previous_id: str | None
    database: str

    def renewed(self, database: str) -> "Installation":
        return Installation(secrets.token_hex(8), self.id, database)


def new(database: str) -> Installation:
    return Installation(secrets.token_hex(8), None, database)


def read(folder: Path) -> Installation | None:
    """Return the installation of a data folder; None if no server has used it with PostgreSQL."""
    file = folder / FILE
    try:
        found = json.loads(file.read_bytes())
        return Installation(found["id"], found["previous_id"], found["database"])
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (ValueError, KeyError, TypeError):
        message = f"{file} is damaged. Restore it from a copy, or delete it and start with --take-over."
        raise FindspotError("INDEX_ELSEWHERE", message) from None


def write(folder: Path, installation: Installation) -> None:
    """Replace the file in one step, and sync it to disk."""
    temporary = folder / f".{FILE}-{secrets.token_hex(4)}"
    try:
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w") as stream:
            json.dump(asdict(installation), stream)
            stream.flush()
            os.fsync(handle)
        temporary.replace(folder / FILE)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise


def missing_database(settings: "Settings") -> str | None:
    """Return a sentence if the data folder belongs to a PostgreSQL database and the settings name none."""
    if settings.database_url is not None:
        return None
    found = read(settings.data)
    if found is None:
        return None
    return (
        f"The data folder {settings.data} belongs to the PostgreSQL database {found.database}, but "
        "FINDSPOT_DATABASE_URL is not set. Set it; or name another folder with --data; or, to use this folder with "
        f"SQLite from now on, delete {settings.data / FILE}."
    )


def require_database(settings: "Settings") -> None:
    """Raise INDEX_ELSEWHERE if the data folder belongs to a PostgreSQL database and the settings name none."""
    if (sentence := missing_database(settings)) is not None:
        raise FindspotError("INDEX_ELSEWHERE", sentence)
