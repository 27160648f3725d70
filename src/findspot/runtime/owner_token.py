"""The owner's token: it gives access to everything and is kept in the data folder. Reading it opens no database."""

import contextlib
import os
import secrets
from pathlib import Path
from typing import TYPE_CHECKING

from findspot.errors import FindspotError

if TYPE_CHECKING:
    from findspot.settings import Settings

PREFIX = "fsk_"  # of every secret that Findspot generates


def owner_token(settings: "Settings") -> str:
    """Return the owner's token: from the settings, else from the data folder. The first start generates one."""
    if settings.token is not None:
        return settings.token.get_secret_value()
    file = token_file(settings.data)
    if not file.exists():
        write(settings.data, PREFIX + secrets.token_urlsafe(32))
    token = kept(settings.data)
    if not token:
        raise FindspotError("STORE_UNAVAILABLE", f"{file} is empty. Delete it and start again to get a new token.")
    return token


def kept(folder: Path) -> str | None:
    """Return the token in a data folder, if there is one."""
    try:
        return token_file(folder).read_text().strip() or None
    except FileNotFoundError:
        return None


def token_file(folder: Path) -> Path:
    return folder / "owner-token"


def write(folder: Path, token: str) -> None:
    """Write a token atomically, unless the folder has one: of two processes, the first wins."""
    file = token_file(folder)
    temporary = file.with_name(f".{file.name}-{secrets.token_hex(4)}")
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w") as stream:
        stream.write(token + "\n")
        stream.flush()
        os.fsync(handle)
    with contextlib.suppress(FileExistsError):
        os.link(temporary, file)
    temporary.unlink()
