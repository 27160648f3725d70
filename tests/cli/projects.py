"""Projects of the shared server for tests of search."""

import time
from collections.abc import Iterable, Mapping

from tests.flows import separate
from tests.servers import Server

_INDEXED_S = 120

HOSTILE = "A \x1b]0;hostile\x07 \u202etext."
CHAPTERS = {
    "Chapter one": "The lighthouse keeper lit his lantern.\n\nNobody had come to the island for a year.",
    "Signs": "A 🏮 hung there.",
    "Evil\u202e title": HOSTILE,
    "第二章": "林远推开废弃仓库的大门。\n\n旧照片散落一地，他弯腰捡起其中一张。",
}


def add_project(
    server: Server, documents: Mapping[str, str] | Iterable[tuple[str, str]], kind: str = "document"
) -> tuple[str, ...]:
    """Create a project with documents (title and text, of which every paragraph is a passage), wait for its index, and
    return the options that select it."""
    pairs = documents.items() if isinstance(documents, Mapping) else documents
    with server.client() as owner:
        project = owner.post("/api/v1/projects", json={"name": "novel"}).json()["id"]
        for title, content in pairs:
            passages = separate(*content.split("\n\n"))
            body = {"title": title, "type": kind, "format": "tiptap", "content": passages}
            owner.post(f"/api/v1/projects/{project}/documents", json=body)
        deadline = time.monotonic() + _INDEXED_S
        while owner.get(f"/api/v1/projects/{project}/status").json()["index_state"] != "ready":
            assert time.monotonic() < deadline, "the documents were not indexed"
            time.sleep(0.05)
    return "--project", str(project), "--url", server.url, "--key", server.token
