"""Everything that is open while Findspot runs: opened once, in order, and closed in reverse."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass

from findspot.agents.calls import ToolCalls
from findspot.agents.endpoints import Endpoints
from findspot.agents.replace_calls import ReplaceCalls
from findspot.agents.tool_index import ToolIndex
from findspot.agents.tools import Tools
from findspot.content.documents import Documents
from findspot.content.exporting import Exporting
from findspot.content.import_roots import ImportRoots
from findspot.content.importing import Importing
from findspot.content.keys import Keys, query_hash
from findspot.content.sessions import Sessions
from findspot.content.tables import Tables
from findspot.engines.opening import open_engine, open_reader, unavailable
from findspot.engines.protocol import Engine
from findspot.indexing.leases import Leases, SharedLeases
from findspot.indexing.peers import IndexPeers
from findspot.indexing.status import IndexStatus
from findspot.indexing.worker import IndexWorker
from findspot.replacing.editor_matches import EditorMatches
from findspot.replacing.execute import Execution
from findspot.replacing.preview import Previews
from findspot.retrieval import ContextAssembler, RetrievalConfigs, Retriever
from findspot.runtime import data_folder
from findspot.runtime.call_limits import CallLimits
from findspot.runtime.data_folder import DataFolder
from findspot.runtime.deployment import Deployment
from findspot.runtime.embeddings import Embeddings
from findspot.runtime.engine_catalog import StoreCatalog
from findspot.runtime.helpers import BULK, NO_PROJECT, Helpers
from findspot.runtime.installation import require_database
from findspot.runtime.limits import Gate
from findspot.runtime.memory import Memory
from findspot.runtime.moved import require_usable
from findspot.runtime.owner_token import owner_token
from findspot.runtime.peers import Peers
from findspot.runtime.presence import Presence, Role
from findspot.runtime.readiness import Readiness
from findspot.runtime.threads import Threads
from findspot.search import Explainer, Recaller, Results, TableSearch, WorkspaceSearch
from findspot.search.kept_rankings import kept_rankings
from findspot.search.looks import Looks
from findspot.search.segments import Segments
from findspot.search.shared_cursors import SharedCursors
from findspot.settings import Settings
from findspot.store import postgres
from findspot.store import tables as table_rows
from findspot.store.database import Store
from findspot.store.index_states import identity


@dataclass(frozen=True, slots=True)
class App:
    """The open resources that flows and surfaces work with."""

    settings: Settings
    folder: DataFolder
    token: str
    store: Store
    deployment: Deployment
    presence: Presence
    readiness: Readiness
    keys: Keys
    sessions: Sessions
    tables: Tables
    documents: Documents
    importing: Importing
    import_roots: ImportRoots
    exporting: Exporting
    engine: Engine
    embeddings: Embeddings
    index_worker: IndexWorker
    index_status: IndexStatus
    gate: Gate
    memory: Memory
    recaller: Recaller
    table_search: TableSearch
    workspace_search: WorkspaceSearch
    retriever: Retriever
    retrieval_configs: RetrievalConfigs
    context_assembler: ContextAssembler
    explainer: Explainer
    editor_matches: EditorMatches
    previews: Previews
    execution: Execution
    tools: Tools
    tool_calls: ToolCalls
    endpoints: Endpoints

    async def drain(self) -> None:
        """Take on no more work, because this process is about to stop. Other workers go on at once."""
        self.presence.is_draining = True
        if self.settings.shared:
            await self.index_worker.close()

    async def prepare(self) -> None:
        """Load whatever the first search and the first change would otherwise wait for."""
        await self.recaller.prepare()
        await self.retriever.prepare()
        await self.documents.prepare()
        await self.previews.prepare()
        await self.index_worker.prepare()


@contextlib.asynccontextmanager
async def open_app(
    settings: Settings,
    claimed: DataFolder | None = None,
    *,
    worker: bool = True,
    peers: Peers | None = None,
    role: Role | None = None,
    filling: bool = False,
) -> AsyncIterator[App]:
    """Claim the data folder, unless the caller has or the storage is shared; open the store and all that uses it.

    `peers` are the other processes of the same server. One of them runs the index worker and writes the index.
    `filling` opens a store that is being filled by a move, which no one else may use.
    """
    async with contextlib.AsyncExitStack() as closing:
        folder = claimed or DataFolder(settings.data)
        closing.callback(folder.release)
        if settings.shared:
            data_folder.make(settings.data)
        elif claimed is None:
            folder.claim()
        require_database(settings)
        url = settings.database_url.get_secret_value() if settings.database_url else None
        token = owner_token(settings)
        replica_url = settings.replica_url.get_secret_value() if settings.replica_url else None
        limits_of_store = postgres.WORKER if role == "worker" else postgres.API
        store = await Store.open(url, settings.data / "findspot.db", replica_url=replica_url, limits=limits_of_store)
        closing.push_async_callback(store.close)
        if not filling:
            await require_usable(store)
        presence = Presence(store, role or ("all" if worker else "api"))
        closing.push_async_callback(presence.close)
        deployment = Deployment(store, settings, folder)
        closing.push_async_callback(deployment.close)
        if worker:
            await deployment.claim()
        refusal = None if worker else await deployment.refusal()
        async with store.write(frees=True) as connection:
            await table_rows.sweep(connection)
        limits = CallLimits(settings.helper_seconds, settings.helper_memory)
        helpers, bulk = Helpers(limits=limits), Helpers(limits=limits.times(BULK))  # requests do not wait for imports
        closing.push_async_callback(helpers.close)
        closing.push_async_callback(bulk.close)
        memory = Memory(settings.body_memory)
        tables = Tables(store, helpers, memory.texts, settings.max_table)
        async with store.read() as connection:
            belongs_to = await identity(connection)
        is_one_of_several = settings.shared or peers is not None
        catalog = StoreCatalog(store, belongs_to)
        if refusal:
            engine = unavailable(refusal)
        elif peers is not None and not worker:
            engine = await asyncio.to_thread(open_reader, settings, belongs_to, peers.number, catalog)
        else:
            engine = await asyncio.to_thread(open_engine, settings, belongs_to, catalog)
        closing.push_async_callback(asyncio.to_thread, engine.close)
        threads = Threads.open()
        closing.push_async_callback(threads.close)
        embeddings = Embeddings.open(store, settings, threads)
        closing.push_async_callback(embeddings.close)
        gate = Gate(admitted=peers.searches if peers else None)
        closing.push_async_callback(threads.index.close)
        index_status = IndexStatus(store, engine, settings)
        closing.push_async_callback(index_status.close)
        leases = SharedLeases(store, presence.id) if settings.shared else Leases(store)
        index_worker = IndexWorker(store, engine, embeddings, bulk, gate, threads, settings, index_status, leases)
        closing.push_async_callback(index_worker.close)
        closing.callback(engine.cancel)
        recaller = Recaller(store, engine, embeddings, index_status, threads)
        closing.push_async_callback(threads.search.close)
        segments = Segments(embeddings.embedder)
        looks = Looks(embeddings, segments, threads.search)
        table_search = TableSearch(store, recaller, embeddings, index_status, gate, threads, segments)
        documents = Documents(store, helpers, memory.texts, settings.max_document)
        roots = ImportRoots(store, documents, tables)
        results = Results(documents, index_status, threads)
        workspace_search = WorkspaceSearch(
            store, recaller, embeddings, index_status, results, gate, threads, looks, query_hash(token),
            SharedCursors(kept_rankings(store, settings.data)) if is_one_of_several else None,
        )  # fmt: skip
        retrieval_configs = RetrievalConfigs(store)
        retriever = Retriever(
            store, recaller, embeddings, looks, results, index_status, retrieval_configs, gate, threads.search,
            query_hash(token),
        )  # fmt: skip
        previews = Previews(store, helpers, memory.texts)
        execution = Execution(store, helpers, memory.texts, settings.max_document)
        replace_calls = ReplaceCalls(store, previews, execution, settings)
        if peers is not None:
            index_peers = IndexPeers(peers, store, index_status)
            index_peers.start()
            closing.push_async_callback(index_peers.close)
        if worker:
            await index_worker.start()
            deployment.keep(on_lost=index_worker.close)
        yield App(
            settings,
            folder,
            token,
            store,
            deployment,
            presence,
            Readiness(store, lambda: engine.namespaces(NO_PROJECT), deployment, presence),
            Keys(store, token),
            Sessions(store, token),
            tables,
            documents,
            Importing(store, bulk, tables, roots, settings.max_body, settings.max_document, settings.max_table),
            roots,
            Exporting(store, memory.texts),
            engine,
            embeddings,
            index_worker,
            index_status,
            gate,
            memory,
            recaller,
            table_search,
            workspace_search,
            retriever,
            retrieval_configs,
            ContextAssembler(retriever, threads.search),
            Explainer(store, recaller, embeddings, gate, workspace_search),
            EditorMatches(store, helpers, memory.texts),
            previews,
            execution,
            Tools(store, tables, helpers, ToolIndex(store, index_status, settings), settings),
            ToolCalls(store, tables, table_search, retriever, replace_calls, helpers, settings),
            Endpoints(store),
        )
