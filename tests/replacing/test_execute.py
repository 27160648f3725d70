"""Executing and undoing replaces: the index follows, searches go on, and no edit is lost, on both databases."""

import asyncio
import json
import random
import re
from dataclasses import dataclass
from typing import Any

import httpx2
import pytest
import sqlalchemy as sa

from findspot.app import App, open_app
from findspot.errors import FindspotError
from findspot.models import OWNER
from findspot.replacing.execute import Confirmed
from findspot.replacing.preview import Scope
from findspot.replacing.rule import ReplaceRule
from findspot.replacing.undo import undo
from findspot.settings import Settings
from findspot.sources.stored import read_stored
from findspot.store import documents as document_rows
from findspot.store import replaces as rows
from findspot.store.schema import replaces
from findspot.versions.words import word_count
from tests.flows import FakeEmbedder, embedded, find, hold, make_document, make_project, settle, text_of
from tests.http.replaces import add, channel, execute, preview, text
from tests.http.replaces import make_project as make_project_over_http

WRITERS, KEYSTROKES = 20, 8


async def previewed(app: App, project: int, search: str, replace: str) -> int:
    return await app.previews.create(ReplaceRule(search, replace), Scope(project), OWNER)


async def replaced(app: App, project: int, search: str, replace: str) -> int:
    """Replace, and return the id of the preview."""
    id = await previewed(app, project, search, replace)
    assert (await app.execution.execute(project, Confirmed(id), OWNER)).replaced
    return id


async def snippets(app: App, project: int, query: str) -> list[str]:
    return [each.snippet for each in (await find(app, project, query, exact=True)).results]


@pytest.mark.fake_embedder
async def test_after_a_replace_and_its_undo_searches_see_the_new_text_and_only_changed_paragraphs_are_embedded(
    app: App, project: int, embedder: FakeEmbedder
) -> None:
    before = ("The old warehouse by the river", "Nothing happens here at all", "废弃的老房子 and a warehouse")
    after = ("The old factory by the river", "Nothing happens here at all", "废弃的老房子 and a factory")
    await make_document(app, project, *before)
    await settle(app)
    embedder.asked.clear()
    id = await replaced(app, project, "warehouse", "factory")
    await settle(app)
    assert sorted(embedder.asked) == sorted(embedded(after[0], after[2]))
    assert sorted(await snippets(app, project, "factory")) == sorted([after[0], after[2]])
    assert await snippets(app, project, "warehouse") == []
    embedder.asked.clear()
    await undo(app.store, project, id, OWNER)
    await settle(app)
    assert embedder.asked == []  # the vectors of the old paragraphs are known
    assert sorted(await snippets(app, project, "warehouse")) == sorted([before[0], before[2]])
    assert await snippets(app, project, "factory") == []


@pytest.mark.fake_embedder
async def test_a_search_says_that_the_index_is_behind_a_replace(app: App, project: int) -> None:
    await make_document(app, project, "The old warehouse 旧仓库")
    await hold(app)
    assert (await find(app, project, "warehouse")).index.state == "ready"
    await replaced(app, project, "warehouse", "factory")
    assert (await find(app, project, "warehouse")).index.state == "indexing"


@pytest.mark.fake_embedder
@pytest.mark.scenario("004.concurrency.read-write", "D37")
async def test_searches_go_on_while_a_replace_is_committed_and_a_save_waits_for_it(app: App, project: int) -> None:
    document = await make_document(app, project, "The old warehouse 旧仓库")
    await settle(app)
    id = await previewed(app, project, "warehouse", "factory")
    content = {"type": "doc", "content": [{"type": "paragraph", "content": [{"type": "text", "text": "typed"}]}]}
    body = json.dumps({"content": content, "baseRevision": document.revision}).encode()
    async with app.store.write() as connection:
        assert await rows.claim(connection, project, id)
        planned = rows.Planned(document.id, 1, None, 3, b'{"type":"doc","content":[]}')
        await rows.plan(connection, id, [planned])
        await rows.apply(connection, id, OWNER)
        assert await snippets(app, project, "warehouse") == ["The old warehouse 旧仓库"]
        saving = asyncio.create_task(app.documents.save(document.id, body, OWNER))
        assert await text_of(app, document.id) == "The old warehouse 旧仓库"
        assert not saving.done()
    with pytest.raises(FindspotError, match="now at revision 2, not 1"):
        await saving
    assert await text_of(app, document.id) == ""


