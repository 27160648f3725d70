"""Searches that several processes continue."""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None


def upgrade() -> None:
    is_postgres = op.get_bind().dialect.name == "postgresql"
    id_type = sa.BigInteger().with_variant(sa.Integer, "sqlite")
    op.create_table(
        "search_cursors",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("project_id", id_type, nullable=False),
        sa.Column("used_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ranking", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_search_cursors")),
        prefixes=["UNLOGGED"] if is_postgres else [],
    )
    op.create_index("ix_search_cursors_project_id_used_at", "search_cursors", ["project_id", "used_at"])


def downgrade() -> None:
    op.drop_table("search_cursors")
