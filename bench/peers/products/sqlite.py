"""FTS5 and sqlite-vec in the newest SQLite, fused by reciprocal ranks in one statement, as the author of sqlite-vec
shows. Any word of a query may match, because hardly any chunk has all words of a question. Each thread has a
connection."""

import re
import threading
from pathlib import Path
from typing import Any

from bench.peers.product import CANDIDATES, RRF, SHOWN, Answer, Chunks, Query, Way


class SQLite:
    tokenizer = "porter unicode61"
    _HYBRID = """
        WITH near AS (
            SELECT id, row_number() OVER (ORDER BY distance) AS place
            FROM vectors WHERE embedding MATCH :vector AND k = :candidates
        ),
        worded AS (
            SELECT rowid AS id, row_number() OVER (ORDER BY rank) AS place
            FROM words WHERE words MATCH :words ORDER BY rank LIMIT :candidates
        )
        SELECT chunks.id, chunks.text
        FROM near FULL OUTER JOIN worded ON worded.id = near.id
        JOIN chunks ON chunks.id = coalesce(near.id, worded.id)
        ORDER BY coalesce(1.0 / (:rrf + near.place), 0) + coalesce(1.0 / (:rrf + worded.place), 0) DESC
        LIMIT :shown
    """
    _KEYWORD = """
        SELECT chunks.id, chunks.text FROM words JOIN chunks ON chunks.id = words.rowid
        WHERE words MATCH :words ORDER BY rank LIMIT :shown
    """
    _VECTOR = """
        SELECT chunks.id, chunks.text FROM vectors JOIN chunks ON chunks.id = vectors.id
        WHERE embedding MATCH :vector AND k = :shown ORDER BY distance
    """
    _FILTERED = _VECTOR.replace("AND k", "AND vectors.section = :section AND k")

    def __init__(self, folder: Path) -> None:
        import apsw.bestpractice

        apsw.bestpractice.apply(apsw.bestpractice.recommended)
        folder.mkdir(parents=True)
        self._file = folder / "chunks.db"
        self._local = threading.local()
        self._is_built = False

    def _db(self) -> Any:
        import apsw
        import sqlite_vec

        if (db := getattr(self._local, "db", None)) is None:
            db = self._local.db = apsw.Connection(str(self._file))
            db.enable_load_extension(True)
            db.load_extension(sqlite_vec.loadable_path())
            db.pragma("cache_size", -256 * 1024)
            db.pragma("mmap_size", 1 << 31)
        return db

    def add(self, chunks: Chunks) -> None:
        db = self._db()
        with db:
            if chunks.first == 0:
                self._create(db, chunks.vectors.shape[1])
            rows = list(zip(chunks.numbers, chunks.texts, strict=True))
            db.executemany("INSERT INTO chunks VALUES (?, ?)", rows)
            db.executemany(
                "INSERT INTO vectors (id, section, embedding) VALUES (?, ?, ?)",
                zip(chunks.numbers, chunks.sections, map(bytes, chunks.vectors), strict=True),
            )
            if self._is_built:
                db.executemany("INSERT INTO words (rowid, text) VALUES (?, ?)", rows)

    def _create(self, db: Any, dimension: int) -> None:
        db.execute("CREATE TABLE chunks (id INTEGER PRIMARY KEY, text TEXT NOT NULL)")
        db.execute(
            "CREATE VIRTUAL TABLE words USING "
            f"fts5(text, content=chunks, content_rowid=id, tokenize='{self.tokenizer}')"
        )
        db.execute(
            "CREATE VIRTUAL TABLE vectors USING vec0(id INTEGER PRIMARY KEY, section INTEGER, "
            f"embedding FLOAT[{dimension}] distance_metric=cosine)"
        )

    def finish(self, count: int) -> None:
        for command in ("rebuild", "optimize"):
            self._db().execute("INSERT INTO words (words) VALUES (?)", (command,))
        self._is_built = True

    def remove(self, numbers: range) -> None:
        db, ids = self._db(), [(number,) for number in numbers]
        with db:
            db.executemany(
                "INSERT INTO words (words, rowid, text) SELECT 'delete', id, text FROM chunks WHERE id = ?", ids
            )
            db.executemany("DELETE FROM vectors WHERE id = ?", ids)
            db.executemany("DELETE FROM chunks WHERE id = ?", ids)

    def ways(self) -> dict[str, Way]:
        def asks(statement: str) -> Way:
            def ask(asked: Query) -> Answer:
                values = {"words": self.words(asked.text), "vector": asked.vector.tobytes(), "section": asked.section}
                values |= {"candidates": CANDIDATES, "rrf": RRF, "shown": SHOWN}
                chosen = statement if asked.section is None else self._FILTERED
                return [row[0] for row in self._db().execute(chosen, values)]

            return ask

        return {"keyword": asks(self._KEYWORD), "vector": asks(self._VECTOR), "hybrid": asks(self._HYBRID)}

    def words(self, text: str) -> str:
        return " OR ".join(f'"{word}"' for word in re.findall(r"\w+", text)) or '""'

    def processes(self) -> list[int]:
        return []

    def close(self) -> None:
        self._db().close()


class SQLiteTrigram(SQLite):
    """SQLite with the trigram tokenizer, which finds Chinese inside sentences. A query has words of three letters or
    more, and every three adjacent Chinese characters."""

    tokenizer = "trigram"

    def words(self, text: str) -> str:
        words = [word for word in re.findall(r"[^\W\u4e00-\u9fff]+", text) if len(word) > 2]
        for run in re.findall(r"[\u4e00-\u9fff]{3,}", text):
            words += [run[at : at + 3] for at in range(len(run) - 2)]
        return " OR ".join(f'"{word}"' for word in dict.fromkeys(words)) or '""'
