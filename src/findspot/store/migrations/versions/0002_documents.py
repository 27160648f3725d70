"""Documents: where they were imported from, their word count, and which key kept a version."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    for table in ("tables", "documents"):
        op.add_column(table, sa.Column("path", sa.Text(), nullable=True))
        op.create_index(f"ux_{table}_project_id_path", table, ["project_id", "path"], unique=True)
    op.add_column("documents", sa.Column("word_count", ID, nullable=False, server_default="0"))
    op.add_column("versions", sa.Column("key_id", ID, nullable=True))


def downgrade() -> None:
    op.drop_column("versions", "key_id")
    op.drop_column("documents", "word_count")
    for table in ("tables", "documents"):
        op.drop_index(f"ux_{table}_project_id_path", table)
        op.drop_column(table, "path")
