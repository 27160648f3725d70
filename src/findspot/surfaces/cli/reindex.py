"""`findspot reindex`: rebuild indexes and wait until they are ready."""

import asyncio
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import click

from findspot.surfaces.cli.arguments import REFERENCE
from findspot.surfaces.cli.connect import Api, indexing_command
from findspot.surfaces.cli.failure import Failure
from findspot.surfaces.cli.formatting import count
from findspot.surfaces.cli.index_status import documents_index, status_of
from findspot.surfaces.cli.printing import done, hang, show, styled

PrintLine: TypeAlias = Callable[[str], None]

# After Ctrl-C: what becomes of the rebuilds that were requested.
_ON_SERVER = "Stopped waiting: the server continues. 'findspot project status PROJECT' shows how far it is."
_WITHOUT_SERVER = "Stopped: a server continues the rebuilds. 'findspot serve' starts one."

_POLL_S = 0.2
_STABLE_S = 1.0  # a rebuild starts shortly after the request, so only a state that lasts is its result


@dataclass(kw_only=True)
class _Rebuild(ABC):
    """The rebuild of one index. `failed` is the reason if it failed."""

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
    async def start(self, api: Api) -> None: ...

    @abstractmethod
    async def poll(self, api: Api) -> None: ...

    def fail(self, message: str, exit_code: int = 1) -> None:
        self.status, self.failed, self.exit_code = "error", message, exit_code

    def value(self) -> dict[str, Any]:
        names = ("name", "project_id", "status", "chunks", "indexed", "failed")
        return {name: getattr(self, name) for name in names}


@dataclass(kw_only=True)
class Tool(_Rebuild):
    """The rebuild of a search tool's index."""

    tool_id: int

    @property
    def title(self) -> str:
        return f"Tool {self.tool_id} ({self.name})" if self.name else f"Tool {self.tool_id}"

    async def start(self, api: Api) -> None:
        if not self.name:
            tool = await api.call("GET", f"/api/v1/tools/{self.tool_id}")
            self.name, self.project_id = tool["name"], tool["project_id"]
        await api.call("POST", f"/internal/tools/{self.tool_id}/chunks/rebuild")

    async def poll(self, api: Api) -> None:
        index = await api.call("GET", f"/api/v1/tools/{self.tool_id}/search-index")
        self.status, self.chunks, self.indexed = index["status"], index["chunks_count"], index["indexed_chunks_count"]
        if self.status == "error":
            self.fail(index["last_error"] or "Indexing failed.")

    def value(self) -> dict[str, Any]:
        return {"tool_id": self.tool_id, **super().value()}


@dataclass(kw_only=True)
class Documents(_Rebuild):
    """The rebuild of a project's document index."""

    queued: bool = False  # other rebuilds of the project run first
    last_state: tuple[str, float] = ("", 0.0)  # a state, and since when

    @property
    def title(self) -> str:
        return f"Documents of project {self.project_id}" + (f" ({self.name})" if self.name else "")

    async def start(self, api: Api) -> None:
        if not self.name:
            self.name = (await api.call("GET", f"/api/v1/projects/{self.project_id}"))["name"]
        path = f"/api/v1/projects/{self.project_id}/search/fts/reindex"
        self.queued = (await api.call("POST", path, json={}))["position"] > 0

    async def poll(self, api: Api) -> None:
        status = await status_of(api, self.project_id)
        index = documents_index(status)
        state = self._state(status, index)
        stable = self._is_stable(state)
        if index is not None and (stable or state == "indexing"):  # before that, the counts are of the old index
            self.chunks, self.indexed = index["progress"]["total"], index["progress"]["done"]
        if stable:
            self.status = state
        if stable and state == "error":
            name = index["namespace"] if index else ""
            messages = (each["message"] for each in status["last_errors"] if each["namespace"] == name)
            self.fail(next(messages, "Indexing failed."))

    def _state(self, status: dict[str, Any], index: dict[str, Any] | None) -> str:
        state = str(index["status"]) if index else "ready"
        self.queued = (
            self.queued and state == "ready" and any(each["status"] == "indexing" for each in status["namespaces"])
        )
        return "pending" if self.queued else state

    def _is_stable(self, state: str) -> bool:
        now = time.monotonic()
        if state != self.last_state[0]:
            self.last_state = state, now
        return now - self.last_state[1] >= _STABLE_S


