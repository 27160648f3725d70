"""The tables of the store, once for SQLite and PostgreSQL. Columns that hold what people sent keep its exact bytes."""

from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from findspot.store.column_types import ExactText, Id, Timestamp

metadata = sa.MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def _id() -> sa.Column[int]:
    return sa.Column("id", Id, primary_key=True)


def _owner(target: str, *, nullable: bool = False, index: bool = True) -> sa.Column[int]:
    """A reference to a row that takes this one along when it is deleted."""
    name = {"projects": "project_id", "tables": "table_id", "documents": "document_id"}[target]
    return sa.Column(name, Id, sa.ForeignKey(f"{target}.id", ondelete="CASCADE"), nullable=nullable, index=index)


def _now() -> datetime:
    return datetime.now(UTC)


def _created_at() -> sa.Column[datetime]:
    return sa.Column("created_at", Timestamp, nullable=False, default=_now)


def _updated_at() -> sa.Column[datetime]:
    """Set when the row is made, and again whenever it is changed."""
    return sa.Column("updated_at", Timestamp, nullable=False, default=_now, onupdate=_now)


def _error() -> tuple[sa.Column[Any], ...]:
    """The columns of the last error: its code, its message, and further fields."""
    return (
        sa.Column("error_code", sa.Text),
        sa.Column("error_message", sa.Text),
        sa.Column("error_fields", sa.JSON(none_as_null=True)),
    )


def _one_of(column: str, *values: str) -> sa.CheckConstraint:
    return sa.CheckConstraint(f"{column} IN ({', '.join(map(repr, values))})", name=column)


def _table(name: str, *parts: sa.Column[Any] | sa.Constraint | sa.Index) -> sa.Table:
    """A table whose ids are never used twice, even after a delete: engines and caches know rows by their ids."""
    return sa.Table(name, metadata, *parts, sqlite_autoincrement=True)


projects = _table("projects", _id(), sa.Column("name", sa.Text, nullable=False), _created_at())

keys = _table(
    "keys",
    _id(),
    _owner("projects"),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("role", sa.Text, nullable=False),
    _one_of("role", "read", "write", "admin"),
    sa.Column("hash", sa.Text, nullable=False, unique=True),
    sa.Column("hint", sa.Text, nullable=False),
    _created_at(),
)

# Signed-in browsers of the owner. Of a session's id only a hash is stored.
sessions = sa.Table(
    "sessions",
    metadata,
    sa.Column("hash", sa.Text, primary_key=True),
    sa.Column("expires_at", Timestamp, nullable=False, index=True),
    _created_at(),
)

# A table of revision 0 is still being written for the first time and is shown to no one.
tables = _table(
    "tables",
    _id(),
    _owner("projects"),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("revision", Id, nullable=False),
    sa.Column("size", Id, nullable=False),
    sa.Column("text_id", Id, nullable=False),
    sa.Column("path", sa.Text),
    _created_at(),
    _updated_at(),
    sa.Index("ux_tables_project_id_path", "project_id", "path", unique=True),
)

