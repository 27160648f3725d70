"""`findspot reindex`"""

import asyncio
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import click

from findspot.surfaces.cli.connect import Api, indexing_command
from findspot.surfaces.cli.outcome import Failure
from findspot.surfaces.cli.printing import done, hang, show, styled
from findspot.surfaces.cli.state import documents_index, status_of
from findspot.surfaces.cli.wording import count

Say: TypeAlias = Callable[[str], None]

_LOOK_EVERY_S = 0.2
_LASTS_S = 1.0  # a rebuild begins a moment after it was asked for: only a state that lasts is its outcome


@dataclass(kw_only=True)
class _Reindexed(ABC):
    """How far one index is. `failed` says why it cannot be done, if it cannot."""

    name: str = ""
    project_id: int = 0
    status: str = "pending"
    chunks: int = 0
    indexed: int = 0
    failed: str | None = None
    exit_code: int = 0

    @property
    @abstractmethod
    def title(self) -> str: ...

    @property
    def is_open(self) -> bool:
        return self.status not in ("ready", "error")

    @abstractmethod
    async def begin(self, api: Api) -> None: ...

    @abstractmethod
    async def look(self, api: Api) -> None: ...

    def fail(self, message: str, exit_code: int = 1) -> None:
        self.status, self.failed, self.exit_code = "error", message, exit_code

    def value(self) -> dict[str, Any]:
        names = ("name", "project_id", "status", "chunks", "indexed", "failed")
        return {name: getattr(self, name) for name in names}


@dataclass(kw_only=True)
class Tool(_Reindexed):
    """What a search tool sees."""

    tool_id: int

    @property
    def title(self) -> str:
        return f"Tool {self.tool_id} ({self.name})" if self.name else f"Tool {self.tool_id}"

    async def begin(self, api: Api) -> None:
        if not self.name:
            known = await api.call("GET", f"/api/v1/tools/{self.tool_id}")
            self.name, self.project_id = known["name"], known["project_id"]
        await api.call("POST", f"/internal/tools/{self.tool_id}/chunks/rebuild")

    async def look(self, api: Api) -> None:
        index = await api.call("GET", f"/api/v1/tools/{self.tool_id}/search-index")
        self.status, self.chunks, self.indexed = index["status"], index["chunks_count"], index["indexed_chunks_count"]
        if self.status == "error":
            self.fail(index["last_error"] or "It could not be indexed.")

    def value(self) -> dict[str, Any]:
        return {"tool_id": self.tool_id, **super().value()}


@dataclass(kw_only=True)
class Documents(_Reindexed):
    """The documents of a project."""

    queued: bool = False  # other rebuilds of the project come first
    seen: tuple[str, float] = ("", 0.0)  # a state, and since when

    @property
    def title(self) -> str:
        return f"The documents of project {self.project_id}" + (f" ({self.name})" if self.name else "")

    async def begin(self, api: Api) -> None:
        if not self.name:
            self.name = (await api.call("GET", f"/api/v1/projects/{self.project_id}"))["name"]
        path = f"/api/v1/projects/{self.project_id}/search/fts/reindex"
        self.queued = (await api.call("POST", path, json={}))["position"] > 0

    async def look(self, api: Api) -> None:
        status = await status_of(api, self.project_id)
        index = documents_index(status)
        state = self._state(status, index)
        lasts = self._lasts(state)
        if index is not None and (lasts or state == "indexing"):  # before, these are figures of the old one
            self.chunks, self.indexed = index["progress"]["total"], index["progress"]["done"]
        if lasts:
            self.status = state
        if lasts and state == "error":
            name = index["namespace"] if index else ""
            said = (each["message"] for each in status["last_errors"] if each["namespace"] == name)
            self.fail(next(said, "They could not be indexed."))

    def _state(self, status: dict[str, Any], index: dict[str, Any] | None) -> str:
        state = str(index["status"]) if index else "ready"
        self.queued = (
            self.queued and state == "ready" and any(each["status"] == "indexing" for each in status["namespaces"])
        )
        return "pending" if self.queued else state

    def _lasts(self, state: str) -> bool:
        now = time.monotonic()
        if state != self.seen[0]:
            self.seen = state, now
        return now - self.seen[1] >= _LASTS_S


