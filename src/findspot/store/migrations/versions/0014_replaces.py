"""Replaces over many documents: previews, what they changed, and what undoes them."""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.create_table(
        "replaces",
        sa.Column("id", ID, nullable=False),
        sa.Column("project_id", ID, nullable=False),
        sa.Column("document_id", ID, nullable=True),
        sa.Column("tool_id", ID, nullable=True),
        sa.Column("rule", sa.JSON(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("documents", sa.Integer(), nullable=False),
        sa.Column("matches", ID, nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("key_id", ID, nullable=True),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("expires_at", TIME, nullable=False),
        sa.Column("executed_at", TIME, nullable=True),
        sa.Column("executed_by", sa.Text(), nullable=True),
        sa.Column("undone_at", TIME, nullable=True),
        sa.Column("undone_by", sa.Text(), nullable=True),
        sa.CheckConstraint("state IN ('previewed', 'executing', 'done', 'undone')", name=op.f("ck_replaces_state")),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.id"], name=op.f("fk_replaces_project_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_replaces")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_replaces_project_id_state", "replaces", ["project_id", "state"])
    op.create_table(
        "replace_documents",
        sa.Column("replace_id", ID, nullable=False),
        sa.Column("document_id", ID, nullable=False, autoincrement=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("revision", ID, nullable=False),
        sa.Column("first", ID, nullable=False),
        sa.Column("matches", ID, nullable=False),
        sa.Column("replaced", ID, nullable=False, server_default="0"),
        sa.Column("skipped", sa.Text(), nullable=True),
        sa.Column("version_id", ID, nullable=True),
        sa.Column("new_revision", ID, nullable=True),
        sa.Column("undo_skipped", sa.Text(), nullable=True),
        sa.Column("undo_version_id", ID, nullable=True),
        sa.Column("word_count", ID, nullable=True),
        sa.Column("found", sa.LargeBinary(), nullable=True),
        sa.Column("content", sa.LargeBinary(), nullable=True),
        sa.ForeignKeyConstraint(
            ["replace_id"], ["replaces.id"], name=op.f("fk_replace_documents_replace_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("replace_id", "document_id", name=op.f("pk_replace_documents")),
    )


def downgrade() -> None:
    op.drop_table("replace_documents")
    op.drop_table("replaces")
