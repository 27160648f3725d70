"""Index workers on several machines share the namespaces by leases."""

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "leases",
        sa.Column("namespace", sa.Text(), nullable=False),
        sa.Column("token", ID, nullable=False),
        sa.Column("holder", sa.Text(), nullable=True),
        sa.Column("claimed_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("namespace", name=op.f("pk_leases")),
    )
    if op.get_bind().dialect.name == "postgresql":  # SQLite has one worker, which needs no lease
        op.execute("CREATE SEQUENCE lease_tokens")


def downgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        op.execute("DROP SEQUENCE lease_tokens")
    op.drop_table("leases")
