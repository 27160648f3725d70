"""Alembic's entry: the connection is always handed in by `findspot.store.migrate`."""

from alembic import context

from findspot.store import engine_namespaces  # noqa: F401 - its table belongs to the schema
from findspot.store.schema import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata, render_as_batch=True)
context.run_migrations()