async def test_a_document_that_changes_after_its_new_content_was_calculated_is_skipped(app: App, project: int) -> None:
    ids = [(await app.documents.create(project, _plain(f"old 旧 {number}"))).id for number in range(4)]
    id = await previewed(app, project, "old", "new")
    async with app.store.write() as connection:
        assert await rows.claim(connection, project, id)
        await rows.plan(connection, id, [rows.Planned(each, 1, None, 3, "new 旧".encode()) for each in ids])
    await app.documents.save(ids[1], b'{"content": "typed"}', OWNER)
    await app.documents.delete(ids[2])
    async with app.store.write() as connection:
        await rows.apply(connection, id, OWNER)
        changes = {each.document_id: each for each in await rows.changes(connection, id)}
    assert [changes[each].skipped for each in ids] == [None, "changed", "deleted", None]
    assert [changes[each].replaced for each in ids] == [1, 0, 0, 1]
    assert [await text_of(app, each) for each in (ids[0], ids[1], ids[3])] == ["new 旧", "typed", "new 旧"]
    assert [len(await app.documents.versions(each)) for each in (ids[0], ids[1], ids[3])] == [1, 1, 1]


async def test_a_replace_whose_preview_was_dropped_meanwhile_changes_nothing(app: App, project: int) -> None:
    document = await app.documents.create(project, _plain("old 旧"))
    id = await previewed(app, project, "old", "new")
    async with app.store.write() as connection:
        assert await rows.claim(connection, project, id)
        await rows.plan(connection, id, [rows.Planned(document.id, 1, None, 3, "new 旧".encode())])
        await connection.execute(sa.delete(replaces).where(replaces.c.id == id))
    async with app.store.write() as connection:
        assert not await rows.apply(connection, id, OWNER)
    assert await text_of(app, document.id) == "old 旧"


async def test_a_replacement_that_makes_a_document_too_large_is_skipped(settings: Settings) -> None:
    async with open_app(settings.model_copy(update={"max_document": 1000})) as app:
        project = await make_project(app)
        long = await app.documents.create(project, _plain("鱼" * 300))
        short = await app.documents.create(project, _plain("鱼"))
        id = await previewed(app, project, "鱼", "大鱼吃小鱼")
        outcome = await app.execution.execute(project, Confirmed(id), OWNER)
        assert (outcome.replaced, outcome.skipped) == (1, [(long.id, "too_large")])
        assert [await text_of(app, each.id) for each in (long, short)] == ["鱼" * 300, "大鱼吃小鱼"]


