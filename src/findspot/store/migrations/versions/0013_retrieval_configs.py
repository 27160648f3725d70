"""The retrieval configuration of a project, with all its changes."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "retrieval_configs",
        sa.Column("id", ID, nullable=False),
        sa.Column("project_id", ID, nullable=False),
        sa.Column("top_k", sa.Integer(), nullable=False),
        sa.Column("min_score", sa.Double(), nullable=False),
        sa.Column("max_tokens", sa.Integer(), nullable=False),
        sa.Column("redaction_patterns", sa.JSON(), nullable=False),
        sa.Column("redaction_allowed", sa.JSON(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("key_id", ID, nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.id"], name=op.f("fk_retrieval_configs_project_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_retrieval_configs")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_retrieval_configs_project_id"), "retrieval_configs", ["project_id"])


def downgrade() -> None:
    op.drop_table("retrieval_configs")
