"""Findspot: text files imported through its public import, and indexed by its worker. Unlike the other products it cuts
the texts, keeps versions, and embeds chunks and queries itself."""

import asyncio
import io
import threading
import zipfile
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import sqlalchemy as sa

from bench.new_documents import OF_A_DOCUMENT
from bench.peers.product import SECTIONS, SHOWN, Answer, Chunks, Query, Way
from findspot.app import App, open_app
from findspot.content.import_batch import BodyInfo
from findspot.content.import_plan import ImportTarget
from findspot.engines.protocol import EVERYTHING, Within
from findspot.models import OWNER, documents_namespace
from findspot.search import SearchRequest, Strategy
from findspot.server.api_process import tune_process
from findspot.settings import Settings
from findspot.store import documents as document_rows
from findspot.store import found_chunks, index_states, projects
from findspot.store.schema import tools

T = TypeVar("T")

PROJECT = 1


class Findspot:
    """Chunks as paragraphs of documents."""

    table_id: int | None = None

    def __init__(self, folder: Path) -> None:
        tune_process()  # as `findspot serve` does
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, daemon=True).start()
        self._stack = AsyncExitStack()
        # With the shortest cache, every round embeds its queries again.
        settings = Settings(data=folder, embedding_cache_ttl=1, log_level="error")
        self._app: App = self._run(self._stack.enter_async_context(open_app(settings)))
        self._run(self._create_project())
        self._documents: dict[int, int] = {}  # ids of documents by the number of the first chunk, for those added later
        self._sections: dict[int, Within] = {}
        self._is_built = False

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def _create_project(self) -> None:
        async with self._app.store.write() as connection:
            await projects.create(connection, "peers")

    def add(self, chunks: Chunks) -> None:
        self._run(self._create(chunks) if self._is_built else self._import(chunks))

    async def _import(self, chunks: Chunks) -> None:
        body = io.BytesIO()
        with zipfile.ZipFile(body, "w") as archive:
            for at in range(0, len(chunks.texts), OF_A_DOCUMENT):
                title = (chunks.first + at) // OF_A_DOCUMENT
                archive.writestr(f"{title:06}.txt", "\n\n".join(chunks.texts[at : at + OF_A_DOCUMENT]))
        source = await self._app.importing.open([body.getvalue()], BodyInfo())
        async for _ in self._app.importing.run(ImportTarget(PROJECT, OWNER), source):
            pass

    async def _create(self, chunks: Chunks) -> None:
        title, content = str(chunks.first // OF_A_DOCUMENT), "\n\n".join(chunks.texts)
        body = msgspec.json.encode({"title": title, "format": "text", "content": content})
        self._documents[chunks.first] = (await self._app.documents.create(PROJECT, body)).id

    def finish(self, count: int) -> None:
        self._run(self._settle(count))
        self._sections = self._run(self._read_sections())
        self._is_built = True

    async def _settle(self, count: int) -> None:
        await self._app.index_status.wait_until(self._app.index_status.is_at_rest)
        await self._app.prepare()
        held = sum(each.chunks for each in await self._app.index_status.of_project(PROJECT))
        assert held == count, f"{held:,} chunks were indexed, not {count:,}"

    async def _read_sections(self) -> dict[int, Within]:
        found: dict[int, set[int]] = {}
        async with self._app.store.read() as connection:
            for document in await document_rows.every(connection, PROJECT):
                found.setdefault(int(document.title) % SECTIONS, set()).add(document.id)
        return {section: Within(document_ids=ids) for section, ids in found.items()}

    def remove(self, numbers: range) -> None:
        self._run(self._app.documents.delete(self._documents.pop(numbers.start)))

    def ways(self) -> dict[str, Way]:
        def asks(mode: Strategy) -> Way:
            def ask(asked: Query) -> Answer:
                within = EVERYTHING if asked.section is None else self._sections[asked.section]
                request = SearchRequest(PROJECT, asked.text, mode, self.table_id, within, limit=SHOWN)
                found = self._run(self._app.table_search.search(request))
                assert found.degraded is None, found.degraded
                return [self.number(hit.found) for hit in found.hits]

            return ask

        return {mode.name.lower(): asks(mode) for mode in Strategy} | {"nearest": self._nearest}

    def _nearest(self, asked: Query) -> Answer:
        """Return the nearest chunks, also those that are unrelated: a search leaves them out."""
        within = EVERYTHING if asked.section is None else self._sections[asked.section]
        recall = self._app.engine.recall(documents_namespace(PROJECT), None, asked.vector, limit=SHOWN, within=within)
        return self._run(self._numbers(list(recall.vector)))

    async def _numbers(self, ids: list[int]) -> Answer:
        async with self._app.store.lookup() as connection:
            found = await connection.run_sync(found_chunks.found, ids)
        return [self.number(found[id]) for id in ids]

    def number(self, found: Any) -> int:
        return int(found.title) * OF_A_DOCUMENT + int(found.chunk.chunk_index)

    def processes(self) -> list[int]:
        return []

    def close(self) -> None:
        self._run(self._stack.aclose())
        self._loop.call_soon_threadsafe(self._loop.stop)


class FindspotTable(Findspot):
    """Chunks as strings of a table with one search tool: no text is cut further. For the relevance of given chunks."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._texts: dict[str, str] = {}

    def add(self, chunks: Chunks) -> None:
        self._texts.update(zip(map(str, chunks.numbers), chunks.texts, strict=True))

    def finish(self, count: int) -> None:
        self._run(self._create_table(count))

    async def _create_table(self, count: int) -> None:
        made = await self._app.tables.create(PROJECT, msgspec.json.encode({"name": "chunks", "data": self._texts}))
        self.table_id = made.id
        async with self._app.store.write() as connection:
            tool = {"project_id": PROJECT, "table_id": made.id, "type": "search", "name": "all", "description": "all"}
            config = {"json_pointer": "", "metadata": {}, "search_config": {"chunk_threshold": 1}}
            await connection.execute(sa.insert(tools).values(**tool, **config))
            await index_states.request(connection, made.id)
        await self._settle(count)

    def number(self, found: Any) -> int:
        return int(found.chunk.json_pointer.removeprefix("/"))
