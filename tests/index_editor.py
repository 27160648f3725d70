"""A process that edits and rebuilds until it is killed: `python -m tests.index_editor FOLDER SEED`.

It says "ready" once it has begun.
"""

import asyncio
import json
import random
import sys
from pathlib import Path

import sqlalchemy as sa

from findspot.app import App, open_app
from findspot.engines.embedded import index
from findspot.errors import FindspotError
from findspot.models import OWNER, NamespaceKey
from findspot.settings import Settings
from findspot.store import documents, projects
from findspot.store import tables as table_rows
from findspot.store.index_states import request
from findspot.store.schema import tools
from tests import flows

WORDS = [
    "river",
    "stone",
    "lantern",
    "花园",
    "夜雨",
    "归人",
    "memory",
    "沉默",
    "harbour",
    "灯火",
    "archive",
    "winter",
    "春风",
    "signal",
]
MOST_DOCUMENTS = 30
DEAD_ENOUGH = 20  # rows, so that vectors are compacted again and again


def sentence(chance: random.Random) -> str:
    return " ".join(chance.choices(WORDS, k=chance.randint(3, 30)))


def text(chance: random.Random) -> str:
    return "\n\n".join(sentence(chance) for _ in range(chance.randint(1, 12)))


async def edit(app: App, project_id: int, table_id: int, chance: random.Random) -> None:
    """Make one random change, or none if another editor has just deleted the target."""
    try:
        await _edit(app, project_id, table_id, chance)
    except FindspotError as error:
        if error.code != "NOT_FOUND":
            raise


async def _edit(app: App, project_id: int, table_id: int, chance: random.Random) -> None:
    async with app.store.read() as connection:
        present = await documents.every(connection, project_id)
    kind = chance.choice(["create", "save", "save", "delete", "table", "table", "rebuild"])
    if kind == "create" and len(present) < MOST_DOCUMENTS:
        body = {"title": "t", "content": text(chance), "format": "text"}
        await app.documents.create(project_id, json.dumps(body).encode())
    elif kind == "save" and present:
        await app.documents.save(chance.choice(present).id, json.dumps({"content": text(chance)}).encode(), OWNER)
    elif kind == "delete" and len(present) > 5:
        await app.documents.delete(chance.choice(present).id)
    elif kind == "table":
        await app.tables.put(table_id, f"/{chance.randint(0, 9)}", json.dumps(text(chance)).encode(), None)
    elif kind == "rebuild":
        key = chance.choice([NamespaceKey(project_id, None), NamespaceKey(project_id, table_id)])
        await flows.rebuild(app, key)


async def prepare(app: App) -> tuple[int, int]:
    """Return a project and a table with a search tool. They are created if there are none."""
    async with app.store.write() as connection:
        found = await projects.every(connection)
        if found:
            return found[0].id, (await table_rows.every(connection, found[0].id))[0].id
        project = await projects.create(connection, "edited")
    table = await app.tables.create(project.id, json.dumps({"name": "t", "data": {"0": "first"}}).encode())
    async with app.store.write() as connection:
        tool = {"project_id": project.id, "table_id": table.id, "type": "search", "name": "find", "description": ""}
        config = {"chunk_threshold": 1, "chunk_size": 100, "chunk_overlap": 10}
        row = {**tool, "json_pointer": "", "metadata": {}, "search_config": config}
        await connection.execute(sa.insert(tools), row)
        await request(connection, table.id)
    return project.id, table.id


async def main(folder: Path, chance: random.Random) -> None:
    index.MIN_DEAD = DEAD_ENOUGH
    async with open_app(Settings(FINDSPOT_DATA=folder)) as app:
        project_id, table_id = await prepare(app)
        print("ready", flush=True)
        async with asyncio.timeout(flows.PATIENCE_S):  # the test kills this process long before
            while True:
                await asyncio.gather(*(edit(app, project_id, table_id, chance) for _ in range(3)))


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), random.Random(int(sys.argv[2]))))
