"""Find the files to import: in folders, archives, single files or standard input."""

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
from findspot.surfaces.cli.failure import Failure

# Higher than the server's limits: a large archive is read here in parts, and each request stays within them.
LIMITS = Limits(entries=2_000_000, file=1 << 30, total=1 << 40)
_IN_MEMORY = 32 * 1024 * 1024
_LINK = "it is a symbolic link; links are not followed"


@dataclass(frozen=True, slots=True)
class InputFiles:
    """Files to import, read lazily, and their number if it is known in advance."""

    total: int | None
    files: Iterator[File | Skipped]


@contextlib.contextmanager
def find_files(paths: Sequence[str], name: str | None) -> Iterator[InputFiles]:
    """Yield the files of all paths. `name` is the path of a file from standard input."""
    # Standard input is copied to a file, since a zip is read from its end.
    with tempfile.SpooledTemporaryFile(_IN_MEMORY) as copy:
        parts = [
            _standard_input(name, cast(BinaryIO, copy)) if path == "-" else _from_path(Path(path)) for path in paths
        ]
        counts = [part.total for part in parts]
        total = None if None in counts else sum(cast(list[int], counts))
        yield InputFiles(total, _without_duplicates(parts))


def _without_duplicates(parts: Sequence[InputFiles]) -> Iterator[File | Skipped]:
    """Skip a file whose path was seen before: it would overwrite the first one."""
    if len(parts) == 1:
        yield from parts[0].files
        return
    seen: set[str] = set()
    for part in parts:
        for file in part.files:
            if isinstance(file, File) and file.path in seen:
                yield Skipped(file.path, "an earlier file has the same path; import it into another project")
                continue
            if isinstance(file, File):
                seen.add(file.path)
            yield file


def _from_path(path: Path) -> InputFiles:
    try:
        if path.is_dir():
            return InputFiles(sum(1 for _ in _walk(path)), _folder(path))
        if path.name.lower().endswith(ARCHIVES):
            with path.open("rb"):
                pass  # fail now, not in the middle of the import
            return _archive(path)
        return InputFiles(1, _single(path))
    except OSError as error:
        raise Failure(f"{path} cannot be read: {error.strerror}.", exit_code=2) from None


def _archive(path: Path) -> InputFiles:
    def files() -> Iterator[File | Skipped]:
        with path.open("rb") as stream:
            yield from _opened(stream, str(path)).files

    with path.open("rb") as stream:
        return InputFiles(_opened(stream, str(path)).total, files())


def _opened(stream: BinaryIO, what: str) -> Archive:
    try:
        archive = open_archive(stream, LIMITS)
    except ArchiveError as error:
        raise Failure(f"{what}: {error}", exit_code=2) from None
    if archive is None:
        raise Failure(f"{what} is not a zip, tar or tar.gz archive.", exit_code=2)
    return archive


def _standard_input(name: str | None, copy: BinaryIO) -> InputFiles:
    """Read an archive, detected by its first bytes, or one file if there is a name."""
    while piece := sys.stdin.buffer.read(1 << 20):
        copy.write(piece)
    copy.seek(0)
    if name is None:
        archive = _opened(copy, "Standard input (give --name to import one file)")
        return InputFiles(archive.total, archive.files)
    wanted = FileFilter().select(name)
    if not isinstance(wanted, SelectedFile):
        raise Failure(f"{name}: {wanted.reason if wanted else 'it is not imported'}.", exit_code=2)
    return InputFiles(1, iter([File(wanted.name, wanted.path, copy.read())]))


# ── folders ──


def _walk(folder: Path, below: str = "") -> Iterator[tuple[str, os.DirEntry[str] | OSError]]:
    """Yield every file of a folder with its relative path, in order. Links are not followed, hidden folders skipped."""
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
        found = (
            _unreadable(path, entry) if isinstance(entry, OSError) else _file(path, entry, file_filter, known.get(path))
        )
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
        return _unreadable(wanted.path, error)
    return File(wanted.name, wanted.path, data, wanted.record)


def _unreadable(path: str, error: OSError) -> Skipped:
    return Skipped(printable(path), f"it cannot be read: {error.strerror or error}")


def _export(folder: Path) -> Mapping[str, ExportRecord]:
    """Return what the manifest of an export says about its files, or {} if the folder is not an export."""
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
