"""Index files that are truncated, zeroed or deleted under a running server: every search gets a correct answer, or an
error that says when to retry; and the index repairs itself."""

import json
import os
import random
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import pytest

from findspot.engines.embedded import manifest as manifests
from findspot.engines.protocol import Damaged
from tests.archives import zip_of
from tests.engines.embedded.damage import FILES
from tests.flows import PATIENCE_S
from tests.servers import Server

Start = Callable[..., Server]

DOCUMENTS, PARAGRAPHS = 400, 11  # a chunk each; enough that their vectors are mapped into memory
IS_TORTURE = "FINDSPOT_TORTURE" in os.environ
ROUNDS = 3 if IS_TORTURE else 1  # searches of each kind that a thread makes while the damage is fresh
KINDS = FILES | {"tantivy's own": "gen-*/work-*/*.*"}
PLACES = ("harbour", "lighthouse", "orchard", "monastery", "虾塘", "古桥", "茶園", "灯塔")
ABOUT = (
    "Two heron nests hang over the weir. The heron comes back every spring.",
    "A heron stood where the ferryman waits.",
    "The ferryman rows at dusk and never counts his coins.",
    "白鷺飛過河岸，天色已晚。",
    "河岸上的白鷺不怕人，🦢也不怕。",
    "奶奶做的桂花糕甜而不腻。",
    "In the cafe\u0301 a 🦢 was painted on the wall; the café closed early.",
    "The keeper climbs the stairs every evening so that the lamp never goes out.",
    "守塔人每晚都爬上去，让灯一直亮着。",
)
QUERIES = ("heron nests", "白鷺 河岸", "ferryman", "桂花糕", "café 🦢", "keeper of the lamp at night", "夜里守塔的人")


