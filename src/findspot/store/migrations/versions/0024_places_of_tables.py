"""Leave the chunks of documents out of the index of places, which is of use to tables only.

A document's chunks have no place in a table, so the index kept none of them from being stored twice, and its keys began
with random hashes: it took a quarter of the time to write a chunk.
"""

from collections.abc import Callable

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None

NAME = "uq_chunks_place"
COLUMNS = ["table_id", "json_pointer", "content_hash", "chunk_size", "chunk_overlap", "chunk_index"]
OF_TABLE = sa.text("table_id IS NOT NULL")
CONSTRAINT = f", \n\tCONSTRAINT {NAME} UNIQUE ({', '.join(COLUMNS)})"


def upgrade() -> None:
    if op.get_bind().dialect.name == "sqlite":
        _rewrite_table(lambda definition: definition.replace(CONSTRAINT, ""))
    else:
        op.drop_constraint(NAME, "chunks")
    op.create_index(NAME, "chunks", COLUMNS, unique=True, sqlite_where=OF_TABLE, postgresql_where=OF_TABLE)


def downgrade() -> None:
    op.drop_index(NAME, "chunks")
    if op.get_bind().dialect.name == "sqlite":
        _rewrite_table(lambda definition: definition.rstrip().removesuffix(")") + f"{CONSTRAINT})")
    else:
        op.create_unique_constraint(NAME, "chunks", COLUMNS)


def _rewrite_table(change: Callable[[str], str]) -> None:
    """Copy the chunks to a table with another definition. SQLite cannot change a constraint.

    Ids are never reused: the new table goes on with the sequence of the old one.
    """
    connection = op.get_bind()
    found = "SELECT {} FROM sqlite_master WHERE tbl_name = 'chunks' AND sql IS NOT NULL AND type {}"
    definition = connection.exec_driver_sql(found.format("sql", "= 'table'")).scalar_one()
    others = connection.exec_driver_sql(found.format("sql", "<> 'table'")).scalars().all()
    changed = change(definition).replace("chunks", "new_chunks", 1)
    assert changed != definition.replace("chunks", "new_chunks", 1)
    for statement in (
        changed,
        "INSERT INTO new_chunks SELECT * FROM chunks ORDER BY id",
        "DELETE FROM sqlite_sequence WHERE name = 'new_chunks'",
        "INSERT INTO sqlite_sequence SELECT 'new_chunks', seq FROM sqlite_sequence WHERE name = 'chunks'",
        "DROP TABLE chunks",
        "ALTER TABLE new_chunks RENAME TO chunks",
        *others,
    ):
        connection.exec_driver_sql(statement)
