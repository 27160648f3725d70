"""The tables about running processes: who is alive, who holds the index, and which worker writes a namespace."""

import sqlalchemy as sa

from findspot.store.column_types import Id, Timestamp
from findspot.store.schema import metadata

TOKENS = "lease_tokens"  # the sequence of fencing tokens, on PostgreSQL: a later claim has a higher token, always

leases = sa.Table(
    "leases",
    metadata,
    sa.Column("namespace", sa.Text, primary_key=True),
    sa.Column("token", Id, nullable=False),
    sa.Column("holder", sa.Text),  # the id of a process; NULL once the lease is given back
    sa.Column("claimed_at", Timestamp, nullable=False),
    sa.Column("expires_at", Timestamp, nullable=False),
)

processes = sa.Table(
    "processes",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("role", sa.Text, nullable=False),
    sa.CheckConstraint("role IN ('api', 'worker', 'all')", name="role"),
    sa.Column("host", sa.Text, nullable=False),
    sa.Column("pid", Id, nullable=False),
    sa.Column("version", sa.Text, nullable=False),
    sa.Column("serves", sa.Text, nullable=False),
    sa.Column("started_at", Timestamp, nullable=False),
    sa.Column("heartbeat_at", Timestamp, nullable=False),
    sa.Column("metrics", sa.LargeBinary),  # Prometheus' text format, compressed
)

# One row at most, on PostgreSQL only: the engine that holds the index and, if that is in a data folder, which one.
_OWNER = ("engine", "installation_id", "folder", "host")
_OWNER_COLUMNS = (sa.Column(name, sa.Text, primary_key=name == "engine") for name in _OWNER)
index_owner = sa.Table("index_owner", metadata, *_OWNER_COLUMNS, sa.Column("claimed_at", Timestamp, nullable=False))
