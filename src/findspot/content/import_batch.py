"""Opens the body of an import and splits its files into batches that fit into memory."""

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO, TypeAlias, cast

from findspot.errors import invalid
from findspot.sources.archives import ArchiveError, Limits, open_archive
from findspot.sources.file_filter import FileFilter, SelectedFile
from findspot.sources.files import ARCHIVES, File, Skipped
from findspot.sources.segmented_file import SegmentedFile

MAX_ENTRIES = 100_000
TOTAL_PER_BODY = 16  # text rarely compresses better than this; content that does is an attack
BATCH_FILES, BATCH_BYTES = 256, 512 * 1024
LARGE = 1024 * 1024  # a file above this size is a batch of its own

_LEAST_TOTAL = 64 * 1024 * 1024

Batch: TypeAlias = list[File | Skipped]


@dataclass(frozen=True, slots=True)
class Source:
    """The files of a request: their number, if it is known, and batches that are read on demand."""

    total: int | None
    batches: Iterator[Batch]


def open_body(body: Sequence[bytes], path: str | None, max_body: int, max_file: int) -> Source:
    """Open a request body: an archive, recognised by its first bytes, or the one file that `path` names."""
    if not path or path.lower().endswith(ARCHIVES):  # a .docx is a zip file too, but no archive of files
        try:
            archive = open_archive(
                cast(BinaryIO, io.BufferedReader(SegmentedFile(body))), _limits(body, max_body, max_file)
            )
        except ArchiveError as error:
            raise invalid("body", str(error)) from None
        if archive is not None:
            return Source(archive.total, _batches(archive.files))
    if not body:
        raise invalid("body", "is empty; send an archive or a file")
    if not path:
        raise invalid("path", "is missing: this is no archive (zip, tar, tar.gz), so name the file: ?path=notes/a.md")
    wanted = FileFilter().select(path)
    found = File(wanted.name, wanted.path, b"".join(body)) if isinstance(wanted, SelectedFile) else wanted
    return Source(1, iter([[found]] if found else []))


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