# The JSON text of a table, in pieces: no driver then copies tens of megabytes at a stroke while everyone waits. A new
# text is written beside the old one, in short transactions, and takes its place when `tables.text_id` is switched.
pieces = sa.Table(
    "pieces",
    metadata,
    sa.Column("table_id", Id, sa.ForeignKey("tables.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("text_id", Id, primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("piece", sa.LargeBinary, nullable=False),
)

# `path` is the file a table or document was imported from: importing it again changes this one, and makes no other.
documents = _table(
    "documents",
    _id(),
    _owner("projects"),
    sa.Column("title", sa.Text, nullable=False),
    sa.Column("type", sa.Text, nullable=False),
    sa.Column("format", sa.Text, nullable=False),
    _one_of("format", "tiptap", "markdown", "text"),
    sa.Column("revision", Id, nullable=False),
    sa.Column("word_count", Id, nullable=False, server_default="0"),
    sa.Column("path", sa.Text),
    _created_at(),
    _updated_at(),
    sa.Column("content", sa.LargeBinary, nullable=False),
    sa.Index("ux_documents_project_id_path", "project_id", "path", unique=True),
    sa.Index("ix_documents_project_id_updated_at", "project_id", "updated_at", "type"),  # the filters of a search
)

# One row per document or table that was imported: the file that it came from. `root` names the folder, `hash` is the
# SHA-256 of the file's bytes (None: imported before hashes were kept), and `missing` says that the folder does not have
# the file any more. The path is repeated here because SQLite reads all of `documents.content` to reach a later column.
import_files = sa.Table(
    "import_files",
    metadata,
    sa.Column("project_id", Id, sa.ForeignKey("projects.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("path", sa.Text, primary_key=True),
    sa.Column("document_id", Id, sa.ForeignKey("documents.id", ondelete="CASCADE"), unique=True),
    sa.Column("table_id", Id, sa.ForeignKey("tables.id", ondelete="CASCADE"), unique=True),
    sa.Column("root", sa.Text),
    sa.Column("hash", sa.LargeBinary(32)),
    sa.Column("missing", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.CheckConstraint("(table_id IS NULL) <> (document_id IS NULL)", name="one_source"),
    sa.Index("ix_import_files_project_id_root", "project_id", "root"),
)

# The line index of a document's text, in pieces (`sources/lines.py`). It belongs to `index_states.indexed_revision`.
document_lines = sa.Table(
    "document_lines",
    metadata,
    sa.Column("document_id", Id, sa.ForeignKey("documents.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("lines", sa.LargeBinary, nullable=False),
)

versions = _table(
    "versions",
    _id(),
    _owner("documents"),
    sa.Column("parent_id", Id, sa.ForeignKey("versions.id"), index=True),
    sa.Column("reason", sa.Text, nullable=False),
    _one_of("reason", "manual", "autosave", "replace", "restore"),
    sa.Column("actor", sa.Text, nullable=False),
    sa.Column("key_id", Id),  # no reference: a version outlives the key that made it
    sa.Column("title", sa.Text, nullable=False),
    sa.Column("format", sa.Text, nullable=False),
    sa.Column("word_count", Id, nullable=False),
    _created_at(),
    sa.Column("content", sa.LargeBinary, nullable=False),
)

# A replace over documents, from its preview on. `document_id` is its scope (NULL: the whole project), and `tool_id` the
# tool that an agent asked for it. Neither is a reference: the record outlives them.
replaces = _table(
    "replaces",
    _id(),
    _owner("projects", index=False),
    sa.Column("document_id", Id),
    sa.Column("tool_id", Id),
    sa.Column("rule", sa.JSON, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    _one_of("state", "previewed", "executing", "done", "undone"),
    sa.Column("documents", sa.Integer, nullable=False),
    sa.Column("matches", Id, nullable=False),
    sa.Column("actor", sa.Text, nullable=False),
    sa.Column("key_id", Id),
    _created_at(),
    sa.Column("expires_at", Timestamp, nullable=False),
    sa.Column("executed_at", Timestamp),
    sa.Column("executed_by", sa.Text),
    sa.Column("undone_at", Timestamp),
    sa.Column("undone_by", sa.Text),
    sa.Index("ix_replaces_project_id_state", "project_id", "state"),
)

# One row per document with a match. `revision` is that of the preview, `first` the number of matches in the documents
# before it, and `found` its matches. While the replace is executed, `content` is the new content. `version_id` then
# keeps the old one, and `undo_version_id` the replaced one after an undo.
replace_documents = sa.Table(
    "replace_documents",
    metadata,
    sa.Column("replace_id", Id, sa.ForeignKey("replaces.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("document_id", Id, primary_key=True, autoincrement=False),  # no reference: a deleted one is reported
    sa.Column("title", sa.Text, nullable=False),
    sa.Column("revision", Id, nullable=False),
    sa.Column("first", Id, nullable=False),
    sa.Column("matches", Id, nullable=False),
    sa.Column("replaced", Id, nullable=False, server_default="0"),
    sa.Column("skipped", sa.Text),
    sa.Column("version_id", Id),
    sa.Column("new_revision", Id),
    sa.Column("undo_skipped", sa.Text),
    sa.Column("undo_version_id", Id),
    sa.Column("word_count", Id),
    sa.Column("found", sa.LargeBinary),
    sa.Column("content", sa.LargeBinary),
)

tools = _table(
    "tools",
    _id(),
    _owner("projects"),
    _owner("tables", nullable=True),  # a tool that works on documents has none
    sa.Column("type", sa.Text, nullable=False),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("description", sa.Text, nullable=False),
    sa.Column("json_pointer", sa.Text, nullable=False),
    sa.Column("metadata", sa.JSON, nullable=False),
    sa.Column("search_config", sa.JSON(none_as_null=True)),
    _created_at(),
    _updated_at(),
    sa.UniqueConstraint("id", "name"),  # what bindings refer to
)

endpoints = _table(
    "endpoints",
    _id(),
    _owner("projects"),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("key_hash", sa.Text, nullable=False, unique=True),
    sa.Column("lean", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Column("reading", sa.Boolean, nullable=False, server_default=sa.true()),
    _created_at(),
)

# A binding repeats the tool's name, so that the database itself keeps names unique in an endpoint, also on renaming.
bindings = sa.Table(
    "bindings",
    metadata,
    sa.Column("endpoint_id", Id, sa.ForeignKey("endpoints.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("tool_id", Id, primary_key=True, index=True),
    sa.Column("tool_name", sa.Text, nullable=False),
    sa.Column("enabled", sa.Boolean, nullable=False),
    sa.ForeignKeyConstraint(
        ["tool_id", "tool_name"], ["tools.id", "tools.name"], ondelete="CASCADE", onupdate="CASCADE"
    ),
    sa.UniqueConstraint("endpoint_id", "tool_name"),
)

# The retrieval configuration of a project: one row per change, of which the newest is in force.
retrieval_configs = _table(
    "retrieval_configs",
    _id(),
    _owner("projects"),
    sa.Column("top_k", sa.Integer, nullable=False),
    sa.Column("min_score", sa.Double, nullable=False),
    sa.Column("max_tokens", sa.Integer, nullable=False),
    sa.Column("redaction_patterns", sa.JSON, nullable=False),
    sa.Column("redaction_allowed", sa.JSON, nullable=False),
    sa.Column("actor", sa.Text, nullable=False),
    sa.Column("key_id", Id),  # no reference: a change outlives the key that made it
    _created_at(),
)

_WAITING = sa.text("NOT indexed")
_REPLACED = sa.text("last_revision IS NOT NULL")
_OF_TABLE = sa.text("table_id IS NOT NULL")
_PLACE = ("table_id", "json_pointer", "content_hash", "chunk_size", "chunk_overlap", "chunk_index")

# A chunk whose text was replaced stays, and answers, until the engine holds what replaces it. `last_revision` is then
# the last revision of the source that is known to contain it; otherwise it is NULL.
chunks = _table(
    "chunks",
    _id(),
    _owner("tables", nullable=True, index=False),
    _owner("documents", nullable=True),
    sa.Column("json_pointer", sa.Text, nullable=False),
    sa.Column("chunk_index", sa.Integer, nullable=False),
    sa.Column("total_chunks", sa.Integer, nullable=False),
    sa.Column("chunk_size", sa.Integer, nullable=False),
    sa.Column("chunk_overlap", sa.Integer, nullable=False),
    sa.Column("char_start", sa.Integer, nullable=False),
    sa.Column("char_end", sa.Integer, nullable=False),
    sa.Column("content_hash", sa.Text, nullable=False, index=True),
    sa.Column("turbopuffer_namespace", sa.Text, nullable=False, index=True),
    sa.Column("turbopuffer_doc_id", sa.Text, nullable=False, unique=True),
    sa.Column("node_length", Id, nullable=False, server_default="0"),
    sa.Column("indexed", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Column("last_revision", Id),
    _created_at(),
    _updated_at(),
    sa.Column("context", ExactText),  # title and headings; NULL in a table, whose pointer says it
    sa.Column("chunk_text", ExactText, nullable=False),
    # Without the chunks of documents, whose keys would be random: they take 25 instead of 35 µs to insert.
    sa.Index("uq_chunks_place", *_PLACE, unique=True, sqlite_where=_OF_TABLE, postgresql_where=_OF_TABLE),
    sa.CheckConstraint("(table_id IS NULL) <> (document_id IS NULL)", name="one_source"),
    sa.CheckConstraint("char_start >= 0 AND char_end > char_start", name="range"),
    sa.Index("ix_chunks_waiting", "turbopuffer_namespace", sqlite_where=_WAITING, postgresql_where=_WAITING),
    sa.Index("ix_chunks_replaced", "turbopuffer_namespace", sqlite_where=_REPLACED, postgresql_where=_REPLACED),
)

# What an engine still has to forget. A trigger adds a row for every chunk that is deleted, however that came about.
gone_chunks = sa.Table(
    "gone_chunks",
    metadata,
    sa.Column("chunk_id", Id, primary_key=True, autoincrement=False),
    sa.Column("namespace", sa.Text, nullable=False, index=True),
)

# Where a table was changed at a revision that the index has not reached. A hit below such a place may be out of date.
changes = sa.Table(
    "changes",
    metadata,
    sa.Column("table_id", Id, sa.ForeignKey("tables.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("revision", Id, primary_key=True, autoincrement=False),
    sa.Column("json_pointer", sa.Text, primary_key=True),
)

# One row a source (a table, or a document). Triggers make it when the source is made and set it to `pending` whenever
# its revision grows. Its chunks are those of `indexed_revision`; they are all in the engine when it is `ready`.
index_states = _table(
    "index_states",
    _id(),
    _owner("projects"),
    sa.Column("table_id", Id, sa.ForeignKey("tables.id", ondelete="CASCADE"), unique=True),
    sa.Column("document_id", Id, sa.ForeignKey("documents.id", ondelete="CASCADE"), unique=True),
    sa.Column("status", sa.Text, nullable=False),
    _one_of("status", "pending", "indexing", "ready", "error"),
    sa.Column("indexed_revision", Id, nullable=False),
    sa.Column("done", Id, nullable=False),
    sa.Column("total", Id, nullable=False),
    *_error(),
    sa.Column("attempts", sa.Integer, nullable=False, server_default="0"),
    sa.Column("retry_at", Timestamp),
    sa.Column("indexed_at", Timestamp),
    sa.Column("nodes", Id, nullable=False, server_default="0"),
    sa.Column("skipped", sa.JSON(none_as_null=True)),
    _updated_at(),
    sa.CheckConstraint("(table_id IS NULL) <> (document_id IS NULL)", name="one_source"),
    sa.Index("ix_index_states_status", "status", "project_id"),
)

# One row per namespace that the worker knows: what it does there, why, and how far it is. Only the worker writes it.
namespace_states = sa.Table(
    "namespace_states",
    metadata,
    sa.Column("namespace", sa.Text, primary_key=True),
    sa.Column("project_id", Id, nullable=False, index=True),  # no reference: the worker deletes the row when it is done
    sa.Column("phase", sa.Text, nullable=False),
    _one_of("phase", "unchecked", "in_service", "queued", "rebuilding"),
    sa.Column("reason", sa.Text),
    _one_of("reason", "damaged", "wrong_fingerprint", "requested"),
    sa.Column("queued_at", Timestamp),
    sa.Column("fingerprint", sa.Text, nullable=False),
    sa.Column("done", Id, nullable=False),
    sa.Column("total", Id, nullable=False),
    sa.Column("rate", sa.Double, nullable=False),
    *_error(),
    _updated_at(),
)

# What any process asks of the worker, which deletes the row when it has taken the request over. `document_id` is 0
# where a request is about the whole namespace.
index_requests = _table(
    "index_requests",
    _id(),
    sa.Column("namespace", sa.Text, nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    _one_of("kind", "damaged", "wrong_fingerprint", "missing", "wrong_ranges", "rebuild"),
    sa.Column("document_id", Id, nullable=False),
    _created_at(),
    sa.UniqueConstraint("namespace", "kind", "document_id"),
)

# One row: the id of this installation. An index of another installation is not used.
installation = sa.Table("installation", metadata, sa.Column("identity", sa.Text, primary_key=True))

# In the order in which they came, so that a rebuild, which asks for them in that order, reads them one after another.
embedding_cache = _table(
    "embedding_cache",
    _id(),
    sa.Column("fingerprint", sa.Text, nullable=False),
    sa.Column("text_hash", sa.LargeBinary(32), nullable=False),
    sa.Column("vector", sa.LargeBinary, nullable=False),
    sa.UniqueConstraint("text_hash", "fingerprint"),
)
