"""The files that are meant by paths on the command line: folders, archives, single files, standard input."""

import contextlib
import json
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from findspot.sources.archives import Archive, ArchiveError, Limits, open_archive
from findspot.sources.file_filter import FileFilter, SelectedFile
from findspot.sources.files import ARCHIVES, ExportRecord, File, Skipped
from findspot.sources.limits import too_large
from findspot.sources.paths import printable
from findspot.surfaces.cli.outcome import Failure

# Wider than the server's: a large archive is read here bit by bit, and what is sent on keeps the server's limits.
LIMITS = Limits(entries=2_000_000, file=1 << 30, total=1 << 40)
_IN_MEMORY = 32 * 1024 * 1024
_LINK = "it is a link, and links are not followed"


@dataclass(frozen=True, slots=True)
class Gathering:
    """Files to import, read as they are asked for; how many there are, if that can be told before."""

    total: int | None
    files: Iterator[File | Skipped]


@contextlib.contextmanager
def gathered(paths: Sequence[str], name: str | None) -> Iterator[Gathering]:
    """Everything that the paths mean. `name` is what a file from standard input is called."""
    # Standard input is kept, since a zip is read from its end.
    with tempfile.SpooledTemporaryFile(_IN_MEMORY) as kept:
        parts = [_standard_input(name, cast(BinaryIO, kept)) if path == "-" else _part(Path(path)) for path in paths]
        counts = [part.total for part in parts]
        total = None if None in counts else sum(cast(list[int], counts))
        yield Gathering(total, _each_once(parts))


def _each_once(parts: Sequence[Gathering]) -> Iterator[File | Skipped]:
    """Two folders may hold a file of the same path: the second would change what the first made."""
    if len(parts) == 1:
        yield from parts[0].files
        return
    seen: set[str] = set()
    for part in parts:
        for file in part.files:
            if isinstance(file, File) and file.path in seen:
                yield Skipped(file.path, "another file given before has this path; import it into a project of its own")
                continue
            if isinstance(file, File):
                seen.add(file.path)
            yield file


def _part(path: Path) -> Gathering:
    try:
        if path.is_dir():
            return Gathering(sum(1 for _ in _walk(path)), _folder(path))
        if path.name.lower().endswith(ARCHIVES):
            with path.open("rb"):
                pass  # said now, not in the middle of the import
            return _archive(path)
        return Gathering(1, _single(path))
    except OSError as error:
        raise Failure(f"{path} cannot be read: {error.strerror}.", exit_code=2) from None


def _archive(path: Path) -> Gathering:
    def files() -> Iterator[File | Skipped]:
        with path.open("rb") as stream:
            yield from _opened(stream, str(path)).files

    with path.open("rb") as stream:
        return Gathering(_opened(stream, str(path)).total, files())


def _opened(stream: BinaryIO, what: str) -> Archive:
    try:
        archive = open_archive(stream, LIMITS)
    except ArchiveError as error:
        raise Failure(f"{what}: {error}", exit_code=2) from None
    if archive is None:
        raise Failure(f"{what} is no archive that can be read: zip, tar or tar.gz.", exit_code=2)
    return archive


def _standard_input(name: str | None, kept: BinaryIO) -> Gathering:
    """An archive is told by its first bytes; anything else needs a name."""
    while piece := sys.stdin.buffer.read(1 << 20):
        kept.write(piece)
    kept.seek(0)
    if name is None:
        archive = _opened(kept, "Standard input (with --name, it is one file)")
        return Gathering(archive.total, archive.files)
    wanted = FileFilter().select(name)
    if not isinstance(wanted, SelectedFile):
        raise Failure(f"{name}: {wanted.reason if wanted else 'it is not imported'}.", exit_code=2)
    return Gathering(1, iter([File(wanted.name, wanted.path, kept.read())]))


# ── folders ──


def _walk(folder: Path, below: str = "") -> Iterator[tuple[str, os.DirEntry[str] | OSError]]:
    """Every file of a folder by its path in it, in order. Links are told, not followed; hidden folders not entered."""
    try:
        with os.scandir(folder / below) as found:
            entries = sorted(found, key=lambda entry: entry.name)
    except OSError as error:
        yield below or ".", error
        return
    for entry in entries:
        path = f"{below}{entry.name}"
        if entry.is_dir(follow_symlinks=False) and not entry.name.startswith(".") and entry.name != "__MACOSX":
            yield from _walk(folder, f"{path}/")
        else:
            yield path, entry


def _folder(folder: Path) -> Iterator[File | Skipped]:
    file_filter, known = FileFilter(), _export(folder)
    for path, entry in _walk(folder):
        found = _cannot(path, entry) if isinstance(entry, OSError) else _file(path, entry, file_filter, known.get(path))
        if found is not None:
            yield found


def _file(
    path: str, entry: "os.DirEntry[str]", file_filter: FileFilter, record: ExportRecord | None
) -> File | Skipped | None:
    if entry.is_symlink():
        return Skipped(printable(path), _LINK)
    wanted = file_filter.select(path, record)
    if not isinstance(wanted, SelectedFile):
        return wanted
    if not entry.is_file(follow_symlinks=False):
        return Skipped(printable(path), "it is a device or a pipe, not a file")
    return _read(Path(entry.path), wanted)


def _single(path: Path) -> Iterator[File | Skipped]:
    wanted = FileFilter().select(path.name)
    if wanted is not None:
        yield _read(path, wanted) if isinstance(wanted, SelectedFile) else wanted


def _read(file: Path, wanted: SelectedFile) -> File | Skipped:
    try:
        with file.open("rb", buffering=0) as stream:
            if os.fstat(stream.fileno()).st_size > LIMITS.file:
                return too_large(wanted.path, LIMITS)
            data = stream.read()
    except OSError as error:
        return _cannot(wanted.path, error)
    return File(wanted.name, wanted.path, data, wanted.record)


def _cannot(path: str, error: OSError) -> Skipped:
    return Skipped(printable(path), f"it cannot be read: {error.strerror or error}")


def _export(folder: Path) -> Mapping[str, ExportRecord]:
    """What the manifest of an export says about its files; nothing if the folder is something else."""
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        manifest = json.loads((folder / "manifest.json").read_bytes())
        if manifest["findspot_export"] != 1:
            return {}
        known = {"manifest.json": ExportRecord("manifest")}
        for each in manifest["documents"]:
            path = each["path"] or each["file"].removeprefix("documents/")
            known[each["file"]] = ExportRecord("document", path, each["title"], each["type"])
        for each in manifest["tables"]:
            known[each["file"]] = ExportRecord(
                "table", each["path"] or each["file"].removeprefix("tables/"), each["name"]
            )
        for each in manifest["versions"]:
            known[each["file"]] = ExportRecord("version")
        return known
    return {}
