"""A real server with documents, for the clients of other frameworks."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.servers import Server

_INDEXED_S = 120
TEXTS = {
    "Keepers": "The keeper of the lighthouse is Mara Voss. Write to her at mara@example.org before you visit.",
    "第二章": "废弃仓库坐落在码头尽头，铁皮屋顶早已锈穿，雨水顺着裂缝滴在堆积的木箱上。",
}


@dataclass(frozen=True, slots=True)
class Target:
    """A project of a running server, and a key that may read it."""

    url: str
    project_id: int
    key: str


@pytest.fixture(scope="session")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    server = Server.start(Path(tmp_path_factory.mktemp("integrations")) / "data")
    try:
        with server.client() as owner:
            project = owner.post("/api/v1/projects", json={"name": "novel"}).json()["id"]
            for title, content in TEXTS.items():
                body = {"title": title, "format": "text", "content": content}
                owner.post(f"/api/v1/projects/{project}/documents", json=body).raise_for_status()
            key = owner.post(f"/api/v1/projects/{project}/keys", json={"name": "k", "role": "read"}).json()["key"]
            deadline = time.monotonic() + _INDEXED_S
            while owner.get(f"/api/v1/projects/{project}/status").json()["index_state"] != "ready":
                assert time.monotonic() < deadline, "the documents were not indexed"
                time.sleep(0.05)
        yield Target(server.url, project, key)
    finally:
        server.kill()
