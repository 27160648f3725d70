"""What the index has to do is state: triggers note every change of a source and every chunk that goes."""

import secrets

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
WAITING = sa.text("NOT indexed")

# {when} is NEW.revision > 0: a table of revision 0 is not there yet, or not any more.
SOURCES = {"tables": "table_id", "documents": "document_id"}
PENDING = """
    INSERT INTO index_states (project_id, {column}, status, indexed_revision, done, total, updated_at)
    VALUES (NEW.project_id, NEW.id, 'pending', 0, 0, 0, CURRENT_TIMESTAMP)
    ON CONFLICT ({column}) DO UPDATE SET status = 'pending', attempts = 0, retry_at = NULL;
"""
GONE = """
    INSERT INTO gone_chunks (chunk_id, namespace) VALUES (OLD.id, OLD.turbopuffer_namespace) ON CONFLICT DO NOTHING;
"""
EVENTS = {"insert": "AFTER INSERT", "update": "AFTER UPDATE OF revision"}


def upgrade() -> None:
    op.add_column("chunks", sa.Column("node_length", ID, nullable=False, server_default="0"))
    op.add_column("chunks", sa.Column("indexed", sa.Boolean(), nullable=False, server_default=sa.false()))
    op.create_index(
        "ix_chunks_waiting", "chunks", ["turbopuffer_namespace"], sqlite_where=WAITING, postgresql_where=WAITING
    )
    op.create_table(
        "gone_chunks",
        sa.Column("chunk_id", ID, nullable=False, autoincrement=False),
        sa.Column("namespace", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("chunk_id", name=op.f("pk_gone_chunks")),
    )
    op.create_index(op.f("ix_gone_chunks_namespace"), "gone_chunks", ["namespace"])
    op.create_table(
        "changes",
        sa.Column("table_id", ID, nullable=False),
        sa.Column("revision", ID, nullable=False, autoincrement=False),
        sa.Column("json_pointer", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["table_id"], ["tables.id"], name=op.f("fk_changes_table_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("table_id", "revision", "json_pointer", name=op.f("pk_changes")),
    )
    op.add_column("index_states", sa.Column("attempts", sa.Integer(), nullable=False, server_default="0"))
    op.add_column("index_states", sa.Column("retry_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("index_states", sa.Column("nodes", ID, nullable=False, server_default="0"))
    op.add_column("index_states", sa.Column("skipped", sa.JSON(), nullable=True))
    op.create_index("ix_index_states_status", "index_states", ["status", "project_id"])
    installation = op.create_table(
        "installation",
        sa.Column("identity", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("identity", name=op.f("pk_installation")),
    )
    op.bulk_insert(installation, [{"identity": secrets.token_hex(16)}])
    _start_over()
    for table, column in SOURCES.items():
        for event, when in EVENTS.items():
            _create_trigger(f"{table}_{event}", f"{when} ON {table}", PENDING.format(column=column), "NEW.revision > 0")
    _create_trigger("chunks_delete", "AFTER DELETE ON chunks", GONE)


def _start_over() -> None:
    """What was there before becomes work for the index."""
    op.execute("DELETE FROM chunks")
    op.execute("DELETE FROM index_states")
    for table, column in SOURCES.items():
        op.execute(
            f"INSERT INTO index_states (project_id, {column}, status, indexed_revision, done, total, updated_at) "
            f"SELECT project_id, id, 'pending', 0, 0, 0, CURRENT_TIMESTAMP FROM {table} WHERE revision > 0"
        )


def _create_trigger(name: str, event: str, body: str, condition: str | None = None) -> None:
    when = f"WHEN ({condition})" if condition else ""
    if op.get_bind().dialect.name == "sqlite":
        op.execute(f"CREATE TRIGGER {name}_noted {event} FOR EACH ROW {when} BEGIN {body} END")
        return
    op.execute(
        f"CREATE FUNCTION {name}_noted() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {body} RETURN NULL; END $$"
    )
    op.execute(f"CREATE TRIGGER {name}_noted {event} FOR EACH ROW {when} EXECUTE FUNCTION {name}_noted()")


def downgrade() -> None:
    places = {f"{table}_{event}": table for table in SOURCES for event in EVENTS} | {"chunks_delete": "chunks"}
    for name, table in places.items():
        if op.get_bind().dialect.name == "sqlite":
            op.execute(f"DROP TRIGGER {name}_noted")
        else:
            op.execute(f"DROP TRIGGER {name}_noted ON {table}")
            op.execute(f"DROP FUNCTION {name}_noted()")
    op.drop_table("installation")
    op.drop_index("ix_index_states_status", "index_states")
    for column in ("skipped", "nodes", "retry_at", "attempts"):
        op.drop_column("index_states", column)
    op.drop_table("changes")
    op.drop_table("gone_chunks")
    op.drop_index("ix_chunks_waiting", "chunks")
    for column in ("indexed", "node_length"):
        op.drop_column("chunks", column)
