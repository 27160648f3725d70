"""`bench.nearest` compares the index with vectors of chunks in their context, and knows filters."""

from dataclasses import replace

import pytest
from bench import nearest

from findspot.app import App
from findspot.engines.protocol import Within
from findspot.models import documents_namespace, table_namespace
from findspot.settings import Settings
from tests import flows

pytestmark = [pytest.mark.one_database, pytest.mark.one_process]

QUERIES = ["rivers of the north", "北方的河流"]
NEAR, FAR = "Rivers of the north, 北方的河流", "Cooking, 烹饪"  # as titles and as keys
TEXTS = [
    "a river",
    "a mountain",
    "bread",
    "violins",
    "tax law",
    "winter",
    "一条河流",
    "高山",
    "面包",
    "小提琴",
    "税法",
    "冬天",
]


async def test_recall_tells_the_nearest_chunks_from_others(app: App, project: int, settings: Settings) -> None:
    await flows.make_document(app, project, *TEXTS, title=NEAR)
    far = await flows.make_document(app, project, *TEXTS, title=FAR)
    table = await flows.make_table(app, project, {key: dict(enumerate(TEXTS)) for key in (NEAR, FAR)})
    await flows.add_tool(app, table)
    await flows.settle(app)
    documents, in_table = documents_namespace(project), table_namespace(project, table.id)
    right = [
        await nearest.ask(app, QUERIES, documents),
        await nearest.ask(app, QUERIES, documents, Within(document_ids={far.id})),
        await nearest.ask(app, QUERIES, in_table),
        await nearest.ask(app, QUERIES, in_table, Within(pointer=f"/{FAR}")),
    ]
    others = [[id for id in flows.held(app, documents) if id not in ids] for ids in right[0].found]
    wrong = replace(right[0], found=[ids[-nearest.MOST :] for ids in others])

    *shares, none = nearest.recall(settings.data / "findspot.db", QUERIES, [*right, wrong])

    assert all(share >= 0.9 for of_search in shares for share in of_search), shares
    assert none == [0, 0]
