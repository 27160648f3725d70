"""`findspot export`: write all content of a project into a folder or an archive."""

import asyncio
import contextlib
import gzip
import os
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import IO, BinaryIO

import click

from findspot.surfaces.cli.arguments import OPTIONAL_PROJECT
from findspot.surfaces.cli.connect import Api, api_command
from findspot.surfaces.cli.failure import Failure
from findspot.surfaces.cli.formatting import count, size
from findspot.surfaces.cli.printing import done, show

_WRITE_SIZE = 1024 * 1024
_LAST_FILE = "manifest.json"
_OTHER_ARCHIVES = (".zip", ".gz", ".bz2", ".xz", ".zst", ".7z")


@click.command("export")
@OPTIONAL_PROJECT
@click.argument("target", type=click.Path(path_type=Path))
@api_command
async def command(api: Api, project_id: int, target: Path) -> None:
    """Write all content of a project into a folder or an archive.

    TARGET is a new folder, or a new file that ends in .tar or .tar.gz. Documents are Markdown, text or TipTap JSON,
    tables are JSON, and manifest.json describes each file. 'findspot import' can import it again.

    \b
      findspot export library library/
      findspot export library library.tar.gz
    """
    output = _Output(target)
    await asyncio.to_thread(output.require_usable)
    with output.opened() as file:
        written = await _download(api, project_id, file)
        files = await asyncio.to_thread(output.unpack, file)
    text = (
        f"Exported {count(files, 'file')}, {size(written)}, to {target}."
        if files
        else f"Exported {size(written)} to {target}."
    )
    show({"target": str(target), "bytes": written}, api.as_json, done(text))


async def _download(api: Api, project_id: int, file: IO[bytes]) -> int:
    from findspot.surfaces.cli.progress import show_progress

    written = 0
    with show_progress("Exporting", None, unit="bytes", silent=api.as_json) as progress:
        async with api.stream("GET", f"/api/v1/projects/{project_id}/export") as response:
            async for part in _large_parts(response.aiter_bytes()):
                await asyncio.to_thread(file.write, part)
                written += len(part)
                progress(written)
    return written


async def _large_parts(parts: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Join parts until they are large enough to be written in a thread."""
    buffer = bytearray()
    async for part in parts:
        buffer += part
        if len(buffer) >= _WRITE_SIZE:
            yield bytes(buffer)
            buffer.clear()
    yield bytes(buffer)


class _Output:
    """The folder or file of an export. A file is written under another name and renamed when it is complete."""

    def __init__(self, path: Path) -> None:
        self._path = path
        name = path.name.lower()
        self._compressed = name.endswith((".tar.gz", ".tgz"))
        self._is_file = self._compressed or name.endswith(".tar")
        self._partial = path.with_name(f".{path.name}.partial")

    def require_usable(self) -> None:
        """Raise a Failure if the name is taken, or that of an archive that cannot be written."""
        if not self._is_file and self._path.name.lower().endswith(_OTHER_ARCHIVES):
            raise Failure(f"{self._path} is neither a folder nor a tar archive.", "End it in .tar or .tar.gz.", 2)
        taken = self._path.exists() if self._is_file else self._path.exists() and not _is_empty(self._path)
        if taken:
            raise Failure(f"{self._path} exists already.", "Choose another name, or remove it first.", 5)
        if not self._path.parent.is_dir():
            raise Failure(f"There is no folder {self._path.parent}.", exit_code=2)

    @contextlib.contextmanager
    def opened(self) -> Iterator[IO[bytes]]:
        """Open the file for the archive. It is removed if the export fails."""
        try:
            if not self._is_file:
                with tempfile.TemporaryFile(dir=self._path.parent) as file:
                    yield file
                return
            try:
                with gzip.open(self._partial, "wb", 6) if self._compressed else self._partial.open("wb") as file:
                    yield file  # type: ignore[misc]
                self._partial.rename(self._path)
            finally:
                self._partial.unlink(missing_ok=True)
        except OSError as error:
            raise Failure(f"{self._path} cannot be written: {error.strerror or error}.", exit_code=1) from None

    def unpack(self, file: IO[bytes]) -> int:
        """Unpack into the folder and return the number of files, or 0 for an archive."""
        if self._is_file:
            return 0
        file.seek(0)
        self._path.mkdir(exist_ok=True)
        return _unpack(file, self._path)


def _is_empty(path: Path) -> bool:
    return path.is_dir() and not any(path.iterdir())


def _unpack(file: "IO[bytes] | BinaryIO", folder: Path) -> int:
    """Write the files of an export. The server is not trusted: no name may leave the folder or replace a file."""
    from findspot.sources.paths import UnsupportedFile, safe_path
    from findspot.sources.tars import BrokenArchive, members

    last = ""
    number = 0
    try:
        for member in members(file):
            last = safe_path(member.name)
            if member.refusal or member.is_folder:
                raise Failure(f"The export contains {last!r}, which is not a regular file.", exit_code=7)
            path = folder / last
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("xb") as target:
                for piece in member.read():
                    target.write(piece)
            if member.modified:
                os.utime(path, (member.modified.timestamp(),) * 2)
            number += 1
    except (UnsupportedFile, BrokenArchive) as error:
        raise Failure(f"The export cannot be unpacked: {error}.", exit_code=7) from None
    if last != _LAST_FILE:
        raise Failure("The export is incomplete.", "Run it again.", 7)
    return number
