"""From a save to the index: which text is indexed, where it is cut, how often it is embedded, and who waits for it."""

import asyncio
import json
import threading
from datetime import UTC, datetime
from typing import Any

import pytest

from findspot.app import App
from findspot.models import OWNER, Document, NamespaceKey, documents_namespace
from findspot.search import SearchRequest, Strategy
from tests import flows
from tests.flows import FakeEmbedder, make_document, make_project, rows, save, settle, text_of

pytestmark = pytest.mark.fake_embedder

CHAPTER = {
    "en": [f"Paragraph {number} tells of the lighthouse keeper" for number in range(120)],
    "zh": [f"第{number}段说的是灯塔的看守人" for number in range(120)],
}
NEW = {"en": "A storm was coming", "zh": "暴风雨就要来了"}


async def make(app: App, project: int, form: str, content: Any) -> Document:
    body = {"title": "t", "format": form, "content": content}
    return await app.documents.create(project, json.dumps(body).encode())


async def found(app: App, project: int, query: str) -> list[str]:
    page = await app.workspace_search.search(SearchRequest(project, query, Strategy.KEYWORD))
    return [each.found.chunk.text for each in page.results]


# ── which text ──

TREE = {
    "type": "doc",
    "content": [
        {"type": "heading", "attrs": {"level": 2}, "content": [{"type": "text", "text": "The harbour 港口"}]},
        {
            "type": "paragraph",
            "attrs": {"textAlign": "center"},
            "content": [
                {"type": "text", "text": "The light"},
                {"type": "text", "marks": [{"type": "bold"}], "text": "house"},
                {
                    "type": "text",
                    "marks": [{"type": "link", "attrs": {"href": "https://elsewhere.example/路标"}}],
                    "text": " keeper 林",
                },
                {"type": "text", "marks": [{"type": "italic"}], "text": "远"},
            ],
        },
    ],
}
MARKDOWN = "## The harbour 港口\n\nThe light**house**[ keeper 林](https://elsewhere.example/路标)*远*\n"


@pytest.mark.scenario("004.fts.plain-text")
@pytest.mark.parametrize(("form", "content"), [("tiptap", TREE), ("markdown", MARKDOWN)])
async def test_visible_text_is_found_and_markup_is_not(app: App, project: int, form: str, content: Any) -> None:
    await make(app, project, form, content)
    await settle(app)
    assert [row.chunk_text for row in await rows(app)] == ["The harbour 港口\n\nThe lighthouse keeper 林远"]
    for query in ("harbour", "lighthouse", "港口", "林远"):
        assert await found(app, project, query) == ["The harbour 港口\n\nThe lighthouse keeper 林远"]
    for query in ("doc", "paragraph", "heading", "bold", "italic", "center", "href", "elsewhere", "路标", "**", "##"):
        assert await found(app, project, query) == [], query


# ── cut where, and what is known of each ──


@pytest.mark.scenario("004.embedding.by-paragraph")
async def test_a_document_is_cut_at_its_paragraphs_and_a_very_long_one_is_cut_further(app: App, project: int) -> None:
    long = {"en": "The tide comes in and goes out again. " * 60, "zh": "潮水涨了又落，落了又涨。" * 180}
    document = await make_document(app, project, "Short", long["en"].strip(), "短", long["zh"], "The end 完")
    await settle(app)
    text = await text_of(app, document.id)
    cut = await rows(app, document_id=document.id)
    whole = [row.chunk_text for row in cut if row.chunk_text in ("Short", "短", "The end 完")]
    assert whole == ["Short", "短", "The end 完"]
    assert all(len(row.chunk_text) <= 1000 for row in cut)
    for language in long.values():
        parts = [row for row in cut if row.chunk_text in language]
        assert len(parts) > 2
        first, last = parts[0], parts[-1]
        assert text[first.char_start : last.char_end] == language.strip()


@pytest.mark.scenario("004.embedding.one-vector-a-chunk", "004.embedding.chunk-fields")
async def test_a_chunk_has_its_range_its_times_and_one_vector(app: App, project: int, embedder: FakeEmbedder) -> None:
    began = datetime.now(UTC)
    other = await make_document(app, await make_project(app, "other"), "one 一", "two 二")
    document = await make_document(app, project, "one 一", "two 二", "three 三")
    await settle(app)
    await save(app, document.id, "zero 零", "one 一", "three 三")
    await settle(app)
    await flows.rebuild(app, NamespaceKey(project, None))
    await settle(app)
    namespace, text = documents_namespace(project), await text_of(app, document.id)
    mine = await rows(app, document_id=document.id)
    assert [row.chunk_text for row in mine] == ["zero 零", "one 一", "three 三"]
    assert len({row.id for row in [*mine, *await rows(app, document_id=other.id)]}) == 5
    assert flows.with_vector(app, namespace) == sorted(row.id for row in mine)
    assert app.engine.status(namespace).fingerprint == embedder.fingerprint
    for row in mine:
        assert NamespaceKey.of(row.turbopuffer_namespace) == NamespaceKey(project, None)
        assert text[row.char_start : row.char_end] == row.chunk_text
        assert began <= row.updated_at <= datetime.now(UTC)
        nearest = app.engine.recall(namespace, None, embedder.query(*flows.embedded(row.chunk_text)), limit=1).vector
        assert nearest == {row.id: pytest.approx(1.0, abs=0.02)}


