"""Do acknowledged writes, the chunk rows of the store, and the rows of the engine agree?"""

import asyncio
import json
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import httpx2
import numpy as np
import sqlalchemy as sa

from findspot.app import App, open_app
from findspot.engines.protocol import Batch, Words
from findspot.engines.turbopuffer import rows as engine_rows
from findspot.engines.turbopuffer import schema
from findspot.indexing.batches import Batches
from findspot.models import ChunkToIndex, NamespaceKey
from findspot.runtime.helpers import Helpers
from findspot.settings import Settings
from findspot.store import chunks as chunk_rows
from findspot.store.engine_namespaces import engine_namespaces
from findspot.store.schema import chunks, documents, tables
from tests import flows
from tests.torture.editor import Client, Ledger

_ALIKE = 0.995  # cosine of the vector that the engine holds and the one of the text: engines keep fewer bits
_MOST = 10_000


def require_acknowledged(client: Client, project: int, ledgers: Sequence[Ledger]) -> None:
    """Require that what the API shows is what it has acknowledged, and nothing that nobody asked for."""
    for ledger in ledgers:
        for id, (title, content) in ledger.documents.items():
            shown = client.call("GET", f"/api/v1/documents/{id}")
            assert shown.status == 200, (id, title, shown)
            assert (shown.body["title"], shown.body["content"]) == (title, content)
        for id, data in ledger.tables.items():
            shown = client.call("GET", f"/api/v1/tables/{id}")
            assert shown.status == 200, (id, shown)
            assert shown.body["data"] == data
        for path in ledger.deleted:
            assert client.call("GET", path).status == 404, path
    for kind, title in (("documents", "title"), ("tables", "name")):
        listed = client.call("GET", f"/api/v1/projects/{project}/{kind}").body[kind]
        known = {id for ledger in ledgers for id in getattr(ledger, kind)}
        uncertain = set().union(*(ledger.uncertain for ledger in ledgers))
        assert [each for each in listed if each["id"] not in known and each[title] not in uncertain] == []
        assert known <= {each["id"] for each in listed}


async def require_agreement(settings: Settings, service: str = "") -> int:
    """Require that store and engine agree about every chunk of everything that exists; return how many there are.

    `service` is the address of the stand-in, if the engine is turbopuffer.
    """
    async with open_app(settings, worker=False) as app:
        namespaces = await _namespaces(app)
        await _require_whole_sources(app)
        found = {key: await _chunks(app, key) for key in namespaces}
        helpers = Helpers()
        try:
            batches = Batches(app.store, app.embeddings, helpers)
            made = {key: await batches.make(key.project_id, some) for key, some in found.items() if some}
        finally:
            await helpers.close()
        if service:
            await _require_rows(app, service, made)
        else:
            for key in namespaces:
                await asyncio.to_thread(_require_index, app, key, made.get(key))
        return sum(map(len, found.values()))


async def _namespaces(app: App) -> list[NamespaceKey]:
    async with app.store.read() as connection:
        some = list(await connection.execute(sa.select(tables.c.project_id, tables.c.id).where(tables.c.revision > 0)))
        projects = (await connection.execute(sa.select(documents.c.project_id).distinct())).scalars()
        return [*(NamespaceKey(*each) for each in some), *(NamespaceKey(each, None) for each in projects)]


async def _chunks(app: App, key: NamespaceKey) -> list[ChunkToIndex]:
    async with app.store.read() as connection:
        return await chunk_rows.every(connection, key.namespace, 0, _MOST)


async def _require_whole_sources(app: App) -> None:
    """Require that the chunk rows are the texts of documents and tables: each part once, and all marked as indexed."""
    async with app.store.read() as connection:
        rows = list(await connection.execute(sa.select(chunks).order_by(chunks.c.chunk_index)))
        texts = {row.id: row for row in await connection.execute(sa.select(documents))}
        visible = set((await connection.execute(sa.select(tables.c.id).where(tables.c.revision > 0))).scalars())
    parts, nodes = defaultdict(list), defaultdict(list)
    for row in rows:
        if row.table_id is None or row.table_id in visible:
            assert row.indexed, row
            assert row.last_revision is None, row
        if row.document_id is not None:
            assert row.context == texts[row.document_id].title, row
            parts[row.document_id].append(row.chunk_text)
        elif row.table_id in visible:
            nodes[row.table_id, row.json_pointer].append(row)
    for id, document in texts.items():
        assert "\n\n".join(parts[id]) == bytes(document.content).decode(), document.title
    for table in visible:
        _, text = await flows.read_table(app, table)
        values = {f"/{name}": value for name, value in json.loads(text).items()}
        held = {pointer: nodes[table, pointer] for id, pointer in nodes if id == table}
        assert not held or held.keys() == values.keys()  # without a tool a table has no chunks
        for pointer, mine in held.items():
            assert [row.chunk_index for row in mine] == list(range(mine[0].total_chunks))
            assert [values[pointer][row.char_start : row.char_end] for row in mine] == [row.chunk_text for row in mine]
            assert (mine[0].char_start, mine[-1].char_end) == (0, len(values[pointer]))