@click.command("reindex")
@click.option("--all", "every", is_flag=True, help="The documents of every project, and every search tool.")
@click.option(
    "--documents", "project_ids", type=int, multiple=True, metavar="PROJECT",
    help="The documents of this project; may be given again.",
)  # fmt: skip
@click.option("--tool", "tool_ids", type=int, multiple=True, metavar="N", help="This search tool; may be given again.")
@indexing_command
async def command(api: Api, every: bool, project_ids: Sequence[int], tool_ids: Sequence[int]) -> None:
    """Index documents, and what search tools see, anew.

    Documents get a new index beside the one that answers. Texts that tools see are looked through again: what is
    missing is cut, and all of it is given to the engine anew. Searches go on meanwhile. What fails does not stop the
    rest; the exit code is 0 only if nothing did.

    \b
      findspot reindex --all
      findspot reindex --documents 1
      findspot reindex --tool 3 --tool 4 --json
    """
    if every == bool(project_ids or tool_ids):
        raise click.UsageError("Say which: '--all', or '--documents PROJECT' and '--tool N'.")
    documents = [Documents(project_id=each) for each in dict.fromkeys(project_ids)]
    tools = [Tool(tool_id=each) for each in dict.fromkeys(tool_ids)]
    if every:
        documents, tools = await _every(api)
    both = [*documents, *tools]
    await _follow(api, both)
    _tell(api, documents, tools)


async def _every(api: Api) -> tuple[list[Documents], list[Tool]]:
    """All that the key sees."""
    documents, tools = list[Documents](), list[Tool]()
    for project in (await api.call("GET", "/api/v1/projects"))["projects"]:
        if (await status_of(api, project["id"]))["documents"]:
            documents.append(Documents(project_id=project["id"], name=project["name"]))
        for tool in (await api.call("GET", f"/api/v1/projects/{project['id']}/tools"))["tools"]:
            if tool["type"] == "search":
                tools.append(Tool(tool_id=tool["id"], name=tool["name"], project_id=project["id"]))
    return documents, tools


async def _follow(api: Api, both: Sequence[_Reindexed]) -> None:
    from findspot.surfaces.cli.progress import following

    with following("Reindexing", None, unit="chunks", silent=api.as_json) as moved:
        say: Say = (lambda line: None) if api.as_json else moved.say
        for each in both:
            await _trying(each, _begin(api, each, say), say)
        while waiting := [each for each in both if each.is_open]:
            for each in waiting:
                await _trying(each, each.look(api), say)
            moved(sum(each.indexed for each in both))
            await asyncio.sleep(_LOOK_EVERY_S if any(each.is_open for each in both) else 0)


async def _trying(each: _Reindexed, step: Awaitable[None], say: Say) -> None:
    """Take a step with one of them. What goes wrong with it is noted, and the others go on."""
    try:
        await step
    except Failure as failure:
        each.fail(failure.message, failure.exit_code)
    if not each.is_open:
        say(_ended(each))


async def _begin(api: Api, each: _Reindexed, say: Say) -> None:
    await each.begin(api)
    verb = "are" if isinstance(each, Documents) else "is"
    say("… " + hang(f"{each.title} {verb} indexed anew", 2, sys.stderr))


def _ended(each: _Reindexed) -> str:
    if each.failed:
        return styled("✗ ", fg="red") + hang(f"{each.title}: {each.failed}", 2, sys.stderr)
    return done(f"{each.title}: {count(each.indexed, 'chunk')}.")


def _tell(api: Api, documents: Sequence[Documents], tools: Sequence[Tool]) -> None:
    both = [*documents, *tools]
    failed = [each for each in both if each.failed]
    well = len(both) - len(failed)
    if well or not both or api.as_json:
        value = {
            "documents": [each.value() for each in documents],
            "tools": [each.value() for each in tools],
            "failed": len(failed),
        }
        show(value, api.as_json, done(_told(documents, tools)))
    if failed:
        codes = {each.exit_code for each in failed}
        raise click.exceptions.Exit(codes.pop() if len(codes) == 1 and not well else 1)


def _told(documents: Sequence[Documents], tools: Sequence[Tool]) -> str:
    projects, seen = ([each for each in kind if not each.failed] for kind in (documents, tools))
    if not projects and not seen:
        return "There is nothing to index: no document and no search tool."
    what = [f"the documents of {count(len(projects), 'project')}"] if projects else []
    what += [count(len(seen), "search tool")] if seen else []
    chunks = count(sum(each.indexed for each in (*projects, *seen)), "chunk")
    text = f"{' and '.join(what)} indexed anew, {chunks}."
    return text[:1].upper() + text[1:]
