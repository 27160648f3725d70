"""An installation can be moved to another database while it is used: a log of changed rows, and the progress."""

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "moves",
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("peer", sa.Text(), nullable=False),
        sa.Column("identity", sa.Text(), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("role IN ('source', 'target')", name=op.f("ck_moves_role")),
        sa.CheckConstraint("state IN ('copying', 'frozen', 'moved')", name=op.f("ck_moves_state")),
        sa.PrimaryKeyConstraint("role", name=op.f("pk_moves")),
    )
    op.create_table(
        "moved_tables",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("last_key", sa.Text(), nullable=True),
        sa.Column("done", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_moved_tables")),
    )
    op.create_table(
        "changed_rows",
        sa.Column("id", ID, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("row_key", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_changed_rows")),
        sqlite_autoincrement=True,
    )


def downgrade() -> None:
    for name in ("changed_rows", "moved_tables", "moves"):
        op.drop_table(name)
