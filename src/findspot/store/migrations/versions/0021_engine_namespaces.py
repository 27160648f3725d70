"""The namespaces of a remote engine that hold an index, are being built or are to be deleted."""

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
SERVES = sa.text("state = 'serving'")


def upgrade() -> None:
    op.create_table(
        "engine_namespaces",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("installation", sa.Text(), nullable=False),
        sa.Column("namespace", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("fingerprint", sa.Text(), nullable=False),
        sa.Column("dimension", sa.Integer(), nullable=False),
        sa.Column("fence", ID, nullable=False),
        sa.CheckConstraint("state IN ('serving', 'building', 'unwanted')", name=op.f("ck_engine_namespaces_state")),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_engine_namespaces")),
    )
    op.create_index(
        "ix_engine_namespaces_serving",
        "engine_namespaces",
        ["installation", "namespace"],
        unique=True,
        sqlite_where=SERVES,
        postgresql_where=SERVES,
    )


def downgrade() -> None:
    op.drop_table("engine_namespaces")
