"""Many edits during searches: hits are at most one revision old, and in the end the index is current."""

import asyncio
import json
import os
import random
import time
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import pytest
import sqlalchemy as sa

from findspot.app import App, open_app
from findspot.models import Document, Table
from findspot.search import Strategy
from findspot.settings import Settings
from findspot.store import chunks as chunk_rows
from findspot.store.schema import documents, tables
from tests import flows
from tests.flows import FakeEmbedder, add_tool, make_document, make_project, make_table, save, search, settle

EDITS = 20 * int(os.environ.get("FINDSPOT_TORTURE", "3"))  # sixty in `make test`, a thousand in `make torture`
EDITORS, SEARCHERS = 4, 3
NODES = 12
LISTED = 8
MARKS = "e\u0301🪶"

Change = Callable[[Any], Any]


@dataclass
class History:
    """The values of a source at each revision: `changes` lead from one to the next."""

    source: Document | Table
    first: Any
    changes: dict[int, Change] = field(default_factory=dict)

    def values(self) -> dict[int, Any]:
        held = {1: self.first}
        for revision in range(2, len(self.changes) + 2):
            held[revision] = self.changes[revision](deepcopy(held[revision - 1]))
        return held


@dataclass(frozen=True)
class Seen:
    """A hit, and the revisions of its source before and after the search."""

    source: Document | Table
    pointer: str
    text: str
    before: int
    after: int


class Churn:
    """Editors and searchers at work on a few documents and a table."""

    def __init__(self, app: App, histories: list[History], seed: int) -> None:
        self._app = app
        self._random = random.Random(seed)
        self._left = EDITS
        self._count = 0
        self.histories = histories
        self.seen: list[Seen] = []

    def new_text(self) -> str:
        self._count += 1
        return f"heron 苍鹭 {MARKS[: self._count % 4]} v{self._count}"

    async def edit(self) -> None:
        while self._left > 0:
            self._left -= 1
            history = self._random.choice(self.histories)
            if isinstance(history.source, Document):
                await self._edit_document(history)
            else:
                await self._edit_table(history)

    async def _edit_document(self, history: History) -> None:
        paragraphs = [self.new_text() for _ in range(self._random.randint(1, 4))] + ["heron that stays"]
        self._random.shuffle(paragraphs)
        saved = await save(self._app, history.source.id, *paragraphs)
        history.changes[saved.revision] = lambda _: paragraphs

    async def _edit_table(self, history: History) -> None:
        text, place = self.new_text(), self._random.randrange(LISTED)
        tables = self._app.tables
        kind = self._random.choice(["put", "replace", "shift"])
        if kind == "put":
            revision = await tables.put(history.source.id, f"/n{place}", json.dumps(text).encode(), None)
            history.changes[revision] = lambda held: held | {f"n{place}": text}
        elif kind == "replace":
            patch = [{"op": "replace", "path": f"/list/{place}", "value": text}]
            revision = await tables.patch(history.source.id, json.dumps(patch).encode(), None)
            history.changes[revision] = lambda held: held | {"list": _set(held["list"], place, text)}
        else:
            patch = [{"op": "add", "path": "/list/0", "value": text}, {"op": "remove", "path": f"/list/{LISTED}"}]
            revision = await tables.patch(history.source.id, json.dumps(patch).encode(), None)
            history.changes[revision] = lambda held: held | {"list": [text, *held["list"][:-1]]}

    async def search(self) -> None:
        while self._left > 0:
            history = self._random.choice(self.histories)
            before = await self.revisions()
            mode = self._random.choice(list(Strategy))
            found = await search(self._app, history.source, "heron", strategy=mode, limit=40)
            after = await self.revisions()
            for hit in found.hits:
                chunk = hit.found.chunk
                key = (chunk.table_id, chunk.document_id)
                source = next(each.source for each in self.histories if _key(each.source) == key)
                self.seen.append(Seen(source, chunk.json_pointer, chunk.text, before[key], after[key]))

    async def revisions(self) -> dict[tuple[int | None, int | None], int]:
        async with self._app.store.read() as connection:
            of_tables = list(await connection.execute(sa.select(tables.c.id, tables.c.revision)))
            of_documents = list(await connection.execute(sa.select(documents.c.id, documents.c.revision)))
        return {(row[0], None): row[1] for row in of_tables} | {(None, row[0]): row[1] for row in of_documents}


def _key(source: Document | Table) -> tuple[int | None, int | None]:
    return (None, source.id) if isinstance(source, Document) else (source.id, None)


def _set(items: list[str], place: int, text: str) -> list[str]:
    return [*items[:place], text, *items[place + 1 :]]


def places(value: Any) -> set[tuple[str, str]]:
    """Return all texts of a revision, with their pointers."""
    if isinstance(value, list):
        return {("", text) for text in value}
    listed = {(f"/list/{place}", text) for place, text in enumerate(value["list"])}
    return listed | {(f"/{key}", text) for key, text in value.items() if key != "list"}


@pytest.mark.torture
async def test_no_search_shows_text_older_than_one_revision_under_many_edits(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, record_property: Callable[[str, object], None]
) -> None:
    flows.use(monkeypatch, FakeEmbedder())
    async with open_app(settings) as app:
        project = await make_project(app)
        value = {f"n{place}": f"heron n{place}" for place in range(NODES)}
        table_value = value | {"list": [f"heron l{place}" for place in range(LISTED)]}
        table = await make_table(app, project, table_value)
        await add_tool(app, table)
        histories = [History(table, table_value)]
        for number in range(4):
            paragraphs = [f"heron d{number}", "heron that stays"]
            histories.append(History(await make_document(app, project, *paragraphs), paragraphs))
        churn = Churn(app, histories, seed=EDITS)
        async with asyncio.timeout(600):
            await asyncio.gather(*(churn.edit() for _ in range(EDITORS)), *(churn.search() for _ in range(SEARCHERS)))
        ended = time.monotonic()
        await settle(app)
        record_property("caught_up_s", round(time.monotonic() - ended, 2))
        print(f"{EDITS} edits, {len(churn.seen)} hits, caught up after {time.monotonic() - ended:.2f} s")
        values = {_key(history.source): history.values() for history in histories}
        assert churn.seen
        for seen in churn.seen:
            held = values[_key(seen.source)]
            allowed = range(max(1, seen.before - 1), seen.after + 1)
            assert any((seen.pointer, seen.text) in places(held[revision]) for revision in allowed), seen
        await in_the_end(app, histories, values)


async def in_the_end(app: App, histories: list[History], values: dict[Any, dict[int, Any]]) -> None:
    """Check that every search finds the last revision and nothing else, and that the index counts its chunks right."""
    final = {key: places(held[max(held)]) for key, held in values.items()}
    for mode in Strategy:
        shown: dict[Any, set[tuple[str, str]]] = {key: set() for key in final}
        for history in (histories[0], histories[1]):  # the table, and one document for all of them
            for hit in (await search(app, history.source, "heron", strategy=mode, limit=200)).hits:
                chunk = hit.found.chunk
                shown[chunk.table_id, chunk.document_id].add((chunk.json_pointer, chunk.text))
        assert shown == final
    reports = await app.index_status.of_project(histories[0].source.project_id)
    async with app.store.read() as connection:
        held = await chunk_rows.counts(connection, [report.namespace for report in reports])
    assert {report.namespace: (report.chunks, report.done) for report in reports} == {
        namespace: (count, count) for namespace, count in held.items()
    }
