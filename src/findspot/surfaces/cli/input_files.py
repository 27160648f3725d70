"""Find the files to import: in folders, archives, single files or standard input."""

import contextlib
import json
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO, cast

from findspot.sources.archives import Archive, ArchiveError, Limits, listed_paths, open_archive
from findspot.sources.file_dates import date_of
from findspot.sources.file_filter import FileFilter, SelectedFile, listed_path
from findspot.sources.files import ARCHIVES, ExportRecord, File, Skipped, clean_title
from findspot.sources.limits import too_large
from findspot.sources.paths import printable
from findspot.surfaces.cli.failure import Failure

# Higher than the server's limits: a large archive is read here in parts, and each request stays within them.
LIMITS = Limits(entries=2_000_000, file=1 << 30, total=1 << 40)
_IN_MEMORY = 32 * 1024 * 1024
_LINK = "it is a symbolic link; links are not followed"


@dataclass(frozen=True, slots=True)
class InputFiles:
    """The files of one argument, read lazily, and their number if it is known in advance.

    `root` names the folder or archive. `paths` are the paths of all its files, or None if they are not all known.
    """

    total: int | None
    files: Iterator[File | Skipped]
    root: str | None = None
    paths: Set[str] | None = None


@contextlib.contextmanager
def find_files(paths: Sequence[str], name: str | None, root: str | None = None) -> Iterator[list[InputFiles]]:
    """Yield the files of each path. `name` is the path of a file from standard input; `root` replaces all roots."""
    # Standard input is copied to a file, since a zip is read from its end.
    with tempfile.SpooledTemporaryFile(_IN_MEMORY) as copy:
        parts = [
            _standard_input(name, cast(BinaryIO, copy)) if path == "-" else _from_path(Path(path)) for path in paths
        ]
        seen: set[str] = set()
        yield [
            replace(part, files=_first_ones(part.files, seen) if len(parts) > 1 else part.files, root=root or part.root)
            for part in parts
        ]


def _first_ones(files: Iterator[File | Skipped], seen: set[str]) -> Iterator[File | Skipped]:
    """Skip a file whose path was seen before: it would overwrite the first one."""
    for file in files:
        if isinstance(file, File) and file.path in seen:
            yield Skipped(file.path, "an earlier file has the same path; import it into another project")
            continue
        if isinstance(file, File):
            seen.add(file.path)
        yield file


def _from_path(path: Path) -> InputFiles:
    try:
        if path.is_dir():
            return _folder(path)
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
        return InputFiles(_opened(stream, str(path)).total, files(), clean_title(path.name), _listed(stream))


def _listed(stream: BinaryIO) -> Set[str] | None:
    """Return the paths of an archive, or None if it is incomplete."""
    stream.seek(0)
    try:
        return listed_paths(stream, LIMITS)
    except ArchiveError:
        return None
    finally:
        stream.seek(0)


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
        _opened(copy, "Standard input (give --name to import one file)")
        paths = _listed(copy)
        archive = _opened(copy, "Standard input")
        return InputFiles(archive.total, archive.files, paths=paths)
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


def _folder(folder: Path) -> InputFiles:
    known, paths, is_readable = _export(folder), set[str](), True
    names = list(_walk(folder))
    for name, entry in names:
        is_readable &= not isinstance(entry, OSError)
        path = listed_path(name, known.get(name))
        if path is not None:
            paths.add(path)
    root = clean_title(folder.resolve().name or str(folder.resolve())) or None
    return InputFiles(len(names), _folder_files(folder, known), root, paths if is_readable else None)


def _folder_files(folder: Path, known: Mapping[str, ExportRecord]) -> Iterator[File | Skipped]:
    file_filter = FileFilter()
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
            about = os.fstat(stream.fileno())
            if about.st_size > LIMITS.file:
                return too_large(wanted.path, LIMITS)
            data = stream.read()
    except OSError as error:
        return _unreadable(wanted.path, error)
    return File(wanted.name, wanted.path, data, wanted.record, date_of(about.st_mtime))


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
