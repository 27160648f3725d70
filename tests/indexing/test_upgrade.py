"""Data of an older Findspot: its index answers at once, and is replaced while it does.

`data/format-1.tar.gz` is the data folder of the version before passages had a context, made with `flows.FakeEmbedder`:
a Markdown document, a Chinese text, and a table with a search tool.
"""

import tarfile
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from findspot.app import App, open_app
from findspot.models import documents_namespace, table_namespace
from findspot.search import Page, SearchRequest, Strategy
from findspot.settings import Settings
from tests import flows
from tests.flows import PATIENCE_S, find, settle

pytestmark = pytest.mark.fake_embedder

OLD = Path(__file__).parent / "data" / "format-1.tar.gz"
PROJECT, TABLE = 1, 1
NAMESPACES = documents_namespace(PROJECT), table_namespace(PROJECT, TABLE)


@pytest.fixture
def database_url() -> None:
    """The old data is a SQLite database."""


@pytest.fixture
def released() -> threading.Event:
    """No new index replaces an old one before this is set."""
    return threading.Event()


@pytest.fixture
async def app(settings: Settings, released: threading.Event, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[App]:
    settings.data.mkdir(parents=True, exist_ok=True)
    with tarfile.open(OLD) as archive:
        archive.extractall(settings.data, filter="data")
    open_watched = flows.open_watched

    def held(*arguments: Any) -> flows.Watched:
        engine = open_watched(*arguments)

        def build(*arguments: Any) -> flows.Watched:
            made = engine.engine.build(*arguments)

            def switch() -> None:
                assert released.wait(PATIENCE_S)
                made.switch()

            return flows.Watched(made, {"switch": switch})

        engine.instead["build"] = build
        return engine

    monkeypatch.setattr("findspot.app.open_engine", held)
    async with open_app(settings) as opened:
        yield opened
        released.set()


def texts(page: Page) -> list[str]:
    return [each.found.chunk.text for each in page.results]


async def in_table(app: App, query: str) -> list[str]:
    request = SearchRequest(PROJECT, query, Strategy.KEYWORD, table_id=TABLE)
    return [hit.found.chunk.text for hit in (await app.table_search.search(request)).hits]


async def test_an_old_index_answers_until_the_new_one_replaces_it(app: App, released: threading.Event) -> None:
    for query, part in (("moorings", "Moorings"), ("high water", "High water at nine"), ("林黛玉", "林黛玉葬花")):
        assert any(part in text for text in texts(await find(app, PROJECT, query))), query
    assert await in_table(app, "lamp") == ["He lights the lamp every evening."]
    assert all(app.engine.status(name).is_outdated for name in NAMESPACES)
    released.set()
    await settle(app)
    assert not any(app.engine.status(name).is_outdated for name in NAMESPACES)


async def test_old_documents_are_cut_again_and_know_their_place(app: App, released: threading.Event) -> None:
    released.set()
    await settle(app)
    rows = await flows.rows(app)
    assert sorted(row.chunk_text for row in rows if row.document_id) == [
        "Harbour guide\n\nTides\n\nHigh water at nine\n\nLow water at three\n\nSlack water between",
        "Moorings\n\nBoats longer than ten metres need the outer pier.",
        "第一回\n\n林黛玉葬花。\n\n圖書館九點開門，居民免費辦理借書證。",
    ]
    for name in NAMESPACES:
        mine = sorted(row.id for row in rows if row.turbopuffer_namespace == name)
        assert flows.held(app, name) == mine == flows.files(app).vector_ids(name).tolist()
    page = await find(app, PROJECT, "boats")
    assert [each.found.chunk.context.headings for each in page.results] == [("Harbour guide", "Moorings")]
    for title in ("pep-0675", "红楼梦"):
        found = (await find(app, PROJECT, title, "hybrid")).results[0].found
        assert found.chunk.chunk_index == 0
    assert await in_table(app, "lighthouse") == ["He lights the lamp every evening."]
    assert await in_table(app, "灯塔") == ["看守人每天晚上点灯。"]


async def test_a_document_that_is_saved_while_the_old_index_answers_is_found(
    app: App, released: threading.Event
) -> None:
    await flows.make_document(app, PROJECT, "A new buoy 新浮标", title="浮标 buoys")

    async def is_found() -> bool:
        return texts(await find(app, PROJECT, "新浮标")) == ["A new buoy 新浮标"]

    await flows.until(app, is_found)
    assert app.engine.status(NAMESPACES[0]).is_outdated
    released.set()
    await settle(app)
    assert await is_found()
    assert texts(await find(app, PROJECT, "浮标 buoys", "hybrid"))[0] == "A new buoy 新浮标"
