"""Which file each document and table was imported from, and the lines of a document's source."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "import_files",
        sa.Column("project_id", ID, nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("document_id", ID, nullable=True),
        sa.Column("table_id", ID, nullable=True),
        sa.Column("root", sa.Text(), nullable=True),
        sa.Column("hash", sa.LargeBinary(32), nullable=True),
        sa.Column("missing", sa.Boolean(), nullable=False, server_default=sa.false()),
        sa.CheckConstraint("(table_id IS NULL) <> (document_id IS NULL)", name=op.f("ck_import_files_one_source")),
        *(_reference("import_files", column) for column in ("project_id", "document_id", "table_id")),
        sa.PrimaryKeyConstraint("project_id", "path", name=op.f("pk_import_files")),
        sa.UniqueConstraint("document_id", name=op.f("uq_import_files_document_id")),
        sa.UniqueConstraint("table_id", name=op.f("uq_import_files_table_id")),
    )
    op.create_index("ix_import_files_project_id_root", "import_files", ["project_id", "root"])
    op.create_table(
        "document_lines",
        sa.Column("document_id", ID, nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("lines", sa.LargeBinary(), nullable=False),
        _reference("document_lines", "document_id"),
        sa.PrimaryKeyConstraint("document_id", "number", name=op.f("pk_document_lines")),
    )
    for source in ("document", "table"):
        op.execute(
            f"INSERT INTO import_files (project_id, path, {source}_id) "
            f"SELECT project_id, path, id FROM {source}s WHERE path IS NOT NULL"
        )
    # Documents are cut again, which makes their line indexes. Passages that stay the same keep their vectors.
    op.execute("UPDATE index_states SET status = 'pending' WHERE document_id IS NOT NULL AND status = 'ready'")


def downgrade() -> None:
    op.drop_table("document_lines")
    op.drop_table("import_files")


def _reference(table: str, column: str) -> sa.ForeignKeyConstraint:
    target = column.removesuffix("_id") + "s.id"
    return sa.ForeignKeyConstraint([column], [target], name=op.f(f"fk_{table}_{column}"), ondelete="CASCADE")
