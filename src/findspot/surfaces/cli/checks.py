"""What the doctor looks at outside the database: versions, settings, data folder, disk, a running server."""

import importlib.metadata
import os
import platform
import re
import shutil
import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from findspot import __version__
from findspot.surfaces.cli.wording import size

if TYPE_CHECKING:
    from findspot.settings import Settings

_LOW_DISK = 2_000_000_000
_PACKAGES = ("fastapi", "uvicorn", "sqlalchemy", "alembic", "aiosqlite", "psycopg", "msgspec", "pydantic")
_PASSWORD = re.compile(r"(?<=://)[^/@\s]+(?=@)")


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at."""

    what: str
    state: Literal["ok", "note", "warn", "bad"]
    detail: str
    advice: str = ""


def versions() -> list[Finding]:
    packages = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in _PACKAGES)
    system = f"{platform.python_implementation()} {platform.python_version()}, {platform.system()}"
    return [
        Finding("findspot", "ok", __version__),
        Finding("python", "ok", f"{system}, {os.cpu_count()} cores"),
        Finding("packages", "ok", f"{packages}, SQLite {sqlite3.sqlite_version}"),
    ]


def changed_settings(settings: "Settings") -> Finding:
    """Those that differ from their defaults; secrets are only said to be set."""
    from pydantic import SecretStr

    changed = []
    for name, field in type(settings).model_fields.items():
        value = getattr(settings, name)
        if value != field.get_default():
            shown = "(set)" if isinstance(value, SecretStr) else _PASSWORD.sub("…", str(value))
            changed.append(f"{field.alias}={shown}")
    return Finding("settings", "ok", ", ".join(changed) or "all at their defaults")


def data_folder(folder: Path) -> Finding:
    what, where = "data folder", folder.absolute()
    if not folder.exists():
        return Finding(what, "note", f"{where} is not there yet; the first start makes it")
    if not folder.is_dir():
        return Finding(what, "bad", f"{where} is a file, not a folder", "Choose another with FINDSPOT_DATA or --data.")
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        return Finding(what, "bad", f"{where} cannot be written", f"Take it over with chown, or: chmod u+rwx {where}")
    if folder.stat().st_mode & 0o077:
        return Finding(what, "warn", f"{where} is open to other users of this machine", f"Close it: chmod 700 {where}")
    return Finding(what, "ok", str(where))


def token(folder: Path) -> list[Finding]:
    """The file with the owner's token, if there is one."""
    what, file = "owner's token", folder.absolute() / "owner-token"
    try:
        mode, length = file.stat().st_mode, file.stat().st_size
    except OSError:  # not made yet, or the folder is no folder, which is found elsewhere
        return []
    if not length:
        return [Finding(what, "bad", f"{file} is empty", f"Remove it; the next start makes a new one: rm {file}")]
    if mode & 0o077:
        advice = f"Close it: chmod 600 {file}. If others may have read it, remove it; the next start makes a new one."
        return [Finding(what, "bad", f"{file} can be read by other users of this machine", advice)]
    return [Finding(what, "ok", f"in {file}")]


def disk(folder: Path) -> Finding:
    there = next(each for each in (folder.absolute(), *folder.absolute().parents) if each.exists())
    free = shutil.disk_usage(there).free
    if free < _LOW_DISK:
        advice = "Make room, or move the data folder with FINDSPOT_DATA; nothing can be written when it is full."
        return Finding("disk", "bad", f"only {size(free)} free", advice)
    return Finding("disk", "ok", f"{size(free)} free")


def server(settings: "Settings") -> Finding:
    """The server that owns the data folder: is there one, and does it answer?"""
    import httpx2

    from findspot.runtime.data_folder import owner_of

    try:
        owner = None if settings.shared else owner_of(settings.data)
    except OSError:  # a folder that cannot be read; found elsewhere
        owner = None
    if owner is None or owner.url is None:
        return Finding("server", "note", "not running on this data folder; 'findspot serve' starts it")
    where = f"{owner.url} (process {owner.pid})"
    try:
        httpx2.get(f"{owner.url}/healthz", timeout=5, trust_env=False).raise_for_status()
    except httpx2.HTTPError as error:
        advice = f"Look at its log; end it with: kill {owner.pid}"
        return Finding("server", "bad", f"{where} does not answer: {error}", advice)
    return Finding("server", "ok", f"running at {where}")
