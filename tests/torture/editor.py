"""A client that changes tables and documents through the API, and notes every write that was acknowledged."""

import itertools
import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import httpx2

from tests.index_editor import WORDS, text

PATIENCE_S = 120.0
_AGAIN = (401, 409, 429, 503)  # 401: the port belongs to another server by now
MOST_DOCUMENTS, MOST_TABLES = 6, 2
_CONFIG = {"chunk_threshold": 1, "chunk_size": 100, "chunk_overlap": 10}
_KINDS = {
    "create document": 3,
    "save document": 6,
    "rename document": 5,
    "delete document": 2,
    "create table": 1,
    "change table": 5,
    "delete table": 1,
    "rebuild": 1,
}


@dataclass
class Answer:
    """The answer to a request. `is_repeated` if an earlier attempt may have been executed too."""

    status: int
    body: Any
    is_repeated: bool


class Client:
    """Sends requests to any of the addresses that there are, and repeats those that were not answered."""

    def __init__(self, urls: Callable[[], list[str]], token: str, chance: random.Random) -> None:
        self._urls = urls
        self._chance = chance
        headers = {"Authorization": f"Bearer {token}"}
        self._client = httpx2.Client(headers=headers, timeout=PATIENCE_S, trust_env=False)
        self._is_over = False
        self.refusals: Counter[str] = Counter()

    def call(self, method: str, path: str, **options: Any) -> Answer:
        until, is_repeated = time.monotonic() + PATIENCE_S, False
        while True:
            problem, urls = "nobody answers", self._urls()
            try:
                if urls:
                    answer = self._client.request(method, self._chance.choice(urls) + path, **options)
                    if answer.status_code not in _AGAIN:
                        return Answer(answer.status_code, answer.json() if answer.content else None, is_repeated)
                    problem = answer.text
                    self.refusals[answer.json()["code"]] += 1
                    is_repeated = True
            except httpx2.TransportError as error:
                self.refusals[type(error).__name__] += 1
                is_repeated = True
            assert not self._is_over, "the run is over"
            assert time.monotonic() < until, f"{method} {path}: {problem}"
            time.sleep(0.05)

    def give_up(self) -> None:
        """Repeat nothing any more."""
        self._is_over = True

    def close(self) -> None:
        self._client.close()


@dataclass
class Ledger:
    """What the server has acknowledged to one editor. `uncertain` names what may exist beside it: the first attempt of
    a request that was repeated."""

    documents: dict[int, tuple[str, str]] = field(default_factory=dict)  # title and content
    tables: dict[int, dict[str, str]] = field(default_factory=dict)
    tools: dict[int, int] = field(default_factory=dict)
    deleted: set[str] = field(default_factory=set)  # paths
    uncertain: set[str] = field(default_factory=set)
    writes: Counter[str] = field(default_factory=Counter)
    count: int = 0  # of all writes; other threads read it


