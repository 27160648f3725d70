"""The owner's token: what opens everything, kept in the data folder. Reading it loads no database."""

import contextlib
import os
import secrets
from pathlib import Path
from typing import TYPE_CHECKING

from findspot.errors import FindspotError

if TYPE_CHECKING:
    from findspot.settings import Settings

PREFIX = "fsk_"  # of every secret that Findspot makes


def owner_token(settings: "Settings") -> str:
    """The owner's token: from the settings, else from the data folder, where the first start leaves a new one."""
    if settings.token is not None:
        return settings.token.get_secret_value()
    file = token_file(settings.data)
    if not file.exists():
        _write(file)
    token = kept(settings.data)
    if not token:
        raise FindspotError("STORE_UNAVAILABLE", f"{file} is empty. Delete it and start again to get a new token.")
    return token


def kept(folder: Path) -> str | None:
    """The token that a data folder holds, if it does."""
    try:
        return token_file(folder).read_text().strip() or None
    except FileNotFoundError:
        return None


def token_file(folder: Path) -> Path:
    return folder / "owner-token"


def _write(file: Path) -> None:
    """Leave a new token, whole: written aside and linked into place, so that of two processes one wins."""
    aside = file.with_name(f".{file.name}-{secrets.token_hex(4)}")
    handle = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w") as stream:
        stream.write(PREFIX + secrets.token_urlsafe(32) + "\n")
        stream.flush()
        os.fsync(handle)
    with contextlib.suppress(FileExistsError):
        os.link(aside, file)
    aside.unlink()
