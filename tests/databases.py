"""Databases for tests, with the schema in place: to migrate one takes longer than most tests do.

Databases of PostgreSQL are used again; an SQLite file is a copy.
"""

import asyncio
import secrets
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

from findspot.store.database import Store
from findspot.store.migrate import HEAD

_KEPT = {"alembic_version", "installation"}  # what the migrations write

_TABLES = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
_SHAPE = """\
SELECT array_agg((kind, owner, name)::text ORDER BY kind, owner, name) FROM (
    SELECT 'column' AS kind, table_name::text AS owner, (column_name, data_type, column_default)::text AS name
    FROM information_schema.columns WHERE table_schema = 'public'
    UNION ALL SELECT 'index', tablename::text, indexdef FROM pg_indexes WHERE schemaname = 'public'
    UNION ALL SELECT 'trigger', event_object_table::text, (trigger_name, event_manipulation)::text
    FROM information_schema.triggers
) AS everything"""
_OTHERS = """\
SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"""


class SqliteTemplate:
    """An SQLite file as the migrations leave it."""

    def __init__(self, file: Path) -> None:
        async def migrate() -> None:
            await (await Store.open(None, file)).close()

        asyncio.run(migrate())
        self._file = file

    def copy(self, file: Path) -> None:
        """Write a new database to `file`, with an identity of its own."""
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        shutil.copyfile(self._file, file)
        file.chmod(0o600)
        with closing(sqlite3.connect(file)) as connection, connection:
            connection.execute("PRAGMA synchronous = OFF")
            connection.execute("UPDATE installation SET identity = ?", (secrets.token_hex(16),))


class Databases:
    """The databases of one server."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._free: list[str] = []
        self._cleaners: dict[str, psycopg.Connection[tuple[Any, ...]]] = {}  # a new one would read the catalogues anew
        self._shape: Any = None  # of a database as the migrations leave it
        with self._maintenance() as connection:  # whoever kills the process under test does not cut off the power
            connection.execute("ALTER SYSTEM SET fsync = off")
            connection.execute("ALTER SYSTEM SET full_page_writes = off")
            connection.execute("SELECT pg_reload_conf()")

    def empty(self) -> str:
        """The address of a new database."""
        name = "test_" + secrets.token_hex(6)
        with self._maintenance() as connection:
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        return self._address.replace("/postgres?", f"/{name}?")

    def drop(self, address: str) -> None:
        name = address.partition("?")[0].rpartition("/")[2]
        with self._maintenance() as connection:
            connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))

    def lend(self) -> str:
        """The address of a database that is new, or as good as new."""
        return self._free.pop() if self._free else self.empty()

    def take_back(self, address: str) -> None:
        """Empty a database for the next one; if its tables are no longer what they were, it is dropped."""
        connection = self._cleaner(address)
        connection.execute(_OTHERS)
        if self._is_whole(connection):
            _clear(connection)
            self._free.append(address)
        else:
            self._cleaners.pop(address).close()
            self.drop(address)

    def close(self) -> None:
        while self._cleaners:
            self._cleaners.popitem()[1].close()

    def _cleaner(self, address: str) -> psycopg.Connection[tuple[Any, ...]]:
        """Return the connection that empties this database: the one of last time, unless a test has cut it off."""
        try:
            self._cleaners[address].execute("SELECT 1")
        except (KeyError, psycopg.OperationalError):
            self._cleaners[address] = psycopg.connect(address, autocommit=True)
        return self._cleaners[address]

    def _is_whole(self, connection: psycopg.Connection[tuple[Any, ...]]) -> bool:
        shape = connection.execute(_SHAPE).fetchone()
        if shape == (None,) or connection.execute("SELECT version_num FROM alembic_version").fetchall() != [(HEAD,)]:
            return False
        self._shape = self._shape or shape
        return bool(shape == self._shape)

    @contextmanager
    def _maintenance(self) -> Iterator[psycopg.Connection[tuple[Any, ...]]]:
        with psycopg.connect(self._address, autocommit=True) as connection:
            yield connection


def _clear(connection: psycopg.Connection[tuple[Any, ...]]) -> None:
    names = [row[0] for row in connection.execute(_TABLES) if row[0] not in _KEPT]
    with connection.transaction():
        connection.execute("SET LOCAL session_replication_role = replica")  # neither triggers nor references
        for name in names:
            connection.execute(sql.SQL("DELETE FROM {}").format(sql.Identifier(name)))
        connection.execute("SELECT setval(seqrelid::regclass, seqstart, false) FROM pg_sequence")
