"""An index by which a search finds the documents that its filters admit, without reading them."""

from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

_INDEX = "ix_documents_project_id_updated_at"


def upgrade() -> None:
    op.create_index(_INDEX, "documents", ["project_id", "updated_at", "type"])


def downgrade() -> None:
    op.drop_index(_INDEX, "documents")
