"""The first schema: projects, keys, tables, documents, versions, tools, endpoints, chunks, index states, embeddings."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
MOMENT = sa.DateTime(timezone=True)

LARGE = (("pieces", "piece"), ("documents", "content"), ("versions", "content"))


def upgrade() -> None:
    op.create_table(
        "embedding_cache",
        sa.Column("fingerprint", sa.Text(), nullable=False),
        sa.Column("text_hash", sa.LargeBinary(length=32), nullable=False),
        sa.Column("vector", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("fingerprint", "text_hash", name=op.f("pk_embedding_cache")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "projects",
        sa.Column("id", ID, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_projects")),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "documents",
        sa.Column("id", ID, nullable=False),
        sa.Column("project_id", ID, nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column("format", sa.Text(), nullable=False),
        sa.Column("revision", ID, nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("updated_at", MOMENT, nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.CheckConstraint("format IN ('tiptap', 'markdown', 'text')", name=op.f("ck_documents_format")),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.id"], name=op.f("fk_documents_project_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_documents")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_documents_project_id"), "documents", ["project_id"], unique=False)
    op.create_table(
        "endpoints",
        sa.Column("id", ID, nullable=False),
        sa.Column("project_id", ID, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("key_hash", sa.Text(), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.id"], name=op.f("fk_endpoints_project_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_endpoints")),
        sa.UniqueConstraint("key_hash", name=op.f("uq_endpoints_key_hash")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_endpoints_project_id"), "endpoints", ["project_id"], unique=False)
    op.create_table(
        "keys",
        sa.Column("id", ID, nullable=False),
        sa.Column("project_id", ID, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("hash", sa.Text(), nullable=False),
        sa.Column("hint", sa.Text(), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.CheckConstraint("role IN ('read', 'write', 'admin')", name=op.f("ck_keys_role")),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name=op.f("fk_keys_project_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_keys")),
        sa.UniqueConstraint("hash", name=op.f("uq_keys_hash")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_keys_project_id"), "keys", ["project_id"], unique=False)
    op.create_table(
        "tables",
        sa.Column("id", ID, nullable=False),
        sa.Column("project_id", ID, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("revision", ID, nullable=False),
        sa.Column("size", ID, nullable=False),
        sa.Column("text_id", ID, nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("updated_at", MOMENT, nullable=False),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name=op.f("fk_tables_project_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tables")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_tables_project_id"), "tables", ["project_id"], unique=False)
    op.create_table(
        "chunks",
        sa.Column("id", ID, nullable=False),
        sa.Column("table_id", ID, nullable=True),
        sa.Column("document_id", ID, nullable=True),
        sa.Column("json_pointer", sa.Text(), nullable=False),
        sa.Column("chunk_index", sa.Integer(), nullable=False),
        sa.Column("total_chunks", sa.Integer(), nullable=False),
        sa.Column("chunk_size", sa.Integer(), nullable=False),
        sa.Column("chunk_overlap", sa.Integer(), nullable=False),
        sa.Column("char_start", sa.Integer(), nullable=False),
        sa.Column("char_end", sa.Integer(), nullable=False),
        sa.Column("content_hash", sa.Text(), nullable=False),
        sa.Column("turbopuffer_namespace", sa.Text(), nullable=False),
        sa.Column("turbopuffer_doc_id", sa.Text(), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("updated_at", MOMENT, nullable=False),
        sa.Column("chunk_text", sa.LargeBinary(), nullable=False),
        sa.CheckConstraint("(table_id IS NULL) <> (document_id IS NULL)", name=op.f("ck_chunks_one_source")),
        sa.CheckConstraint("char_start >= 0 AND char_end > char_start", name=op.f("ck_chunks_range")),
        sa.ForeignKeyConstraint(
            ["document_id"], ["documents.id"], name=op.f("fk_chunks_document_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["table_id"], ["tables.id"], name=op.f("fk_chunks_table_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_chunks")),
        sa.UniqueConstraint(
            "table_id",
            "json_pointer",
            "content_hash",
            "chunk_size",
            "chunk_overlap",
            "chunk_index",
            name="uq_chunks_place",
        ),
        sa.UniqueConstraint("turbopuffer_doc_id", name=op.f("uq_chunks_turbopuffer_doc_id")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_chunks_content_hash"), "chunks", ["content_hash"], unique=False)
    op.create_index(op.f("ix_chunks_document_id"), "chunks", ["document_id"], unique=False)
    op.create_index(op.f("ix_chunks_turbopuffer_namespace"), "chunks", ["turbopuffer_namespace"], unique=False)
    op.create_table(
        "index_states",
        sa.Column("id", ID, nullable=False),
        sa.Column("project_id", ID, nullable=False),
        sa.Column("table_id", ID, nullable=True),
        sa.Column("document_id", ID, nullable=True),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("indexed_revision", ID, nullable=False),
        sa.Column("fingerprint", sa.Text(), nullable=True),
        sa.Column("done", ID, nullable=False),
        sa.Column("total", ID, nullable=False),
        sa.Column("last_error", sa.Text(), nullable=True),
        sa.Column("updated_at", MOMENT, nullable=False),
        sa.CheckConstraint("status IN ('pending', 'indexing', 'ready', 'error')", name=op.f("ck_index_states_status")),
        sa.CheckConstraint("(table_id IS NULL) <> (document_id IS NULL)", name=op.f("ck_index_states_one_source")),
        sa.ForeignKeyConstraint(
            ["document_id"], ["documents.id"], name=op.f("fk_index_states_document_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.id"], name=op.f("fk_index_states_project_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["table_id"], ["tables.id"], name=op.f("fk_index_states_table_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_index_states")),
        sa.UniqueConstraint("document_id", name=op.f("uq_index_states_document_id")),
        sa.UniqueConstraint("table_id", name=op.f("uq_index_states_table_id")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_index_states_project_id"), "index_states", ["project_id"], unique=False)
    op.create_table(
        "pieces",
        sa.Column("table_id", ID, nullable=False),
        sa.Column("text_id", ID, nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("piece", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["table_id"], ["tables.id"], name=op.f("fk_pieces_table_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("table_id", "text_id", "number", name=op.f("pk_pieces")),
    )
    op.create_table(
        "tools",
        sa.Column("id", ID, nullable=False),
        sa.Column("project_id", ID, nullable=False),
        sa.Column("table_id", ID, nullable=False),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("json_pointer", sa.Text(), nullable=False),
        sa.Column("metadata", sa.JSON(), nullable=False),
        sa.Column("search_config", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("updated_at", MOMENT, nullable=False),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name=op.f("fk_tools_project_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["table_id"], ["tables.id"], name=op.f("fk_tools_table_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tools")),
        sa.UniqueConstraint("id", "name", name=op.f("uq_tools_id_name")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_tools_project_id"), "tools", ["project_id"], unique=False)
    op.create_index(op.f("ix_tools_table_id"), "tools", ["table_id"], unique=False)
    op.create_table(
        "versions",
        sa.Column("id", ID, nullable=False),
        sa.Column("document_id", ID, nullable=False),
        sa.Column("parent_id", ID, nullable=True),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("format", sa.Text(), nullable=False),
        sa.Column("word_count", ID, nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.CheckConstraint("reason IN ('manual', 'autosave', 'replace', 'restore')", name=op.f("ck_versions_reason")),
        sa.ForeignKeyConstraint(
            ["document_id"], ["documents.id"], name=op.f("fk_versions_document_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["parent_id"], ["versions.id"], name=op.f("fk_versions_parent_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_versions")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_versions_document_id"), "versions", ["document_id"], unique=False)
    op.create_index(op.f("ix_versions_parent_id"), "versions", ["parent_id"], unique=False)
    op.create_table(
        "bindings",
        sa.Column("endpoint_id", ID, nullable=False),
        sa.Column("tool_id", ID, nullable=False),
        sa.Column("tool_name", sa.Text(), nullable=False),
        sa.Column("enabled", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(
            ["endpoint_id"], ["endpoints.id"], name=op.f("fk_bindings_endpoint_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["tool_id", "tool_name"],
            ["tools.id", "tools.name"],
            name=op.f("fk_bindings_tool_id_tool_name"),
            onupdate="CASCADE",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("endpoint_id", "tool_id", name=op.f("pk_bindings")),
        sa.UniqueConstraint("endpoint_id", "tool_name", name=op.f("uq_bindings_endpoint_id_tool_name")),
    )
    op.create_index(op.f("ix_bindings_tool_id"), "bindings", ["tool_id"], unique=False)
    if op.get_context().dialect.name == "postgresql":
        for table, column in LARGE:  # compressing tens of megabytes on every save costs more than the disk they need
            op.execute(f"ALTER TABLE {table} ALTER COLUMN {column} SET STORAGE EXTERNAL")


def downgrade() -> None:
    for table in (
        "bindings",
        "versions",
        "tools",
        "index_states",
        "chunks",
        "pieces",
        "tables",
        "keys",
        "endpoints",
        "documents",
        "projects",
        "embedding_cache",
    ):
        op.drop_table(table)