# ── embedded how often ──


@pytest.mark.scenario("004.embedding.changed-paragraphs-only")
@pytest.mark.parametrize("language", ["en", "zh"])
async def test_a_paragraph_at_the_top_of_a_long_document_embeds_one_text(
    app: App, project: int, embedder: FakeEmbedder, language: str
) -> None:
    document = await make_document(app, project, *CHAPTER[language])
    await settle(app)
    assert sorted(embedder.asked) == sorted(flows.embedded(*CHAPTER[language]))
    before = [row.id for row in await rows(app)]
    embedder.asked.clear()
    await save(app, document.id, NEW[language], *CHAPTER[language])
    await settle(app)
    assert embedder.asked == flows.embedded(NEW[language])
    first, *others = await rows(app)
    assert (first.chunk_text, [row.id for row in others]) == (NEW[language], before)
    text = await text_of(app, document.id)
    page = await app.workspace_search.search(SearchRequest(project, CHAPTER[language][119], Strategy.KEYWORD))
    best = page.results[0]
    assert text[best.start : best.end] == best.snippet == CHAPTER[language][119]


@pytest.mark.scenario("004.embedding.third-paragraph")
@pytest.mark.parametrize("language", ["en", "zh"])
async def test_an_edit_embeds_the_changed_paragraph_alone_while_the_writer_goes_on(
    app: App, project: int, embedder: FakeEmbedder, language: str
) -> None:
    chapter = CHAPTER[language][:7]
    document = await make_document(app, project, *chapter)
    await settle(app)
    before = {row.chunk_text: row.id for row in await rows(app)}
    embedder.asked.clear()
    embedder.open.clear()  # from now on, every call for a vector waits
    async with asyncio.timeout(flows.PATIENCE_S / 2):
        saved = await save(app, document.id, *chapter[:2], NEW[language], *chapter[3:])
    assert (saved.revision, embedder.asked) == (2, [])
    embedder.open.set()
    await settle(app)
    assert embedder.asked == flows.embedded(NEW[language])
    after = {row.chunk_text: row.id for row in await rows(app)}
    changed = {NEW[language], chapter[2]}
    assert before.keys() ^ after.keys() == changed
    assert all(before[text] == after[text] for text in before.keys() & after.keys())
    assert flows.with_vector(app, documents_namespace(project)) == sorted(after.values())


# ── who waits for it ──


@pytest.mark.scenario("004.fts.save-updates-index")
@pytest.mark.parametrize("reason", ["manual", "autosave"])
async def test_a_manual_or_automatic_save_is_searched_soon(app: App, project: int, reason: str) -> None:
    document = await make_document(app, project, "The old pier", "旧码头")
    await settle(app)
    body = {"content": flows.separate("The new pier", "新码头"), "reason": reason}
    await app.documents.save(document.id, json.dumps(body).encode(), OWNER)
    await settle(app)
    assert [await found(app, project, query) for query in ("old", "旧")] == [[], []]
    assert [await found(app, project, query) for query in ("new", "新码头")] == [["The new pier"], ["新码头"]]


@pytest.mark.scenario("004.fts.never-blocks-editing")
async def test_a_save_does_not_wait_for_the_index(app: App, project: int) -> None:
    document = await make_document(app, project, "The old pier 旧码头")
    await settle(app)
    engine, goes_on, held_up = flows.watched(app), threading.Event(), threading.Event()

    def write(*arguments: Any) -> None:
        held_up.set()
        assert goes_on.wait(flows.PATIENCE_S)
        engine.engine.write(*arguments)

    engine.instead["write"] = write
    try:
        async with asyncio.timeout(flows.PATIENCE_S / 2):
            await save(app, document.id, "The new pier 新码头")
            assert await asyncio.to_thread(held_up.wait, flows.PATIENCE_S / 4)
            for number in range(20):  # while a write is under way
                saved = await save(app, document.id, f"The new pier 新码头 {number}")
                assert await text_of(app, document.id) == f"The new pier 新码头 {number}"
        assert saved.revision == 22
    finally:
        goes_on.set()
    await settle(app)
    assert await found(app, project, "新码头") == ["The new pier 新码头 19"]


@pytest.mark.scenario("004.embedding.in-background")
async def test_many_embeddings_do_not_delay_edits(app: App, project: int, embedder: FakeEmbedder) -> None:
    embedder.open.clear()
    try:
        async with asyncio.timeout(flows.PATIENCE_S / 2):
            large = await make_document(app, project, *CHAPTER["en"], *CHAPTER["zh"])
            for number in range(10):
                edited = await save(app, large.id, *CHAPTER["en"], *CHAPTER["zh"], f"Edit {number} 编辑")
        assert (edited.revision, embedder.asked) == (11, [])
    finally:
        embedder.open.set()
    await settle(app)
    assert app.engine.status(documents_namespace(project)).vectors == 241
    assert await found(app, project, "编辑") == ["Edit 9 编辑"]
