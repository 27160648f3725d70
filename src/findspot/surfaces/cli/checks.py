"""Checks of `findspot doctor`, except the database: versions, settings, data folder, disk, limits, server, search."""

import contextlib
import importlib.metadata
import os
import platform
import re
import shutil
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from findspot import __version__
from findspot.errors import KINDS
from findspot.runtime import descriptors
from findspot.runtime.owner_token import token_file
from findspot.surfaces.cli import opening
from findspot.surfaces.cli.formatting import count, size
from findspot.surfaces.cli.index_status import progress_line

if TYPE_CHECKING:
    import httpx2

    from findspot.settings import Settings

_LOW_DISK = 2_000_000_000
_FEW_DESCRIPTORS = 1_024
_PACKAGES = ("fastapi", "uvicorn", "sqlalchemy", "alembic", "aiosqlite", "psycopg", "msgspec", "pydantic")
_FIND_HOLDER = "To find the process, run: fuser -v"
_PASSWORD = re.compile(r"(?<=://)[^/@\s]+(?=@)")


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check."""

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
    """Report settings that differ from their defaults, and secrets as '(set)'."""
    from pydantic import SecretStr

    changed = []
    for name, field in type(settings).model_fields.items():
        value = getattr(settings, name)
        if value != field.get_default():
            shown = "(set)" if isinstance(value, SecretStr) else _PASSWORD.sub("…", str(value))
            changed.append(f"{field.alias}={shown}")
    return Finding("settings", "ok", ", ".join(changed) or "all are at their defaults")


def unknown_settings() -> list[Finding]:
    return [Finding("unknown setting", "warn", *each) for each in opening.unknown_settings()]


def embedder(settings: "Settings") -> Finding:
    """Embed a short text, as a search does."""
    from findspot.errors import FindspotError
    from findspot.runtime.embedders import open_embedder

    try:
        with contextlib.closing(open_embedder(settings)) as opened:
            vector = opened.query("A short text 短文")
            return Finding("embedder", "ok", f"{opened.id}, {len(vector)} dimensions")
    except FindspotError as error:
        advice = f"{error.kind.advice} Until then searches answer by keywords."
        return Finding("embedder", "bad", f"{settings.embedder}: {error.message}", advice)


def engine_service(settings: "Settings") -> list[Finding]:
    """Ask the service of a remote engine for its namespaces."""
    if settings.engine == "embedded":
        return []
    from findspot.engines.opening import namespaces_of_service
    from findspot.errors import FindspotError

    where = settings.turbopuffer_base_url or settings.turbopuffer_region or "no region"
    try:
        found = namespaces_of_service(settings)
    except FindspotError as error:
        advice = f"{error.kind.advice} Until then nothing is found, and new content waits to be indexed."
        return [Finding("turbopuffer", "bad", f"{where}: {error.message}", advice)]
    return [Finding("turbopuffer", "ok", f"{where}, {count(len(found), 'namespace')}")]


def indexes(statuses: Sequence[Mapping[str, Any]], engine: str) -> list[Finding]:
    """Report the indexes of all projects, from their statuses."""
    errors = [f"{each['namespace']}: {each['message']}" for status in statuses for each in status["last_errors"]]
    found = [index for status in statuses for index in status["namespaces"]]
    used = size(sum(status["disk"]["index_bytes"] for status in statuses))
    behind = [index for index in found if index["step"] != "ready"]
    unavailable = [error for error in errors if "ENGINE_UNAVAILABLE" in error]
    if unavailable:
        first = Finding("engine", "bad", f"{engine}: {unavailable[0]}", KINDS["ENGINE_UNAVAILABLE"].advice)
    else:
        number = "1 index" if len(found) == 1 else f"{len(found):,} indexes"
        first = Finding("engine", "ok", f"{engine}, {number}, {used}")
    if errors:
        more = f" ({len(errors) - 1} more)" if len(errors) > 1 else ""
        advice = "'findspot project status' shows all errors; 'findspot reindex --all' builds new indexes."
        return [first, Finding("index", "bad", errors[0] + more, advice)]
    if behind:
        detail = (
            f"{len(behind)} of {len(found)} are not up to date; {behind[0]['namespace']}: {progress_line(behind[0])}"
        )
        return [first, Finding("index", "note", detail)]
    return [
        first,
        Finding("index", "ok", f"{count(sum(each['chunks'] for each in statuses), 'chunk')}, all up to date"),
    ]


def data_folder(folder: Path) -> Finding:
    what, where = "data folder", folder.absolute()
    if not folder.exists():
        return Finding(what, "note", f"{where} does not exist yet; the first start creates it")
    if not folder.is_dir():
        return Finding(
            what, "bad", f"{where} is a file, not a folder", "Choose another folder with FINDSPOT_DATA or --data."
        )
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        return Finding(
            what, "bad", f"{where} is not writable", f"Change its owner with chown, or run: chmod u+rwx {where}"
        )
    if folder.stat().st_mode & 0o077:
        return Finding(what, "warn", f"{where} is open to other users of this machine", f"Run: chmod 700 {where}")
    return Finding(what, "ok", str(where))


def token(folder: Path) -> list[Finding]:
    """Check the file with the owner's token, if it exists."""
    what, file = "owner's token", token_file(folder.absolute())
    try:
        mode, length = file.stat().st_mode, file.stat().st_size
    except OSError:  # not created yet, or the data folder is not a folder, which another check reports
        return []
    if not length:
        return [Finding(what, "bad", f"{file} is empty", "Remove it: the next start creates a new one.")]
    if mode & 0o077:
        advice = f"Run: chmod 600 {file}. If others may have read it, remove it: the next start creates a new one."
        return [Finding(what, "bad", f"{file} is readable by other users of this machine", advice)]
    return [Finding(what, "ok", f"in {file}")]


