"""The state of each namespace and the requests to the index worker are rows; an error is a code and fields."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
AUTOINCREMENT = {"sqlite_autoincrement": True}
PHASES = "phase IN ('unchecked', 'in_service', 'queued', 'rebuilding')"
REASONS = "reason IN ('damaged', 'wrong_fingerprint', 'requested')"
KINDS = "kind IN ('damaged', 'wrong_fingerprint', 'missing', 'wrong_ranges', 'rebuild')"


def upgrade() -> None:
    op.create_table(
        "namespace_states",
        sa.Column("namespace", sa.Text(), nullable=False),
        sa.Column("project_id", ID, nullable=False),
        sa.Column("phase", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("queued_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("fingerprint", sa.Text(), nullable=False),
        sa.Column("done", ID, nullable=False),
        sa.Column("total", ID, nullable=False),
        sa.Column("rate", sa.Double(), nullable=False),
        *_error_columns(),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(PHASES, name=op.f("ck_namespace_states_phase")),
        sa.CheckConstraint(REASONS, name=op.f("ck_namespace_states_reason")),
        sa.PrimaryKeyConstraint("namespace", name=op.f("pk_namespace_states")),
    )
    op.create_index(op.f("ix_namespace_states_project_id"), "namespace_states", ["project_id"])
    op.create_table(
        "index_requests",
        sa.Column("id", ID, nullable=False),
        sa.Column("namespace", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("document_id", ID, nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(KINDS, name=op.f("ck_index_requests_kind")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_index_requests")),
        sa.UniqueConstraint(
            "namespace", "kind", "document_id", name=op.f("uq_index_requests_namespace_kind_document_id")
        ),
        **AUTOINCREMENT,
    )
    for column in _error_columns():
        op.add_column("index_states", column)
    op.execute(f"UPDATE index_states SET error_code = {_before()}, error_message = {_after()} WHERE {_is_coded()}")
    op.execute(
        "UPDATE index_states SET error_code = 'INTERNAL', error_message = last_error "
        "WHERE last_error IS NOT NULL AND error_code IS NULL"
    )
    op.drop_column("index_states", "last_error")
    op.drop_column("index_states", "fingerprint")


def downgrade() -> None:
    op.add_column("index_states", sa.Column("fingerprint", sa.Text(), nullable=True))
    op.add_column("index_states", sa.Column("last_error", sa.Text(), nullable=True))
    op.execute("UPDATE index_states SET last_error = error_code || ': ' || error_message WHERE error_code IS NOT NULL")
    for column in _error_columns():
        op.drop_column("index_states", column.name)
    op.drop_table("index_requests")
    op.drop_table("namespace_states")


def _error_columns() -> list[sa.Column[object]]:
    return [
        sa.Column("error_code", sa.Text(), nullable=True),
        sa.Column("error_message", sa.Text(), nullable=True),
        sa.Column("error_fields", sa.JSON(), nullable=True),
    ]


# An old `last_error` is "CODE: message".


def _position() -> str:
    is_sqlite = op.get_bind().dialect.name == "sqlite"
    return "instr(last_error, ': ')" if is_sqlite else "strpos(last_error, ': ')"


def _is_coded() -> str:
    return f"{_position()} > 1"


def _before() -> str:
    return f"substr(last_error, 1, {_position()} - 1)"


def _after() -> str:
    return f"substr(last_error, {_position()} + 2)"
