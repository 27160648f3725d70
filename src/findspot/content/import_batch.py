"""Opens the body of an import and splits its files into batches that fit into memory."""

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import BinaryIO, TypeAlias, cast

from findspot.errors import invalid
from findspot.sources.archives import Archive, ArchiveError, Limits, listed_paths, open_archive
from findspot.sources.file_filter import FileFilter, SelectedFile
from findspot.sources.files import ARCHIVES, File, Skipped
from findspot.sources.segmented_file import SegmentedFile

MAX_ENTRIES = 100_000
TOTAL_PER_BODY = 16  # text rarely compresses better than this; content that does is an attack
BATCH_FILES, BATCH_BYTES = 256, 1024 * 1024
LARGE = 1024 * 1024  # a file above this size is a batch of its own

_LEAST_TOTAL = 64 * 1024 * 1024

Batch: TypeAlias = list[File | Skipped]


@dataclass(frozen=True, slots=True)
class Source:
    """The files of a request: their number, if it is known, and batches that are read on demand.

    `paths` are the paths of all importable files, if the request has every file of its root.
    """

    total: int | None
    batches: Iterator[Batch]
    paths: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class BodyInfo:
    """What the parameters of a request say about its body: the path and date of a single file, or a whole folder."""

    path: str | None = None
    modified: datetime | None = None
    is_complete: bool = False


def open_body(body: Sequence[bytes], info: BodyInfo, max_body: int, max_file: int) -> Source:
    """Open a request body: an archive, recognised by its first bytes, or the one file that a path names."""
    path = info.path
    if not path or path.lower().endswith(ARCHIVES):  # a .docx is a zip file too, but no archive of files
        limits = _limits(body, max_body, max_file)
        try:
            archive = open_archive(_stream(body), limits)
            if archive is not None:
                paths = frozenset(listed_paths(_stream(body), limits)) if info.is_complete else None
                return _archive_source(archive, paths)
        except ArchiveError as error:
            raise invalid("body", str(error)) from None
    if not body:
        raise invalid("body", "is empty; send an archive or a file")
    if info.is_complete:
        raise invalid("body", "is not an archive (zip, tar, tar.gz); only an archive can have every file of a root")
    if not path:
        raise invalid("path", "is missing: this is no archive (zip, tar, tar.gz), so name the file: ?path=notes/a.md")
    wanted = FileFilter().select(path)
    if isinstance(wanted, SelectedFile):
        return Source(1, iter([[File(wanted.name, wanted.path, b"".join(body), modified=info.modified)]]))
    return Source(1, iter([[wanted]] if wanted else []))


def _stream(body: Sequence[bytes]) -> BinaryIO:
    return cast(BinaryIO, io.BufferedReader(SegmentedFile(body)))


def _archive_source(archive: Archive, paths: frozenset[str] | None) -> Source:
    if paths is not None and not paths:
        raise invalid("body", "has no file that can be imported, so nothing is compared with it")
    return Source(archive.total, _batches(archive.files), paths)


def is_large(batch: Batch) -> bool:
    """Return whether a batch is one large file."""
    return len(batch) == 1 and isinstance(batch[0], File) and len(batch[0].data) > LARGE


def _limits(body: Sequence[bytes], max_body: int, max_file: int) -> Limits:
    """Return limits for unpacking that grow with the size of the archive."""
    total = max(_LEAST_TOTAL, TOTAL_PER_BODY * sum(map(len, body)))
    return Limits(MAX_ENTRIES, max_file, min(TOTAL_PER_BODY * max_body, total))


def _batches(files: Iterator[File | Skipped]) -> Iterator[Batch]:
    batch, size = Batch(), 0
    for each in files:
        length = len(each.data) if isinstance(each, File) else 0
        if batch and (len(batch) >= BATCH_FILES or size + length > BATCH_BYTES):
            yield batch
            batch, size = Batch(), 0
        batch.append(each)
        size += length
        del each
    if batch:
        yield batch