class Editor(threading.Thread):
    """Makes one random change after another, of sources that no other editor changes."""

    def __init__(self, number: int, client: Client, project: int, chance: random.Random) -> None:
        super().__init__(name=f"editor {number}", daemon=True)
        self.ledger = Ledger()
        self.error: Exception | None = None
        self._client = client
        self._project = project
        self._chance = chance
        self._versions = (f"v{number}x{each}" for each in itertools.count(1))
        self._is_ended = False
        self._may_go = threading.Event()
        self._is_idle = threading.Event()
        self._may_go.set()

    def run(self) -> None:
        try:
            while not self._is_ended:
                if not self._may_go.is_set():
                    self._is_idle.set()
                    self._may_go.wait()
                    self._is_idle.clear()
                else:
                    self.edit()
        except Exception as error:  # noqa: BLE001 - raised again in the thread of the test
            self.error = error
        finally:
            self._is_idle.set()
            self._client.close()

    def pause(self) -> None:
        """Make no other change after the one in progress."""
        self._may_go.clear()

    def wait_until_idle(self) -> None:
        """Wait for the change in progress. Raise the error of an editor that has failed."""
        assert self._is_idle.wait(2 * PATIENCE_S), "an edit does not end"
        if self.error is not None:
            raise self.error

    def resume(self) -> None:
        self._is_idle.clear()
        self._may_go.set()

    def end(self) -> None:
        self._is_ended = True
        self._client.give_up()
        self._may_go.set()
        self.join(2 * PATIENCE_S)

    @property
    def refusals(self) -> Counter[str]:
        return self._client.refusals

    # ── changes ──

    def edit(self) -> None:
        """Make one change, and note it when it was acknowledged."""
        ledger, (kind,) = self.ledger, self._chance.choices(list(_KINDS), list(_KINDS.values()))
        if kind == "create document" and len(ledger.documents) < MOST_DOCUMENTS:
            self._create_document()
        elif kind == "create table" and len(ledger.tables) < MOST_TABLES:
            self._create_table()
        elif kind == "rebuild":
            self._rebuild()
        elif kind.endswith("document") and len(ledger.documents) > (kind == "delete document"):  # one is left
            self._change_document(kind, self._chance.choice(list(ledger.documents)))
        elif kind.endswith("table") and ledger.tables:
            self._change_table(kind, self._chance.choice(list(ledger.tables)))
        else:
            return
        ledger.writes[kind] += 1
        ledger.count += 1

    def _create_document(self) -> None:
        title, content = self._title(), self._text()
        body = {"title": title, "format": "text", "content": content}
        made = self._call(201, "POST", f"/api/v1/projects/{self._project}/documents", json=body, name=title)
        self.ledger.documents[made.body["id"]] = title, content

    def _change_document(self, kind: str, id: int) -> None:
        title, content = self.ledger.documents[id]
        path = f"/api/v1/documents/{id}"
        if kind == "delete document":
            self._remove(path)
            del self.ledger.documents[id]
            return
        if kind == "rename document":
            title = self._title()
            self._call(200, "PUT", path, json={"title": title})
        else:
            content = self._text()
            self._call(200, "PUT", path, json={"content": content})
        self.ledger.documents[id] = title, content

    def _create_table(self) -> None:
        name, data = self._title(), {"0": self._text(), "键": self._text()}
        path = f"/api/v1/projects/{self._project}/tables"
        table = self._call(201, "POST", path, json={"name": name, "data": data}, name=name).body["id"]
        self.ledger.tables[table] = data
        tool = {"project_id": self._project, "table_id": table, "name": name, "search_config": _CONFIG}
        made = self._call(201, "POST", "/api/v1/tools/search?wait=false", json=tool)
        self.ledger.tools[table] = made.body["tool_id"]

    def _change_table(self, kind: str, id: int) -> None:
        if kind == "delete table":
            self._remove(f"/api/v1/tables/{id}")
            del self.ledger.tables[id], self.ledger.tools[id]
            return
        member, value = self._chance.choice(["0", "1", "键"]), self._text()
        path = f"/api/v1/tables/{id}/data"
        self._call(200, "PUT", path, params={"json_pointer": f"/{member}"}, json=value)
        self.ledger.tables[id] = {**self.ledger.tables[id], member: value}

    def _rebuild(self) -> None:
        if self.ledger.tools and self._chance.random() < 0.5:
            tool = self._chance.choice(list(self.ledger.tools.values()))
            self._client.call("POST", f"/internal/tools/{tool}/chunks/rebuild", json={})
        else:
            self._client.call("POST", f"/api/v1/projects/{self._project}/search/fts/reindex", json={})

    def _remove(self, path: str) -> None:
        answer = self._client.call("DELETE", path)
        assert answer.status in (200, 204) or (answer.status == 404 and answer.is_repeated), answer
        self.ledger.deleted.add(path)

    def _call(self, status: int, method: str, path: str, *, name: str = "", **options: Any) -> Answer:
        answer = self._client.call(method, path, **options)
        if name and answer.is_repeated:
            self.ledger.uncertain.add(name)
        assert answer.status == status, (method, path, answer)
        return answer

    def _title(self) -> str:
        return f"{next(self._versions)} {self._chance.choice(WORDS)} 标题"

    def _text(self) -> str:
        return f"{next(self._versions)} {text(self._chance)}"
