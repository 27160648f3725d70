"""Endpoints can be lean, or without reading tools beside search tools. A tool on documents has no table."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("endpoints", sa.Column("lean", sa.Boolean(), nullable=False, server_default=sa.false()))
    op.add_column("endpoints", sa.Column("reading", sa.Boolean(), nullable=False, server_default=sa.true()))
    _set_nullable(True)


def downgrade() -> None:
    op.execute("DELETE FROM tools WHERE table_id IS NULL")
    _set_nullable(False)
    op.drop_column("endpoints", "reading")
    op.drop_column("endpoints", "lean")


def _set_nullable(nullable: bool) -> None:
    if op.get_bind().dialect.name == "postgresql":
        op.alter_column("tools", "table_id", nullable=nullable)
        return
    # Making a new table would delete the bindings with the old one. SQLite documents this way for NOT NULL.
    before, after = "table_id INTEGER NOT NULL", "table_id INTEGER"
    if not nullable:
        before, after = f"{after},", f"{before},"
    version = op.get_bind().execute(sa.text("PRAGMA schema_version")).scalar_one()
    op.execute("PRAGMA writable_schema = ON")
    op.execute(
        f"UPDATE sqlite_master SET sql = replace(sql, '{before}', '{after}') WHERE type = 'table' AND name = 'tools'"
    )
    op.execute(f"PRAGMA schema_version = {version + 1}")
    op.execute("PRAGMA writable_schema = OFF")
