"""Writes the keyword index with tantivy, and retains the files of each commit that the manifest names.

tantivy commits, merges and deletes files on its own, but never changes a segment file once it is written. After a
commit its live files are therefore hard-linked into a folder that tantivy does not know (`kept`). An index is always
opened by linking these files into a new folder for tantivy. This also rolls back commits that no manifest names.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import tantivy

from findspot.engines.embedded import location_tokens
from findspot.engines.embedded.keyword_search import CONTEXT_FIELDS, NAME, KeywordSearcher
from findspot.engines.embedded.manifest import Checksum, Checksums, checksum
from findspot.engines.embedded.os_errors import error_number
from findspot.engines.protocol import ContextTerms, Source

_SMALL = (48_000_000, 1)  # bytes and threads of a writer: enough for some thousand chunks between two commits
_BULK = (256_000_000, 2)
_SEGMENT_FILES = ("fast", "fieldnorm", "idx", "pos", "store", "term")
_MAX_TRIES = 1000


class KeywordIndex:
    """The keyword half of an index, in a folder of tantivy's own. Only one thread at a time may write."""

    def __init__(self, folder: Path, index: tantivy.Index, *, bulk: bool = False, has_contexts: bool = True) -> None:
        index.config_reader("manual")
        self._has_contexts = has_contexts
        self._folder = folder
        self._index = index
        self._schema = index.schema
        self._bulk = bulk
        self._writer: tantivy.IndexWriter | None = None

    @classmethod
    def create(cls, folder: Path, *, bulk: bool) -> KeywordIndex:
        folder.mkdir()
        with _raise_os_errors():
            return cls(folder, tantivy.Index(_schema(), path=str(folder)), bulk=bulk)

    @classmethod
    def restore(
        cls, folder: Path, kept: Path, meta: str, files: Checksums, *, has_contexts: bool = True
    ) -> KeywordIndex:
        """Open retained files in a new folder. Files of an older version have no contexts."""
        folder.mkdir()
        for name in files:
            _link(kept / name, folder / name)
        (folder / "meta.json").write_text(meta, encoding="utf-8")
        (folder / ".managed.json").write_text(json.dumps([*files, "meta.json"]), encoding="utf-8")
        return cls(folder, tantivy.Index.open(str(folder)), has_contexts=has_contexts)

    def follow(self, kept: Path, meta: str, files: Checksums) -> None:
        """Show the next searcher the retained files of a later commit. For readers, in a folder of their own."""
        for name in files:
            if not (self._folder / name).exists():
                _link(kept / name, self._folder / name)
        new = self._folder / "meta.json.new"
        new.write_text(meta, encoding="utf-8")
        new.replace(self._folder / "meta.json")
        for path in self._folder.iterdir():
            if path.suffix[1:] in (*_SEGMENT_FILES, "del") and path.name not in files:
                path.unlink()  # searchers that use it have it mapped

    @property
    def folder(self) -> Path:
        return self._folder

    @property
    def has_writer(self) -> bool:
        """Whether a writer is open; it takes memory and threads."""
        return self._writer is not None

    def add(
        self,
        ids: Sequence[int],
        sources: Sequence[Source],
        terms: Sequence[str],
        contexts: Sequence[ContextTerms],
    ) -> None:
        with self._writing() as writer:
            for id, source, each, context in zip(ids, sources, terms, contexts, strict=True):
                document = tantivy.Document()
                document.add_integer("id", id)
                document.add_text("terms", each)
                for token in location_tokens.tokens_of(source):
                    document.add_text("place", token)
                document.add_integer("length", source.length)
                if self._has_contexts:
                    for field, found in zip(CONTEXT_FIELDS, context, strict=True):
                        if found:
                            document.add_text(field, found)
                writer.add_document(document)

    def remove(self, ids: Sequence[int]) -> None:
        """Delete chunks by query: deleting by an integer term can silently delete nothing."""
        if ids:
            with self._writing() as writer:
                writer.delete_documents_by_query(tantivy.Query.term_set_query(self._schema, "id", list(ids)))

    def commit(self) -> None:
        with self._writing() as writer:
            writer.commit()

    def wait_for_merges(self) -> None:
        """Wait until running merges are done, close the writer and end bulk mode."""
        if self._writer is not None:
            self._writer.wait_merging_threads()
        self._writer, self._bulk = None, False

    def close_writer(self) -> None:
        """Free the memory and threads of the writer. The next write opens another."""
        self._writer = None

    def searcher(self, shortest: int) -> KeywordSearcher:
        self._index.reload()
        return KeywordSearcher(self._schema, self._index.searcher(), shortest, self._has_contexts)

    def has_merged(self, meta: str) -> bool:
        """Return whether tantivy has merged segments since this list of segments was retained."""
        return (self._folder / "meta.json").read_text(encoding="utf-8") != meta

    def retain(self, kept: Path, known: Checksums) -> tuple[str, dict[str, Checksum]]:
        """Link the files of the last commit into `kept`. Return tantivy's list of segments and all checksums."""
        for _ in range(_MAX_TRIES):
            meta = (self._folder / "meta.json").read_text(encoding="utf-8")
            names = list(_files_of(meta))
            try:
                for name in names:
                    if not (kept / name).exists():
                        _link(self._folder / name, kept / name)
            except FileNotFoundError:
                continue  # a merge just ended: other files now hold the same chunks
            return meta, {name: known.get(name) or checksum(kept / name) for name in names}
        raise RuntimeError(f"{self._folder}: the files of a commit cannot be found")

    @contextmanager
    def _writing(self) -> Iterator[tantivy.IndexWriter]:
        with _raise_os_errors():
            if self._writer is None:
                self._writer = self._index.writer(*(_BULK if self._bulk else _SMALL))
            yield self._writer


@contextmanager
def _raise_os_errors() -> Iterator[None]:
    """Turn tantivy's ValueError into OSError while writing. If the disk is full, the message often has no reason,
    because a background thread of tantivy met the error."""
    try:
        yield
    except ValueError as error:
        number = error_number(error)
        raise OSError(number, os.strerror(number)) if number else OSError("the disk may be full") from error


def _schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    builder.add_integer_field("id", indexed=True, fast=True)
    builder.add_text_field("terms", tokenizer_name="whitespace", index_option="freq")
    builder.add_text_field("place", tokenizer_name="raw", index_option="basic")  # location tokens
    builder.add_integer_field("length", fast=True)
    for field in CONTEXT_FIELDS:
        builder.add_text_field(field, tokenizer_name="whitespace", index_option="basic" if field == NAME else "freq")
    return builder.build()


def _files_of(meta: str) -> Iterator[str]:
    for segment in json.loads(meta)["segments"]:
        name = segment["segment_id"].replace("-", "")
        yield from (f"{name}.{part}" for part in _SEGMENT_FILES)
        if segment["deletes"]:
            yield f"{name}.{segment['deletes']['opstamp']}.del"


def _link(source: Path, target: Path) -> None:
    """Hard-link a file; copy it where the file system has no hard links."""
    try:
        os.link(source, target)
    except FileNotFoundError:
        raise
    except OSError:
        shutil.copyfile(source, target)
