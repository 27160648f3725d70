"""After kill -9 during indexing, rebuilding and compacting, and after damage to files, the index repairs itself until
it holds exactly the chunks of the store."""

import asyncio
import os
import random
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import sqlalchemy as sa

from findspot.app import App, open_app
from findspot.errors import FindspotError
from findspot.models import documents_namespace, table_namespace
from findspot.search import SearchRequest
from findspot.settings import Settings
from findspot.sources.stored import read_stored
from findspot.store import documents
from findspot.store.schema import chunks
from tests import flows, index_editor
from tests.engines.embedded.damage import (
    FILES,
    cut_in_half,
    missing,
    one_bit_flipped,
    one_byte_short,
    truncated_to_nothing,
    zeroed,
)

ROUNDS = 2 * int(os.environ.get("FINDSPOT_TORTURE", "1"))
DAMAGES = (truncated_to_nothing, cut_in_half, one_byte_short, one_bit_flipped, zeroed, missing)
ALL_DAMAGES = [(file, damage) for file in FILES for damage in DAMAGES]


@asynccontextmanager
async def settled(folder: Path) -> AsyncIterator[tuple[App, int, int]]:
    """Open the app on a folder, and wait until the index is at rest."""
    async with open_app(Settings(FINDSPOT_DATA=folder)) as app:
        project_id, table_id = await index_editor.prepare(app)

        async def ready() -> bool:
            done = all(each.status == "ready" for each in await app.index_status.of_project(project_id))
            return done and await app.index_status.is_at_rest()  # reports do not show chunks to be deleted

        await asyncio.wait_for(app.index_status.wait_until(ready), flows.PATIENCE_S)
        yield app, project_id, table_id


async def agree(app: App, project_id: int, table_id: int) -> int:
    """Check that the engine holds exactly the chunks of the store, and these the current texts; return their number."""
    total = 0
    async with app.store.read() as connection:
        rows = list(await connection.execute(sa.select(chunks)))
        contents = {}
        for document in await documents.every(connection, project_id):
            loaded = await documents.load(connection, document.id)
            assert loaded is not None
            contents[document.id] = read_stored(loaded[1], "text").text
    for namespace in (documents_namespace(project_id), table_namespace(project_id, table_id)):
        mine = [row for row in rows if row.turbopuffer_namespace == namespace]
        assert app.engine.ids(namespace).tolist() == sorted(row.id for row in mine)
        flows.files(app).verify(namespace)
        total += len(mine)
    covered: dict[int, list[str]] = {id: [] for id in contents}
    for row in sorted(rows, key=lambda row: row.chunk_index):
        if row.document_id:
            assert contents[row.document_id][row.char_start : row.char_end] == row.chunk_text
            covered[row.document_id].append(row.chunk_text)
    assert {id: "\n\n".join(texts) for id, texts in covered.items()} == contents
    return total


def edit_and_be_killed(folder: Path, chance: random.Random) -> None:
    command = [sys.executable, "-m", "tests.index_editor", str(folder), str(chance.random())[2:10]]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        try:
            process.wait(chance.random() * 2)
        except subprocess.TimeoutExpired:
            process.kill()
        assert process.wait() == -9


@pytest.mark.torture
async def test_after_kill_9_at_any_time_store_and_engine_hold_the_same_chunks(tmp_path: Path) -> None:
    chance = random.Random(16112026)
    most = 0
    for _ in range(ROUNDS):
        await asyncio.to_thread(edit_and_be_killed, tmp_path, chance)
        async with settled(tmp_path) as (app, *ids):
            most = max(most, await agree(app, *ids))
    assert most > 0


@pytest.mark.torture
@pytest.mark.parametrize(
    ("file", "damage"),
    ALL_DAMAGES if "FINDSPOT_TORTURE" in os.environ else random.Random(5).sample(ALL_DAMAGES, 4),
    ids=lambda each: each if isinstance(each, str) else each.__name__,
)
async def test_damage_is_repaired_and_searches_are_answered_or_told_to_retry(
    indexed: Path, tmp_path: Path, file: str, damage: Callable[[Path], None]
) -> None:
    folder = tmp_path / "data"
    shutil.copytree(indexed, folder)
    damaged = sorted((folder / "index").glob(f"project_*/*_documents/{FILES[file]}"))
    if not damaged:
        pytest.skip(f"this index has no {file}")
    damage(damaged[0])
    async with open_app(Settings(FINDSPOT_DATA=folder)) as app:
        project_id, _ = await index_editor.prepare(app)
        ask = SearchRequest(project_id, "river 花园", limit=5)
        assert await outcome(app, ask) in ("answered", "INDEX_REBUILDING")
    async with settled(folder) as (app, *ids):
        await agree(app, *ids)
        assert (await app.table_search.search(ask)).hits


async def outcome(app: App, ask: SearchRequest) -> str:
    """Return "answered" for an answer with hits, or the code of an error that says when to retry."""
    try:
        return "answered" if (await app.table_search.search(ask)).hits else "nothing found"
    except FindspotError as error:
        return error.code if error.fields.get("retryAfterMs", 0) > 0 else f"{error.code} without a time"


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder whose index has content in every file, also in that of deletions."""
    folder = tmp_path_factory.mktemp("indexed")

    async def fill() -> None:
        chance = random.Random(1)
        async with open_app(Settings(FINDSPOT_DATA=folder)) as app:
            project_id, table_id = await index_editor.prepare(app)
            for _ in range(40):
                await index_editor.edit(app, project_id, table_id, chance)
        async with settled(folder):
            pass

    asyncio.run(fill())
    return folder
