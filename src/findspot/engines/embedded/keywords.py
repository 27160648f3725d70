"""How are words written? Through tantivy, whose files are held fast so that what the manifest names stays.

tantivy commits, merges and deletes files whenever it likes, but a segment's file never changes once it is written. So
after a commit its live files get a second name in a folder that tantivy does not know (`kept`). An index is opened from
those in a fresh folder of tantivy's own: that is how a commit is rolled back which the manifest never named.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import tantivy

from findspot.engines.embedded import places
from findspot.engines.embedded.lookup import Lookup
from findspot.engines.embedded.manifest import Mark, Marks, mark, systems_number
from findspot.engines.protocol import Source

_SMALL = (48_000_000, 1)  # bytes and threads of a writer: room for some thousand chunks between two commits
_LARGE = (256_000_000, 2)
_PARTS = ("fast", "fieldnorm", "idx", "pos", "store", "term")  # the files of every segment
_LOOKS = 1000


class Keywords:
    """The words of an index, in a folder of tantivy's own. One thread at a time may write."""

    def __init__(self, folder: Path, index: tantivy.Index, *, bulk: bool = False) -> None:
        index.config_reader("manual")
        self._folder = folder
        self._index = index
        self._schema = index.schema
        self._bulk = bulk
        self._writer: tantivy.IndexWriter | None = None

    @classmethod
    def create(cls, folder: Path, *, bulk: bool) -> Keywords:
        folder.mkdir()
        with _said_plainly():
            return cls(folder, tantivy.Index(_schema(), path=str(folder)), bulk=bulk)

    @classmethod
    def lay(cls, folder: Path, kept: Path, meta: str, files: Marks) -> Keywords:
        """Open what is kept, in a new folder."""
        folder.mkdir()
        for name in files:
            _link(kept / name, folder / name)
        (folder / "meta.json").write_text(meta, encoding="utf-8")
        (folder / ".managed.json").write_text(json.dumps([*files, "meta.json"]), encoding="utf-8")
        return cls(folder, tantivy.Index.open(str(folder)))

    @property
    def writing(self) -> bool:
        """Whether a writer is open, with its memory and its threads."""
        return self._writer is not None

    def add(self, ids: Sequence[int], sources: Sequence[Source], terms: Sequence[str]) -> None:
        with self._writing() as writer:
            for id, source, each in zip(ids, sources, terms, strict=True):
                document = tantivy.Document()
                document.add_integer("id", id)
                document.add_text("terms", each)
                for token in places.tokens_of(source):
                    document.add_text("place", token)
                document.add_integer("length", source.length)
                writer.add_document(document)

    def remove(self, ids: Sequence[int]) -> None:
        """By query: removing by a number as a term can remove nothing without a word."""
        if ids:
            with self._writing() as writer:
                writer.delete_documents_by_query(tantivy.Query.term_set_query(self._schema, "id", list(ids)))

    def commit(self) -> None:
        with self._writing() as writer:
            writer.commit()

    def settle(self) -> None:
        """Let running merges finish, and write no more in bulk."""
        if self._writer is not None:
            self._writer.wait_merging_threads()
        self._writer, self._bulk = None, False

    def rest(self) -> None:
        """Give back the memory and threads of the writer until something is written again."""
        self._writer = None

    def lookup(self, shortest: int) -> Lookup:
        self._index.reload()
        return Lookup(self._schema, self._index.searcher(), shortest)

    def keep(self, kept: Path, known: Marks) -> tuple[str, dict[str, Mark]]:
        """Hold fast what was committed: tantivy's list of segments, and the marks of all their files."""
        for _ in range(_LOOKS):
            meta = (self._folder / "meta.json").read_text(encoding="utf-8")
            names = list(_files_of(meta))
            try:
                for name in names:
                    if not (kept / name).exists():
                        _link(self._folder / name, kept / name)
            except FileNotFoundError:
                continue  # a merge has just ended: the list is another, what it says is the same
            return meta, {name: known.get(name) or mark(kept / name) for name in names}
        raise RuntimeError(f"{self._folder}: the files of a commit are not to be found")

    @contextmanager
    def _writing(self) -> Iterator[tantivy.IndexWriter]:
        with _said_plainly():
            if self._writer is None:
                self._writer = self._index.writer(*(_LARGE if self._bulk else _SMALL))
            yield self._writer


@contextmanager
def _said_plainly() -> Iterator[None]:
    """What the system refuses while words are written, tantivy tells by a ValueError; of a full disk often without the
    reason, because a thread of its own met it."""
    try:
        yield
    except ValueError as error:
        number = systems_number(error)
        raise OSError(number, os.strerror(number)) if number else OSError("the disk may be full") from error


def _schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    builder.add_integer_field("id", indexed=True, fast=True)
    builder.add_text_field("terms", tokenizer_name="whitespace", index_option="freq")
    builder.add_text_field("place", tokenizer_name="raw", index_option="basic")
    builder.add_integer_field("length", fast=True)
    return builder.build()


def _files_of(meta: str) -> Iterator[str]:
    for segment in json.loads(meta)["segments"]:
        name = segment["segment_id"].replace("-", "")
        yield from (f"{name}.{part}" for part in _PARTS)
        if segment["deletes"]:
            yield f"{name}.{segment['deletes']['opstamp']}.del"


def _link(there: Path, here: Path) -> None:
    """A second name for a file; a copy where the file system has no such thing."""
    try:
        os.link(there, here)
    except FileNotFoundError:
        raise
    except OSError:
        shutil.copyfile(there, here)
