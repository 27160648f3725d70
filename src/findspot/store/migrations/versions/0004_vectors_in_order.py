"""Vectors of texts lie in the order in which they came: by their hashes, each would go to a page of its own."""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    _replace(
        sa.Column("id", ID, nullable=False),
        *_columns(),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_embedding_cache")),
        sa.UniqueConstraint("text_hash", "fingerprint", name=op.f("uq_embedding_cache_text_hash_fingerprint")),
        sqlite_autoincrement=True,
    )


def downgrade() -> None:
    _replace(
        *_columns(),
        sa.PrimaryKeyConstraint("fingerprint", "text_hash", name=op.f("pk_embedding_cache")),
        sqlite_with_rowid=False,
    )


def _columns() -> list[sa.Column[Any]]:
    return [
        sa.Column("fingerprint", sa.Text(), nullable=False),
        sa.Column("text_hash", sa.LargeBinary(length=32), nullable=False),
        sa.Column("vector", sa.LargeBinary(), nullable=False),
    ]


def _replace(*parts: sa.Column[Any] | sa.Constraint, **options: bool) -> None:
    """Make the table anew with the rows that it has."""
    names = "fingerprint, text_hash, vector"
    op.execute(f"CREATE TEMPORARY TABLE kept_vectors AS SELECT {names} FROM embedding_cache")
    op.drop_table("embedding_cache")
    op.create_table("embedding_cache", *parts, **options)
    op.execute(f"INSERT INTO embedding_cache ({names}) SELECT {names} FROM kept_vectors")
    op.execute("DROP TABLE kept_vectors")
