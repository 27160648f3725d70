"""`findspot export`"""

import asyncio
import contextlib
import gzip
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import IO, BinaryIO

import click

from findspot.surfaces.cli.connect import Api, api_command
from findspot.surfaces.cli.outcome import Failure
from findspot.surfaces.cli.printing import done, show
from findspot.surfaces.cli.wording import count, size

_SLICE = 1024 * 1024
_LAST = "manifest.json"


@click.command("export")
@click.argument("project_id", metavar="PROJECT", type=int)
@click.argument("target", type=click.Path(path_type=Path))
@api_command
async def command(api: Api, project_id: int, target: Path) -> None:
    """Write everything of a project into a folder or an archive.

    TARGET is a new folder, or a new file that ends in .tar or .tar.gz. Documents are Markdown, text or TipTap JSON,
    tables are JSON, and manifest.json says what each file is. 'findspot import' reads it again.

    \b
      findspot export 1 library/
      findspot export 1 library.tar.gz
    """
    work = _Target(target)
    await asyncio.to_thread(work.require_free)
    with work.opened() as file:
        written = await _download(api, project_id, file)
        files = await asyncio.to_thread(work.settle, file)
    told = f"{count(files, 'file')}, {size(written)}, in {target}." if files else f"{size(written)} in {target}."
    show({"target": str(target), "bytes": written}, api.as_json, done(told))


async def _download(api: Api, project_id: int, file: IO[bytes]) -> int:
    from findspot.surfaces.cli.progress import following

    written = 0
    with following("Exporting", None, unit="bytes", silent=api.as_json) as moved:
        async with api.stream("GET", f"/api/v1/projects/{project_id}/export") as answer:
            async for part in _large_parts(answer.aiter_bytes()):
                await asyncio.to_thread(file.write, part)
                written += len(part)
                moved(written)
    return written


async def _large_parts(parts: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Parts worth going to a thread for."""
    kept = bytearray()
    async for part in parts:
        kept += part
        if len(kept) >= _SLICE:
            yield bytes(kept)
            kept.clear()
    yield bytes(kept)


class _Target:
    """Where an export goes. It is written beside, and has its name only once it is whole."""

    def __init__(self, path: Path) -> None:
        self._path = path
        name = path.name.lower()
        self._pressed = name.endswith((".tar.gz", ".tgz"))
        self._is_file = self._pressed or name.endswith(".tar")
        self._beside = path.with_name(f".{path.name}.partial")

    def require_free(self) -> None:
        taken = self._path.exists() if self._is_file else self._path.exists() and not _is_empty(self._path)
        if taken:
            raise Failure(f"{self._path} is there already.", "Choose another name, or remove it first.", 5)
        if not self._path.parent.is_dir():
            raise Failure(f"There is no folder {self._path.parent}.", exit_code=2)

    @contextlib.contextmanager
    def opened(self) -> Iterator[IO[bytes]]:
        """Where the archive is written to; nothing of it stays if the export fails."""
        try:
            if not self._is_file:
                with tempfile.TemporaryFile(dir=self._path.parent) as file:
                    yield file
                return
            try:
                with gzip.open(self._beside, "wb", 6) if self._pressed else self._beside.open("wb") as file:
                    yield file  # type: ignore[misc]
                self._beside.rename(self._path)
            finally:
                self._beside.unlink(missing_ok=True)
        except OSError as error:
            raise Failure(f"{self._path} cannot be written: {error.strerror or error}.", exit_code=1) from None

    def settle(self, file: IO[bytes]) -> int:
        """Unpack into a folder; answers how many files."""
        if self._is_file:
            return 0
        file.seek(0)
        self._path.mkdir(exist_ok=True)
        return _unpack(file, self._path)


def _is_empty(path: Path) -> bool:
    return path.is_dir() and not any(path.iterdir())


def _unpack(file: "IO[bytes] | BinaryIO", folder: Path) -> int:
    """Write the files of an export. A server may be anyone's: no name leads out, and nothing is written over."""
    from findspot.sources.paths import UnsupportedFile, safe_path
    from findspot.sources.tars import BrokenArchive, members

    last = ""
    number = 0
    try:
        for member in members(file):
            last = safe_path(member.name)
            if member.refusal or member.is_folder:
                raise Failure(f"The export holds {last!r}, which is no plain file.", exit_code=7)
            path = folder / last
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("xb") as target:
                for piece in member.read():
                    target.write(piece)
            number += 1
    except (UnsupportedFile, BrokenArchive) as error:
        raise Failure(f"The export cannot be unpacked: {error}.", exit_code=7) from None
    if last != _LAST:
        raise Failure("The export broke off before its end.", "Run it again.", 7)
    return number
