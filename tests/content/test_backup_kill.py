"""kill -9 at several points of a restore."""

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from findspot.app import open_app
from findspot.content import backup as backups
from tests.content.backups import NewSettings, backed_up, everything, filled_tables, listing

_KILLED = """
import importlib, os, signal, sys
from findspot.surfaces.cli.main import run

module, name, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
owner = importlib.import_module(module)
if "." in name:
    kind, name = name.split(".")
    owner = getattr(owner, kind)
real = getattr(owner, name)

def counted(*args, **kwargs):
    global count
    count -= 1
    if count == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return real(*args, **kwargs)

setattr(owner, name, counted)
run(sys.argv[4:])
"""
_EITHER_DATABASE = [
    ("findspot.store.snapshot", "load", 7),
    ("findspot.store.migrate", "upgrade", 1),
]
_SQLITE_ONLY = [
    ("os", "fsync", 1),  # of the new file
    ("pathlib", "Path.unlink", 6),  # the old file is deleted, but not its log
    ("pathlib", "Path.replace", 1),
    ("os", "fsync", 2),  # of the folder: the new file has replaced the old one
]


@pytest.mark.parametrize(
    ("kind", "place"),
    [
        *(("sqlite", place) for place in (*_EITHER_DATABASE, *_SQLITE_ONLY)),
        *(("postgres", place) for place in _EITHER_DATABASE),
    ],
)
async def test_a_killed_restore_leaves_nothing_or_everything(
    kind: str, place: tuple[str, str, int], whole: bytes, new_settings: NewSettings, tmp_path: Path
) -> None:
    target, file = new_settings("target", kind), tmp_path / "a"
    file.write_bytes(whole)
    async with open_app(target, worker=False):  # creates an empty store with its log file
        pass
    command = ["-c", _KILLED, *map(str, place), "restore", str(file), "--data", str(target.data)]
    url = {"FINDSPOT_DATABASE_URL": target.database_url.get_secret_value()} if target.database_url else {}
    process = await asyncio.create_subprocess_exec(sys.executable, *command, env={**os.environ, **url})
    assert await process.wait() == -signal.SIGKILL
    left = await everything(target)
    verified = backups.verify(file)
    if place == _SQLITE_ONLY[-1]:
        with pytest.raises(backups.NotEmpty):
            await backups.restore(verified, target)
    else:
        assert filled_tables(left) == []
        await backups.restore(verified, target)
        left = await everything(target)
    assert {name: len(rows) for name, rows in backed_up(left).items() if name != "last ids"} == verified.rows
    assert not any("restoring" in name for name in listing(target.data))
