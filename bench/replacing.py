"""`make bench-replace`: preview, execute and undo a replace over 1,000 documents while others use the server."""

import argparse
import json
import os
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
from tests.servers import Server

from bench.load import Call, Group, Outcome, run
from bench.report import Figure, Report, percentile

DOCUMENTS, MATCHES = 1_000, 7  # matches in each document
PARAGRAPHS = 12
PREVIEW_S, EXECUTE_S, UNDO_S, WAIT_MS = 1.0, 3.0, 3.0, 50.0
LEAD_S = 1.0  # the others ask before the first step
WATCHED_S = 5.0

HOW = """\
`make bench-replace` starts a server, fills a project with {documents:,} documents of about {size:,} characters (a third
each in TipTap, Markdown and plain text) with {matches:,} matches in all, and waits until they are indexed. It then
previews, executes and undoes a replace over HTTP in {rounds} rounds; the slowest counts. {rounds} more rounds follow
while another process asks for health, reads and searches documents of the same project, and saves one of another
project, one request at a time each, with 5 ms between them. Only requests that were on their way during a step count.
Client and server share the cores, and these requests alone keep one of them busy. Beside the bounds stand the longest
waits on the idle server. A save waits for the one writer of SQLite while the changes are committed, so its longest
wait has no bound. The undo comes when the index has followed the replace. The load average of the machine was
{load:.1f} at the start."""

_SENTENCES = (
    "The keeper of the old lighthouse wrote down the weather every evening, and nobody ever read it. ",
    "林远推开仓库的大门，旧照片散落一地，他弯腰捡起其中一张，久久没有说话。",
    "Rain had washed the road away; 他們只好走小路, past the mill and the empty school. ",
)


def content(number: int) -> str:
    """Return the text of a document: paragraphs in two languages, some of them with the word to replace."""
    paragraphs = []
    for place in range(PARAGRAPHS):
        sentence = _SENTENCES[(number + place) % 3] * 2
        paragraphs.append(
            f"{sentence}废弃仓库 {number}-{place}。" if place < MATCHES else f"{sentence}{number}-{place}."
        )
    return "\n\n".join(paragraphs)


def body(number: int) -> dict[str, Any]:
    text = content(number)
    form = ("text", "markdown", "tiptap")[number % 3]
    if form == "markdown":
        text = f"# Chapter {number}\n\n" + text.replace("weather", "**weather**")
    tree = {
        "type": "doc",
        "content": [{"type": "paragraph", "content": [{"type": "text", "text": each}]} for each in text.split("\n\n")],
    }
    return {"title": f"Chapter {number}", "format": form, "content": tree if form == "tiptap" else text}


class Watched:
    """A filled project, and what others see while something happens to it."""

    def __init__(self, server: Server, client: httpx2.Client, documents: int) -> None:
        self._server = server
        self._client = client
        self.project = client.post("/api/v1/projects", json={"name": "novel"}).json()["id"]
        other = client.post("/api/v1/projects", json={"name": "other"}).json()["id"]
        path = f"/api/v1/projects/{self.project}/documents"
        ids = [client.post(path, json=body(number)).raise_for_status().json()["id"] for number in range(documents)]
        self._first = ids[0]
        saved = {"title": "saved", "format": "text", "content": "x"}
        self._saved = client.post(f"/api/v1/projects/{other}/documents", json=saved).json()["id"]
        self.settle()

    def settle(self) -> None:
        """Wait until everything is indexed."""
        while self._client.get(f"/api/v1/projects/{self.project}/status").json()["index_state"] != "ready":
            time.sleep(0.2)

    def channel(self, name: str, **sent: Any) -> tuple["Step", Any]:
        """Call a channel. Return when it began and ended, and its answer."""
        began = time.time()
        answer = self._client.post(f"/api/v1/projects/{self.project}/search/replace/{name}", json=sent)
        return Step(began, time.time()), answer.raise_for_status().json()

    def watch(self, seconds: float) -> "Watch":
        query = json.dumps({"query": "weather lighthouse 照片"})
        saved = json.dumps({"content": "version {n}. 第 {n} 版。"})
        calls = [
            Call("health", "GET", "/readyz"),
            Call("read", "GET", f"/api/v1/documents/{self._first}/versions"),
            Call("search", "POST", f"/api/v1/projects/{self.project}/search/fts/query", query),
            Call("save", "PUT", f"/api/v1/documents/{self._saved}", saved),
        ]
        groups = [Group(each.kind, 1, [each], pause_s=0.005) for each in calls]
        return Watch(lambda: run(self._server.url, self._server.token, seconds, groups))


