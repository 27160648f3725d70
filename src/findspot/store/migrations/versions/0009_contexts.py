"""A chunk of a document has a context: its title and headings. Every document is cut again.

The old chunks stay, and are found, until the new ones of their document are in the engine.
"""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("chunks", sa.Column("context", sa.LargeBinary(), nullable=True))
    op.execute(
        "UPDATE index_states SET status = 'pending', attempts = 0, retry_at = NULL WHERE document_id IS NOT NULL"
    )


def downgrade() -> None:
    op.drop_column("chunks", "context")