async def test_a_replace_that_fails_changes_nothing_and_can_be_repeated(
    app: App, project: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = await make_document(app, project, "old 旧")
    id = await previewed(app, project, "old", "new")

    async def fail(*arguments: Any) -> None:
        raise FindspotError("STORE_UNAVAILABLE", "The database cannot be used right now.")

    with monkeypatch.context() as patch:
        patch.setattr("findspot.store.documents.put_contents", fail)
        with pytest.raises(FindspotError, match="cannot be used"):
            await app.execution.execute(project, Confirmed(id), OWNER)
    assert await text_of(app, document.id) == "old 旧"
    assert await app.documents.versions(document.id) == []
    assert (await app.execution.execute(project, Confirmed(id), OWNER)).replaced == 1


async def test_what_a_preview_counts_is_replaced_and_undo_is_the_identity_in_every_format(
    app: App, project: int
) -> None:
    chance = random.Random(20261117)
    ids = [(await app.documents.create(project, _mixed(chance))).id for _ in range(45)]
    before = await contents(app, ids)
    for search, replace in (("废弃仓库", "荒废*工厂*"), ("House", "b_r_n"), ("弃仓", "`|#")):
        id = await previewed(app, project, search, replace)
        page = await app.previews.page(project, id, 1)
        assert page.preview.matches == sum(each.text.lower().count(search.lower()) for each in before.values())
        outcome = await app.execution.execute(project, Confirmed(id), OWNER)
        assert (outcome.replaced, outcome.skipped) == (page.preview.matches, [])
        after = await contents(app, ids)
        for each, old in before.items():
            pattern = re.compile(re.escape(search), re.IGNORECASE)
            assert after[each].text == pattern.sub(replace, old.text)
            assert after[each].words == word_count(after[each].text)
        undone = await undo(app.store, project, id, OWNER)
        assert (undone.replaced, undone.skipped) == (outcome.replaced, [])
        assert await contents(app, ids) == before


@dataclass(frozen=True)
class Stored:
    content: bytes
    text: str
    words: int


async def contents(app: App, ids: list[int]) -> dict[int, Stored]:
    async with app.store.read() as connection:
        loaded = await document_rows.load_many(connection, ids)
    return {
        document.id: Stored(content, read_stored(content, document.format).text, document.word_count)
        for document, content in loaded
    }


def _mixed(chance: random.Random) -> bytes:
    """Return a document in a random format, whose words are partly bold and cross the edges of marks."""
    pieces = ["废弃仓", "库", "弃", "House", " ho", "use ", "🚗", "e\u0301 ", "廢棄倉庫", ", "]
    form = chance.choice(("tiptap", "markdown", "text"))
    runs = [("".join(chance.choices(pieces, k=3)), chance.random() < 0.3) for _ in range(chance.randint(1, 9))]
    content: Any = "".join(text for text, _ in runs)
    if form == "tiptap":
        nodes = [
            {"type": "text", "text": text, **({"marks": [{"type": "bold"}]} if bold else {})} for text, bold in runs
        ]
        content = {"type": "doc", "content": [{"type": "paragraph", "content": nodes}, {"type": "horizontalRule"}]}
    elif form == "markdown":
        content = "# 废弃仓库\n\n" + "".join(f"**{text.strip()}**" if bold else text for text, bold in runs) + "\n"
    return json.dumps({"title": "d", "format": form, "content": content}).encode()


async def test_no_acknowledged_keystroke_of_twenty_writers_is_lost_to_replaces(owner: httpx2.AsyncClient) -> None:
    project = await make_project_over_http(owner)
    ids = [await add(owner, project, f"old 旧 {writer}:") for writer in range(WRITERS)]

    async def write(writer: int) -> None:
        path = f"/api/v1/documents/{ids[writer]}"
        typed = 0
        while typed < KEYSTROKES:
            now = (await owner.get(path)).json()
            body = {"content": f"{now['content']} {writer}k{typed}键", "reason": "autosave"}
            answer = await owner.put(path, json=body | {"baseRevision": now["revision"]})
            typed += answer.status_code == 200
            assert answer.status_code in (200, 409), answer.text

    async def replace() -> int:
        changed, words = 0, ("old", "new")
        while not all(each.done() for each in writers):
            found = await preview(owner, project, words[0], words[1])
            done = await channel(owner, project, "replace:execute", previewId=found["previewId"], confirmed=True)
            changed += done.json()["affectedDocumentCount"]
            words = words[1], words[0]
        return changed

    writers = [asyncio.create_task(write(writer)) for writer in range(WRITERS)]
    changed = await replace()
    await asyncio.gather(*writers)
    for word in ("old", "new"):
        found = await preview(owner, project, word, "done")
        changed += (await execute(owner, project, found["previewId"]))["affectedDocumentCount"]
    assert changed >= WRITERS
    for writer, id in enumerate(ids):
        keystrokes = "".join(f" {writer}k{number}键" for number in range(KEYSTROKES))
        assert await text(owner, id) == f"done 旧 {writer}:{keystrokes}"


def _plain(content: str) -> bytes:
    return json.dumps({"title": "d", "format": "text", "content": content}).encode()
