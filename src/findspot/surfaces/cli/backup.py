"""`findspot backup`: everything in an installation, at one moment, as one file."""

import asyncio
import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import click

from findspot.surfaces.cli.connect import Api, api_command
from findspot.surfaces.cli.outcome import Failure
from findspot.surfaces.cli.printing import done, show
from findspot.surfaces.cli.progress import following
from findspot.surfaces.cli.restore import contents, told, verified
from findspot.surfaces.cli.wording import size

_ROUTE = "/internal/backup"


@click.command()
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
@click.option("--force", is_flag=True, help="Replace FILE if it is there.")
@click.option("--without-embeddings", is_flag=True, help="Leave out what can be calculated anew.")
@api_command
async def command(api: Api, file: Path, force: bool, without_embeddings: bool) -> None:
    """Save everything at one moment to FILE, while the server goes on working.

    FILE appears only once it is complete and has been read back. '-' writes to standard output instead. It works for
    the owner only, and the owner's token is not in it.

    \b
      findspot backup findspot.backup
      findspot restore findspot.backup --data elsewhere
    """
    query = {"embeddings": "false"} if without_embeddings else {}
    if str(file) == "-":
        await _to_standard_output(api, query)
        return
    _check_free(file, force)
    partial = file.with_name(file.name + ".partial")
    with _removed_on_failure(partial):
        with _writing(partial) as out:
            await _save(api, query, out)
        found = verified(partial, api.as_json, "It was not kept. Make it again.")
        _put_in_place(partial, file)
    value = {"file": str(file), **contents(found)}
    show(value, api.as_json, done(f"{file} holds everything up to now: {size(found.size)}.\n{told(found)}"))


def _check_free(file: Path, force: bool) -> None:
    if file.is_dir():
        raise Failure(f"{file} is a folder; a file is needed.", exit_code=2)
    if file.exists() and not force:
        raise Failure(f"{file} is there already.", "Choose another name, or replace it with --force.", 5)


async def _save(api: Api, query: dict[str, str], out: BinaryIO) -> None:
    passed = 0
    with following("Saving", None, unit="bytes", silent=api.as_json) as moved:
        async with api.stream("GET", _ROUTE, params=query) as answer:
            async for piece in answer.aiter_raw():
                await asyncio.to_thread(out.write, piece)
                passed += len(piece)
                moved(passed)


async def _to_standard_output(api: Api, query: dict[str, str]) -> None:
    if api.as_json or sys.stdout.isatty():
        advice = "Leave --json out." if api.as_json else "Send it on, or name a file: findspot backup FILE"
        raise Failure("A backup is not for reading, and would go to standard output.", advice, 2)
    try:
        await _save(api, query, sys.stdout.buffer)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise Failure("Whoever read the backup stopped before its end.") from None


@contextlib.contextmanager
def _writing(file: Path) -> Iterator[BinaryIO]:
    """A new file for its owner's eyes only, on the disk when the block ends well."""
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
        os.fsync(handle)  # the new name, too, is then on the disk
    finally:
        os.close(handle)
