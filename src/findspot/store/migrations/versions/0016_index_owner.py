"""The database records which engine holds its index, and in which data folder."""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "index_owner",
        sa.Column("engine", sa.Text(), nullable=False),
        sa.Column("installation_id", sa.Text(), nullable=True),
        sa.Column("folder", sa.Text(), nullable=True),
        sa.Column("host", sa.Text(), nullable=True),
        sa.Column("claimed_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("engine", name=op.f("pk_index_owner")),
    )


def downgrade() -> None:
    op.drop_table("index_owner")
