"""Everything that is open while Findspot runs: opened once, in order, and closed in reverse."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass

from findspot import datafolder
from findspot.answering import Answering
from findspot.candidates import Recalling
from findspot.datafolder import DataFolder
from findspot.documents import Documents
from findspot.embeddings import Embeddings
from findspot.endpoints import Endpoints
from findspot.engines.opening import open_engine
from findspot.engines.protocol import Engine
from findspot.explaining import Explaining
from findspot.exporting import Exporting
from findspot.finding import Finding
from findspot.gate import Gate
from findspot.importing import Importing
from findspot.indexing import Indexing
from findspot.keys import Keys, query_hash
from findspot.offload import Offload
from findspot.ownertoken import owner_token
from findspot.searching import Searching
from findspot.settings import Settings
from findspot.showing import Showing
from findspot.store import tables as table_rows
from findspot.store.database import Store
from findspot.store.indexing import identity
from findspot.tables import Tables
from findspot.tools import Tools


@dataclass(frozen=True, slots=True)
class App:
    """The open resources that flows and surfaces work with."""

    settings: Settings
    folder: DataFolder
    token: str
    store: Store
    keys: Keys
    tables: Tables
    documents: Documents
    importing: Importing
    exporting: Exporting
    engine: Engine
    embeddings: Embeddings
    indexing: Indexing
    searching: Searching
    tools: Tools
    endpoints: Endpoints
    finding: Finding
    explaining: Explaining

    async def prepare(self) -> None:
        """Load whatever the first search and the first change would otherwise wait for."""
        await self.searching.prepare()
        await self.documents.prepare()
        await self.indexing.prepare()


@contextlib.asynccontextmanager
async def open_app(settings: Settings, claimed: DataFolder | None = None, *, worker: bool = True) -> AsyncIterator[App]:
    """Claim the data folder (unless it is, or everything lives elsewhere), open the store, and hand out what stands
    on it."""
    async with contextlib.AsyncExitStack() as closing:
        folder = claimed or DataFolder(settings.data)
        closing.callback(folder.release)
        if settings.shared:
            datafolder.make(settings.data)
        elif claimed is None:
            folder.claim()
        url = settings.database_url.get_secret_value() if settings.database_url else None
        token = owner_token(settings)
        store = await Store.open(url, settings.data / "findspot.db")
        closing.push_async_callback(store.close)
        async with store.write() as connection:
            await table_rows.sweep(connection)
        offload, bulk = Offload(), Offload()  # an import has helpers of its own: no one at work waits behind its files
        closing.push_async_callback(offload.close)
        closing.push_async_callback(bulk.close)
        tables = Tables(store, offload, settings.max_table)
        async with store.read() as connection:
            engine = await asyncio.to_thread(open_engine, settings, await identity(connection))
        closing.push_async_callback(asyncio.to_thread, engine.close)
        embeddings = Embeddings.open(store, settings)
        closing.push_async_callback(embeddings.close)
        gate = Gate()
        indexing = Indexing(store, engine, embeddings, bulk, gate, settings)
        closing.push_async_callback(indexing.close)
        searching = Searching(store, engine, embeddings, indexing, gate)
        closing.push_async_callback(searching.close)
        documents = Documents(store, offload, settings.max_document)
        showing = Showing(store, documents)
        recalling = Recalling(store, engine, embeddings.embedder, searching)
        finding = Finding(recalling, embeddings, indexing, showing, gate, query_hash(token))
        if worker:
            indexing.start()
        yield App(
            settings,
            folder,
            token,
            store,
            Keys(store, token),
            tables,
            documents,
            Importing(store, bulk, tables, settings.max_body, settings.max_document, settings.max_table),
            Exporting(store),
            engine,
            embeddings,
            indexing,
            searching,
            Tools(store, indexing, Answering(store, tables, searching, offload, settings), settings),
            Endpoints(store),
            finding,
            Explaining(store, engine, embeddings, searching, gate),
        )