@dataclass(frozen=True, slots=True)
class Step:
    """A call of a channel, in seconds of the clock."""

    began: float
    ended: float

    @property
    def seconds(self) -> float:
        return self.ended - self.began


class Watch:
    """Others that use the server in the background."""

    def __init__(self, work: Any) -> None:
        self._found: dict[str, Outcome] = {}
        self._thread = threading.Thread(target=lambda: self._found.update(work()))
        self._thread.start()
        time.sleep(LEAD_S)

    def end(self, *steps: Step) -> dict[str, list[float]]:
        """Return the waits in milliseconds by kind of request: all of them, or those during the steps."""
        self._thread.join()
        waits: dict[str, list[float]] = {}
        for name, found in self._found.items():
            some = [each for step in steps for each in found.latencies_between(name, step.began, step.ended)]
            waits[name] = [each * 1000 for each in (some if steps else found.latencies(name))]
        return waits


def _alone(watched: Watched, documents: int) -> dict[str, float]:
    """Preview, execute and undo once while nobody else uses the server. Return the seconds of each step."""
    id, preview, execute = _replace(watched, documents)
    watched.settle()
    undo, _ = watched.channel("undo", previewId=id)
    watched.settle()
    return {"preview": preview.seconds, "execute": execute.seconds, "undo": undo.seconds}


def _replace(watched: Watched, documents: int) -> tuple[int, Step, Step]:
    """Preview and execute. Return the id of the preview and both steps."""
    rule = {"search": "废弃仓库", "replace": "荒废工厂", "scope": "project"}
    preview, found = watched.channel("preview", **rule)
    assert (found["affectedDocuments"], found["totalMatches"]) == (documents, documents * MATCHES), found
    id = found["previewId"]
    execute, done = watched.channel("execute", previewId=id, confirmed=True, confirmedRisk=True)
    assert (done["replacedCount"], done["skipped"]) == (documents * MATCHES, []), done["skipped"][:3]
    return id, preview, execute


def _watched(watched: Watched, documents: int) -> tuple[dict[str, float], dict[str, list[float]]]:
    """Preview, execute and undo once. Return the seconds of each step, and how long others waited meanwhile."""
    watch = watched.watch(WATCHED_S)
    id, preview, execute = _replace(watched, documents)
    waits = watch.end(preview, execute)
    watched.settle()
    watch = watched.watch(WATCHED_S)
    undo, undone = watched.channel("undo", previewId=id)
    assert undone["restoredDocumentCount"] == documents
    for name, more in watch.end(undo).items():
        waits[name] += more
    watched.settle()
    return {"preview": preview.seconds, "execute": execute.seconds, "undo": undo.seconds}, waits


def measure(documents: int = DOCUMENTS, rounds: int = 3, database: str | None = None) -> Report:
    size = len(content(0))
    facts = {"documents": documents, "matches": documents * MATCHES, "size": size, "rounds": rounds}
    report = Report("replace", "Search and replace", HOW.format_map(facts | {"load": os.getloadavg()[0]}))
    environment: dict[str, Any] = {"FINDSPOT_DATABASE_URL": database} if database else {}
    with tempfile.TemporaryDirectory(prefix="findspot-replace-") as folder:
        server = Server.start(Path(folder), FINDSPOT_LOG_LEVEL="warning", **environment)
        try:
            with server.client() as client:
                watched = Watched(server, client, documents)
                idle = watched.watch(3.0).end()
                alone = [_alone(watched, documents) for _ in range(rounds)]
                results = [_watched(watched, documents) for _ in range(rounds)]
        finally:
            server.kill()
    for name, bound in (("preview", PREVIEW_S), ("execute", EXECUTE_S), ("undo", UNDO_S)):
        report.add("Time", Figure(name, max(taken[name] for taken in alone), "s", bound))
        report.add("Time while others use the server", Figure(name, max(taken[name] for taken, _ in results), "s"))
    for name in ("health", "read", "search", "save"):
        waits = [each for _, found in results for each in found[name]]
        report.add("Others meanwhile", Figure(f"{name}, idle, longest", max(idle[name]), "ms"))
        report.add("Others meanwhile", Figure(f"{name}, p99", percentile(waits, 0.99), "ms"))
        bound_ms = None if name == "save" else WAIT_MS
        report.add("Others meanwhile", Figure(f"{name}, longest", max(waits), "ms", bound_ms))
    return report


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=DOCUMENTS)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--database", help="the URL of an empty PostgreSQL database; SQLite by default")
    parser.add_argument("--write", action="store_true", help="write docs/bench/replace.md")
    options = parser.parse_args()
    report = measure(options.documents, options.rounds, options.database)
    return report.finish(write=options.write)


if __name__ == "__main__":
    raise SystemExit(main())