# ── turbopuffer ──


async def _require_rows(app: App, service: str, made: dict[NamespaceKey, Batch]) -> None:
    """Require that the namespaces of the service that serve hold the rows of the store, and that no others exist than
    those that the catalogue knows, and that are to be deleted."""
    async with app.store.read() as connection:
        catalogue = list(await connection.execute(sa.select(engine_namespaces)))
    serving = {row.namespace: row.name for row in catalogue if row.state == "serving"}
    api_key = app.settings.turbopuffer_api_key
    assert api_key is not None
    headers = {"Authorization": f"Bearer {api_key.get_secret_value()}"}
    with httpx2.Client(base_url=service, headers=headers, trust_env=False, timeout=120) as client:
        names = set(client.post("/_control").json()["rows"])
        assert names <= {row.name for row in catalogue}
        assert {key.namespace for key in made} <= serving.keys()
        assert [row for row in catalogue if row.state == "building"] == []
        for key, batch in made.items():
            body = {"rank_by": ["chunk_id", "asc"], "limit": _MOST, "include_attributes": True}
            answer = client.post(f"/v2/namespaces/{serving[key.namespace]}/query", json=body)
            assert answer.status_code == 200, answer.text
            _require_same(batch, answer.json()["rows"])


def _require_same(batch: Batch, held: list[dict[str, Any]]) -> None:
    columns = engine_rows.columns(batch, range(len(batch)), 0, dimension=batch.vectors.shape[1], vectors=True)
    compared = [name for name in columns if name not in (schema.VECTOR, "fence", "revision")]
    wanted = [
        {name: columns[name][number] for name in compared if columns[name][number] is not None}
        for number in range(len(batch))
    ]
    shown = [{name: value for name, value in row.items() if name in compared} for row in held]
    assert sorted(map(_id, shown)) == sorted(batch.ids)
    for row, of_store in zip(sorted(shown, key=_id), sorted(wanted, key=_id), strict=True):
        for name in compared:
            assert _in_order(row.get(name)) == _in_order(of_store.get(name)), (name, row["id"])
    vectors = {row["chunk_id"]: np.array(row[schema.VECTOR], np.float32) for row in held}
    for id, vector in zip(batch.ids, batch.vectors, strict=True):
        assert float(vector @ vectors[id]) / float(np.linalg.norm(vectors[id])) > _ALIKE, id


def _id(row: dict[str, Any]) -> int:
    return int(row["chunk_id"])


def _in_order(value: Any) -> Any:
    """Return a value, or a list of tokens in order: the engine only counts them."""
    return sorted(value) if isinstance(value, list) else value


# ── the embedded engine ──


def _require_index(app: App, key: NamespaceKey, batch: Batch | None) -> None:
    """Require that the index holds the chunks of the store with their vectors, and finds them by the words of their
    texts and titles, and by no others."""
    held, engine = app.engine.ids(key.namespace).tolist(), app.engine
    if batch is None:
        assert held == []
        return
    flows.files(app).verify(key.namespace)
    assert held == sorted(batch.ids)
    assert engine.status(key.namespace).vectors == len(batch)
    for id, vector in zip(batch.ids, batch.vectors, strict=True):
        assert engine.recall(key.namespace, None, vector, limit=0, also=[id]).vector_also[id] > _ALIKE, id
    terms = [set(each.split()) for each in batch.terms]
    named = [set(batch.context(number).name.split()) for number in range(len(batch))]
    for term in set().union(*terms):
        with_it = [id for id, mine in zip(batch.ids, terms, strict=True) if term in mine]
        assert sorted(engine.recall(key.namespace, Words((term,)), None, limit=_MOST).keyword) == sorted(with_it), term
    for term in set().union(*named):
        with_it = [id for id, *mine in zip(batch.ids, terms, named, strict=True) if term in mine[0] | mine[1]]
        words = Words((term,), named=(term,))
        assert sorted(engine.recall(key.namespace, words, None, limit=_MOST).keyword) == sorted(with_it), term