@click.command("reindex")
@click.option("--all", "every", is_flag=True, help="Documents of all projects, and all search tools.")
@click.option(
    "--documents", "project_ids", type=REFERENCE, multiple=True, metavar="PROJECT",
    help="Documents of this project; can be repeated.",
)  # fmt: skip
@click.option(
    "--tool", "tool_ids", type=REFERENCE, multiple=True, metavar="TOOL", help="This search tool; can be repeated."
)
@indexing_command
async def command(api: Api, every: bool, project_ids: Sequence[int], tool_ids: Sequence[int]) -> None:
    """Rebuild the index of documents and of search tools.

    For documents, a new index is built while the old one keeps answering. For tools, missing chunks are created and all
    chunks are sent to the engine again. Search works during a rebuild. If one rebuild fails, the others continue. The
    exit code is 0 only if all succeed.

    \b
      findspot reindex --all
      findspot reindex --documents library
      findspot reindex --tool find_books --tool 4 --json
    """
    if every == bool(project_ids or tool_ids):
        raise click.UsageError("Choose what to rebuild: '--all', or '--documents PROJECT' and '--tool TOOL'.")
    documents = [Documents(project_id=each) for each in dict.fromkeys(project_ids)]
    tools = [Tool(tool_id=each) for each in dict.fromkeys(tool_ids)]
    if every:
        documents, tools = await _find_all(api)
    try:
        await _run(api, [*documents, *tools])
    except asyncio.CancelledError:
        if not api.as_json:
            click.echo(_WITHOUT_SERVER if api.in_process else _ON_SERVER, err=True)
        raise
    _report(api, documents, tools)


async def _find_all(api: Api) -> tuple[list[Documents], list[Tool]]:
    """Return everything that the key may see."""
    documents, tools = list[Documents](), list[Tool]()
    for project in (await api.call("GET", "/api/v1/projects"))["projects"]:
        if (await status_of(api, project["id"]))["documents"]:
            documents.append(Documents(project_id=project["id"], name=project["name"]))
        for tool in (await api.call("GET", f"/api/v1/projects/{project['id']}/tools"))["tools"]:
            if tool["type"] == "search":
                tools.append(Tool(tool_id=tool["id"], name=tool["name"], project_id=project["id"]))
    return documents, tools


async def _run(api: Api, rebuilds: Sequence[_Rebuild]) -> None:
    from findspot.surfaces.cli.progress import show_progress

    with show_progress("Reindexing", None, unit="chunks", silent=api.as_json) as progress:
        print_line: PrintLine = (lambda line: None) if api.as_json else progress.print_line
        for each in rebuilds:
            await _step(each, _start(api, each, print_line), print_line)
        while running := [each for each in rebuilds if each.is_open]:
            for each in running:
                await _step(each, each.poll(api), print_line)
            progress(sum(each.indexed for each in rebuilds))
            await asyncio.sleep(_POLL_S if any(each.is_open for each in rebuilds) else 0)


async def _step(each: _Rebuild, step: Awaitable[None], print_line: PrintLine) -> None:
    """Run one step of a rebuild. If it fails, record the failure: the other rebuilds continue."""
    try:
        await step
    except Failure as failure:
        each.fail(failure.message, failure.exit_code)
    if not each.is_open:
        print_line(_result_line(each))


async def _start(api: Api, each: _Rebuild, print_line: PrintLine) -> None:
    await each.start(api)
    print_line("… " + hang(f"Rebuilding: {each.title}", 2, sys.stderr))


def _result_line(each: _Rebuild) -> str:
    if each.failed:
        return styled("✗ ", fg="red") + hang(f"{each.title}: {each.failed}", 2, sys.stderr)
    return done(f"{each.title}: {count(each.indexed, 'chunk')}.")


def _report(api: Api, documents: Sequence[Documents], tools: Sequence[Tool]) -> None:
    rebuilds = [*documents, *tools]
    failed = [each for each in rebuilds if each.failed]
    succeeded = len(rebuilds) - len(failed)
    if succeeded or not rebuilds or api.as_json:
        value = {
            "documents": [each.value() for each in documents],
            "tools": [each.value() for each in tools],
            "failed": len(failed),
        }
        show(value, api.as_json, done(_summary(documents, tools)))
    if failed:
        codes = {each.exit_code for each in failed}
        raise click.exceptions.Exit(codes.pop() if len(codes) == 1 and not succeeded else 1)


def _summary(documents: Sequence[Documents], tools: Sequence[Tool]) -> str:
    projects, ready_tools = ([each for each in kind if not each.failed] for kind in (documents, tools))
    if not projects and not ready_tools:
        return "Nothing to rebuild: there are no documents and no search tools."
    what = [f"the documents of {count(len(projects), 'project')}"] if projects else []
    what += [count(len(ready_tools), "search tool")] if ready_tools else []
    chunks = count(sum(each.indexed for each in (*projects, *ready_tools)), "chunk")
    return f"Rebuilt the index of {' and '.join(what)}: {chunks}."
