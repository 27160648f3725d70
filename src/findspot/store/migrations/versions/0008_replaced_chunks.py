"""A chunk whose text was replaced keeps its row until the engine holds the new text."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
REPLACED = sa.text("last_revision IS NOT NULL")


def upgrade() -> None:
    op.add_column("chunks", sa.Column("last_revision", ID, nullable=True))
    op.create_index(
        op.f("ix_chunks_replaced"),
        "chunks",
        ["turbopuffer_namespace"],
        sqlite_where=REPLACED,
        postgresql_where=REPLACED,
    )


def downgrade() -> None:
    op.drop_index(op.f("ix_chunks_replaced"), table_name="chunks")
    op.drop_column("chunks", "last_revision")