def truncated(file: Path) -> None:
    os.truncate(file, file.stat().st_size // 2)


def zeroed(file: Path) -> None:
    with file.open("r+b") as opened:
        opened.write(bytes(file.stat().st_size))


def deleted(file: Path) -> None:
    file.unlink()


CASES = [(kind, damage) for kind in KINDS for damage in (truncated, zeroed, deleted)]
SAMPLE = [("postings", truncated), ("numbers", zeroed), ("codes", zeroed)]
FOLDERS = ("of the documents", "of the project", "of all projects")


def texts() -> dict[str, str]:
    """Return documents by title, in English and Chinese, with short paragraphs; some match the queries."""
    chance = random.Random(7)
    made = {}
    for number in range(DOCUMENTS):
        places = [chance.choice(PLACES) for _ in range(PARAGRAPHS)]
        entries = [f"Entry {number}.{n}: rain over the {place}, 雨落在{place}。" for n, place in enumerate(places)]
        made[f"diary {number}"] = "\n\n".join([*entries, *ABOUT[number // 40 : number // 40 + 1][: number % 40 == 0]])
    return made


@dataclass(frozen=True)
class Project:
    """A data folder with one project whose index is ready, and the hits of each search in it."""

    folder: Path
    id: int
    texts: dict[str, str]
    found: dict[tuple[str, str], Any]

    def copied(self, folder: Path) -> "Project":
        shutil.copytree(self.folder, folder)
        return Project(folder, self.id, self.texts, self.found)

    @property
    def index(self) -> Path:
        return self.folder / "index" / f"project_{self.id}" / f"project_{self.id}_documents"

    def file(self, kind: str) -> Path:
        """Return the largest file of a kind."""
        return max(self.index.glob(KINDS[kind]), key=lambda file: file.stat().st_size)


CHANNELS = {
    "fts": ("search/query/strategy", {"strategy": "fts"}),
    "semantic": ("search/query/strategy", {"strategy": "semantic"}),
    "hybrid": ("search/query/strategy", {"strategy": "hybrid"}),
    "fts query": ("search/fts/query", {}),
    "embedding search": ("embedding/search", {}),
}
EVERYWHERE, ELSEWHERE = QUERIES[:2], QUERIES[2:]
ASKED = [(channel, query) for query in EVERYWHERE for channel in (*CHANNELS, "explain")]
ASKED += [(channel, query) for query in ELSEWHERE for channel in ("fts", "hybrid")]


def ask(client: httpx2.Client, project: Project, channel: str, query: str) -> httpx2.Response:
    address = f"/api/v1/projects/{project.id}"
    if channel != "explain":
        path, body = CHANNELS[channel]
        return client.post(f"{address}/{path}", json={"query": query, **body})
    document, chunk, *_ = project.found["fts", QUERIES[0]][0]
    body = {"query": query, "documentId": document, "chunkId": chunk}
    return client.post(f"{address}/search/rank/explain", json=body)


def hits(project: Project, channel: str, answer: dict[str, Any]) -> list[Any]:
    """Return the hits of an answer, each checked against its document."""
    if channel == "explain":
        return [answer["documentId"], answer["chunkId"], answer["bm25"]["rank"], answer["semantic"]["rank"]]
    for each in answer["results"]:
        assert project.texts[each["documentTitle"]][each["startOffset"] : each["endOffset"]] == each["snippet"]
    return [(each["documentId"], each["chunkId"], each["startOffset"], each["endOffset"]) for each in answer["results"]]


@dataclass
class Seen:
    """Counts of the outcomes of searches. `broken` counts requests that were in flight when the server died."""

    answered: int = 0
    rebuilding: int = 0
    broken: int = 0
    wrong: list[str] = field(default_factory=list)

    def search(self, client: httpx2.Client, project: Project, channel: str, query: str) -> bool:
        """Search; return whether it was answered."""
        try:
            answer = ask(client, project, channel, query)
        except httpx2.TransportError:
            self.broken += 1
            return False
        body = answer.json()
        if answer.status_code == 503 and body["code"] == "INDEX_REBUILDING" and body["retryAfterMs"] > 0:
            self.rebuilding += 1
            return False
        if answer.status_code != 200:
            self.wrong.append(f"{channel} {query}: {answer.status_code} {answer.text}")
        elif (found := hits(project, channel, body)) != project.found[channel, query]:
            self.wrong.append(f"{channel} {query}: {found} instead of {project.found[channel, query]}")
        else:
            self.answered += 1
        return True


@contextmanager
def searching(server: Server, project: Project) -> Iterator[Seen]:
    """Have two threads search before, during and after the damage, until every kind of search was answered again."""
    seen, begun = Seen(), threading.Barrier(3)
    stop = time.monotonic() + PATIENCE_S

    def search() -> None:
        with server.client() as client:
            for each in ASKED:
                seen.search(client, project, *each)
            begun.wait(PATIENCE_S)
            for each in ASKED * ROUNDS:
                seen.search(client, project, *each)
            left = list(ASKED)
            while left and time.monotonic() < stop:
                left = [each for each in left if not seen.search(client, project, *each)]
            if left:
                seen.wrong.append(f"never answered: {left}")

    threads = [threading.Thread(target=search) for _ in range(2)]
    for thread in threads:
        thread.start()
    begun.wait(PATIENCE_S)
    try:
        yield seen
    finally:
        for thread in threads:
            thread.join()


def ready(client: httpx2.Client, project_id: int) -> None:
    """Wait until the status of the project is ready."""
    deadline = time.monotonic() + PATIENCE_S
    while (status := client.get(f"/api/v1/projects/{project_id}/status").json())["index_state"] != "ready":
        assert time.monotonic() < deadline, status
        time.sleep(0.02)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Project:
    folder = tmp_path_factory.mktemp("filled") / "data"
    server = Server.start(folder)
    made = texts()
    try:
        with server.client() as client:
            project_id = client.post("/api/v1/projects", json={"name": "日记 diary"}).json()["id"]
            files = {f"{title}.txt": text.encode() for title, text in made.items()}
            extra = {f"gone{number}.txt": b"of no use, and soon deleted" for number in range(20)}
            answer = client.post(f"/api/v1/projects/{project_id}/import", content=zip_of({**files, **extra}))
            assert json.loads(answer.text.splitlines()[-1])["created"] == len(files) + len(extra)
            ready(client, project_id)
            for each in client.get(f"/api/v1/projects/{project_id}/documents").json()["documents"]:
                if each["title"].startswith("gone"):
                    client.delete(f"/api/v1/documents/{each['id']}")
            project = Project(folder, project_id, made, {})
            for channel, query in ASKED:
                answer = ask(client, project, channel, query)
                assert answer.status_code == 200, answer.text
                project.found[channel, query] = hits(project, channel, answer.json())
                assert project.found[channel, query], (channel, query)
        assert server.stop() == 0
    finally:
        server.kill()
    return project


def is_sound(project: Project) -> bool:
    """Return whether every file is on the disk as it was written."""
    try:
        manifest = manifests.read(project.index)
        generation = project.index / manifest.generation
        manifests.verify_files(generation / "kept", manifest.keywords)
        manifests.verify_files(generation / manifest.vectors, manifest.rows)
    except Damaged:
        return False
    return bool(manifest.keywords)


def assert_repaired(server: Server, project: Project) -> None:
    """Check that searches find everything as before, and that the files are sound again."""
    deadline = time.monotonic() + PATIENCE_S
    seen = Seen()
    with server.client() as client:
        while not is_sound(project):
            assert time.monotonic() < deadline
            seen.search(client, project, *ASKED[0])
        ready(client, project.id)
        for each in ASKED:
            assert seen.search(client, project, *each)
    assert not seen.wrong, seen.wrong[:3]


@pytest.mark.torture
@pytest.mark.parametrize(
    ("kind", "damage"),
    CASES if IS_TORTURE else SAMPLE,
    ids=lambda each: getattr(each, "__name__", each),
)
def test_a_file_damaged_under_a_running_server_never_changes_an_answer_and_is_repaired(
    filled: Project, tmp_path: Path, start_server: Start, kind: str, damage: Callable[[Path], None]
) -> None:
    project = filled.copied(tmp_path / "data")
    server = start_server(data=project.folder)
    with searching(server, project) as seen:
        damage(project.file(kind))
    assert not seen.wrong, seen.wrong[:3]
    killed = sum("The server was killed by SIGBUS" in line for line in server.output)
    assert seen.broken <= 2 * killed <= 2  # a file that is cut takes the server along, once; the next one serves
    assert damage is truncated or not killed
    assert_repaired(server, project)
    assert server.process.poll() is None


@pytest.mark.scenario("D27")
@pytest.mark.torture
@pytest.mark.parametrize("above", range(3) if IS_TORTURE else [2], ids=lambda above: FOLDERS[above])
def test_a_folder_deleted_under_a_running_server_is_rebuilt(
    filled: Project, tmp_path: Path, start_server: Start, above: int
) -> None:
    project = filled.copied(tmp_path / "data")
    server = start_server(data=project.folder)
    with searching(server, project) as seen:
        shutil.rmtree([project.index, *project.index.parents][above])
    assert not seen.wrong, seen.wrong[:3]
    assert not seen.broken
    assert_repaired(server, project)


@pytest.mark.torture
@pytest.mark.parametrize(
    ("kind", "damage"),
    [*(CASES if IS_TORTURE else [("terms", zeroed)]), ("", shutil.rmtree)],
    ids=lambda each: getattr(each, "__name__", each),
)
def test_a_server_killed_after_damage_repairs_it_when_it_is_restarted(
    filled: Project, tmp_path: Path, start_server: Start, kind: str, damage: Callable[[Path], None]
) -> None:
    project = filled.copied(tmp_path / "data")
    server = start_server(data=project.folder)
    with server.client() as client:
        assert Seen().search(client, project, *ASKED[0])
    damage(project.file(kind) if kind else project.index)
    server.kill()
    again = start_server(data=project.folder)
    seen = Seen()
    with again.client() as client:
        for each in ASKED:
            seen.search(client, project, *each)
    assert not seen.wrong, seen.wrong[:3]
    assert not seen.broken
    assert_repaired(again, project)
