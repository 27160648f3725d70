"""`findspot backup`: write a snapshot of the whole installation to one file."""

import asyncio
import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import click

from findspot.surfaces.cli.connect import Api, api_command
from findspot.surfaces.cli.failure import Failure
from findspot.surfaces.cli.formatting import size
from findspot.surfaces.cli.printing import done, show
from findspot.surfaces.cli.progress import show_progress
from findspot.surfaces.cli.restore import backup_facts, backup_value, verify_backup

_ROUTE = "/internal/backup"


@click.command()
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
@click.option("--force", is_flag=True, help="Replace FILE if it exists.")
@click.option("--without-embeddings", is_flag=True, help="Omit embeddings; they can be calculated again.")
@api_command
async def command(api: Api, file: Path, force: bool, without_embeddings: bool) -> None:
    """Save a snapshot of everything to FILE while the server keeps running.

    FILE appears only when it is complete and has been read back. '-' writes to standard output instead. Only the owner
    may do this. The owner's token is not in the backup.

    \b
      findspot backup findspot.backup
      findspot restore findspot.backup --data other-folder
    """
    query = {"embeddings": "false"} if without_embeddings else {}
    if str(file) == "-":
        await _to_standard_output(api, query)
        return
    _require_free(file, force)
    partial = file.with_name(file.name + ".partial")
    with _removed_on_failure(partial):
        with _synced_file(partial) as out:
            await _save(api, query, out)
        found = verify_backup(partial, api.as_json, "It was removed. Run the backup again.")
        _put_in_place(partial, file)
    value = {"file": str(file), **backup_value(found)}
    show(
        value,
        api.as_json,
        done(f"{file} contains everything saved until now: {size(found.size)}.\n{backup_facts(found)}"),
    )


def _require_free(file: Path, force: bool) -> None:
    if file.is_dir():
        raise Failure(f"{file} is a folder; a file is needed.", exit_code=2)
    if file.exists() and not force:
        raise Failure(f"{file} exists already.", "Choose another name, or replace it with --force.", 5)


async def _save(api: Api, query: dict[str, str], out: BinaryIO) -> None:
    received = 0
    with show_progress("Saving", None, unit="bytes", silent=api.as_json) as progress:
        async with api.stream("GET", _ROUTE, params=query) as response:
            async for piece in response.aiter_raw():
                await asyncio.to_thread(out.write, piece)
                received += len(piece)
                progress(received)


async def _to_standard_output(api: Api, query: dict[str, str]) -> None:
    if api.as_json or sys.stdout.isatty():
        advice = "Omit --json." if api.as_json else "Pipe it to a program, or name a file: findspot backup FILE"
        raise Failure("A backup is binary and cannot be printed.", advice, 2)
    try:
        await _save(api, query, sys.stdout.buffer)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise Failure("The program that read the backup stopped before its end.") from None


@contextlib.contextmanager
def _synced_file(file: Path) -> Iterator[BinaryIO]:
    """Open a new file that only its owner can read. It is synced to disk when the block succeeds."""
    try:
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "wb") as out:
            yield out
            out.flush()
            os.fsync(handle)
    except OSError as error:
        raise Failure(f"{file} cannot be written: {error.strerror or error}.", exit_code=2) from None


@contextlib.contextmanager
def _removed_on_failure(file: Path) -> Iterator[None]:
    try:
        yield
    except BaseException:
        with contextlib.suppress(OSError):
            file.unlink(missing_ok=True)
        raise


def _put_in_place(partial: Path, file: Path) -> None:
    partial.replace(file)
    handle = os.open(file.absolute().parent, os.O_RDONLY)
    try:
        os.fsync(handle)  # sync the new name to disk, too
    finally:
        os.close(handle)