def missing_database(settings: "Settings") -> list[Finding]:
    """Report a data folder that belongs to a PostgreSQL database, if the settings name none."""
    from findspot.errors import FindspotError
    from findspot.runtime import installation

    try:
        sentence = installation.missing_database(settings)
    except FindspotError as error:
        sentence = error.message
    return [Finding("index owner", "bad", sentence, KINDS["INDEX_ELSEWHERE"].advice)] if sentence else []


def disk(folder: Path) -> Finding:
    existing = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
    free = shutil.disk_usage(existing).free
    if free < _LOW_DISK:
        advice = "Free some space, or move the data folder with FINDSPOT_DATA. Nothing can be saved on a full disk."
        return Finding("disk", "bad", f"only {size(free)} free", advice)
    return Finding("disk", "ok", f"{size(free)} free")


def open_files(settings: "Settings") -> Finding:
    """Report the limit on open files that a server started here would have."""
    limit = descriptors.current().raised
    clients = limit.connections(settings.max_connections)
    detail = f"up to {limit.soft:,}, of these {clients:,} for client connections"
    if limit.soft < _FEW_DESCRIPTORS:
        advice = (
            f"Raise the hard limit to {_FEW_DESCRIPTORS:,} or more: LimitNOFILE= (systemd), --ulimit nofile= (Docker), "
            "or /etc/security/limits.conf."
        )
        return Finding("open files", "warn", detail, advice)
    return Finding("open files", "ok", detail)


def server(settings: "Settings") -> Finding:
    """Check whether a server owns the data folder, and whether it answers."""
    import httpx2

    from findspot.runtime.data_folder import owner_of

    try:
        owner = None if settings.shared else owner_of(settings.data)
    except OSError:  # the folder is not readable, which another check reports
        owner = None
    if owner is not None and owner.pid is None:
        detail = "a process holds the data folder, but its file 'lock' was deleted: commands cannot find the server"
        return Finding("server", "bad", detail, f"Restart the server. {_FIND_HOLDER} {settings.data.absolute()}")
    if owner is None or owner.url is None:
        return Finding("server", "note", "not running on this data folder; 'findspot serve' starts it")
    where = f"{owner.url} (process {owner.pid})"
    try:
        httpx2.get(f"{owner.url}/healthz", timeout=5, trust_env=False).raise_for_status()
        ready = httpx2.get(f"{owner.url}/readyz", timeout=5, trust_env=False)
    except httpx2.HTTPError as error:
        advice = f"Read its log. To stop it, run: kill {owner.pid}"
        return Finding("server", "bad", f"{where} does not answer: {error}", advice)
    if not ready.is_success:
        return Finding("server", "bad", f"{where} is not ready. {_reason(ready)}", _advice(ready))
    return Finding("server", "ok", f"running at {where}")


def _reason(answer: "httpx2.Response") -> str:
    return str(_body(answer).get("message", f"It answers with status {answer.status_code}."))


def _advice(answer: "httpx2.Response") -> str:
    kind = KINDS.get(_body(answer).get("code", ""))
    return kind.advice if kind else "Read its log."


def _body(answer: "httpx2.Response") -> dict[str, Any]:
    try:
        body = answer.json()
    except ValueError:  # something else answers at this address
        return {}
    return body if isinstance(body, dict) else {}
