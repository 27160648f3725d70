"""PostgreSQL announces work for the index, so that the worker need not poll for it."""

from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None

# Identical notifications of one transaction are delivered once. Progress of the worker is not announced.
EVENTS = {
    "index_states": "AFTER INSERT OR UPDATE OF status ON index_states FOR EACH ROW WHEN (NEW.status = 'pending')",
    "gone_chunks": "AFTER INSERT ON gone_chunks FOR EACH STATEMENT",
    "index_requests": "AFTER INSERT ON index_requests FOR EACH STATEMENT",
}


def upgrade() -> None:
    if op.get_bind().dialect.name != "postgresql":  # SQLite has one process, which knows what it saves
        return
    op.execute(
        "CREATE FUNCTION work_notified() RETURNS trigger LANGUAGE plpgsql "
        "AS $$ BEGIN PERFORM pg_notify('findspot_work', ''); RETURN NULL; END $$"
    )
    for table, event in EVENTS.items():
        op.execute(f"CREATE TRIGGER {table}_notified {event} EXECUTE FUNCTION work_notified()")


def downgrade() -> None:
    if op.get_bind().dialect.name != "postgresql":
        return
    for table in EVENTS:
        op.execute(f"DROP TRIGGER {table}_notified ON {table}")
    op.execute("DROP FUNCTION work_notified()")
