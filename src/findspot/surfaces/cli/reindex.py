"""`findspot reindex`"""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass

import click

from findspot.surfaces.cli.connect import Api, indexing_command
from findspot.surfaces.cli.outcome import Failure
from findspot.surfaces.cli.printing import done, hang, show, styled
from findspot.surfaces.cli.wording import count

_LOOK_EVERY_S = 0.2


@dataclass
class Reindexed:
    """How far one search tool is. `failed` says why it cannot be done, if it cannot."""

    tool_id: int
    name: str = ""
    project_id: int = 0
    status: str = "pending"
    chunks: int = 0
    indexed: int = 0
    failed: str | None = None
    exit_code: int = 0

    def fail(self, message: str, exit_code: int = 1) -> None:
        self.status, self.failed, self.exit_code = "error", message, exit_code

    @property
    def title(self) -> str:
        return f"Tool {self.tool_id} ({self.name})" if self.name else f"Tool {self.tool_id}"

    @property
    def is_open(self) -> bool:
        return self.status not in ("ready", "error")


@click.command("reindex")
@click.option("--all", "every", is_flag=True, help="Every search tool that the key sees.")
@click.option("--tool", "tool_ids", type=int, multiple=True, metavar="N", help="This search tool; may be given again.")
@indexing_command
async def command(api: Api, every: bool, tool_ids: Sequence[int]) -> None:
    """Index what search tools see anew.

    Texts are looked through again: what is missing is cut, and all of it is given to the engine anew. Searches go on
    meanwhile. A tool that fails does not stop the others; the exit code is 0 only if none did.

    \b
      findspot reindex --tool 3
      findspot reindex --all --json
    """
    if every == bool(tool_ids):
        raise click.UsageError("Say which: '--all', or '--tool N'.")
    tools = [Reindexed(each) for each in dict.fromkeys(tool_ids)] if tool_ids else await _every(api)
    for tool in tools:
        await _trying(tool, _begin, api)
    await _follow(api, tools)
    _tell(api, tools)


async def _every(api: Api) -> list[Reindexed]:
    found: list[Reindexed] = []
    for project in (await api.call("GET", "/api/v1/projects"))["projects"]:
        for tool in (await api.call("GET", f"/api/v1/projects/{project['id']}/tools"))["tools"]:
            if tool["type"] == "search":
                found.append(Reindexed(tool["id"], tool["name"], project["id"]))
    return found


async def _trying(tool: Reindexed, step: Callable[[Api, Reindexed], Awaitable[None]], api: Api) -> None:
    """Take a step with one tool. What goes wrong with it is noted, and the others go on."""
    try:
        await step(api, tool)
    except Failure as failure:
        tool.fail(failure.message, failure.exit_code)
    if not tool.is_open and not api.as_json:
        _tell_end(tool)


async def _begin(api: Api, tool: Reindexed) -> None:
    if not tool.name:
        known = await api.call("GET", f"/api/v1/tools/{tool.tool_id}")
        tool.name, tool.project_id = known["name"], known["project_id"]
    await api.call("POST", f"/internal/tools/{tool.tool_id}/chunks/rebuild")
    if not api.as_json:
        click.echo("… " + hang(f"{tool.title} is indexed anew", 2, sys.stderr), err=True)


async def _look(api: Api, tool: Reindexed) -> None:
    index = await api.call("GET", f"/api/v1/tools/{tool.tool_id}/search-index")
    tool.status, tool.chunks, tool.indexed = index["status"], index["chunks_count"], index["indexed_chunks_count"]
    if tool.status == "error":
        tool.fail(index["last_error"] or "It could not be indexed.")


async def _follow(api: Api, tools: Sequence[Reindexed]) -> None:
    from findspot.surfaces.cli.progress import following

    with following("Reindexing", None, unit="chunks", silent=api.as_json) as moved:
        while waiting := [tool for tool in tools if tool.is_open]:
            for tool in waiting:
                await _trying(tool, _look, api)
            moved(sum(tool.indexed for tool in tools))
            await asyncio.sleep(_LOOK_EVERY_S if any(tool.is_open for tool in tools) else 0)


def _tell_end(tool: Reindexed) -> None:
    if tool.failed:
        click.echo(styled("✗ ", fg="red") + hang(f"{tool.title}: {tool.failed}", 2, sys.stderr), err=True)
    else:
        click.echo(done(f"{tool.title}: {count(tool.indexed, 'chunk')}."), err=True)


def _tell(api: Api, tools: Sequence[Reindexed]) -> None:
    failed = [tool for tool in tools if tool.failed]
    well = len(tools) - len(failed)
    answer = [{name: value for name, value in asdict(tool).items() if name != "exit_code"} for tool in tools]
    chunks = count(sum(tool.indexed for tool in tools if not tool.failed), "chunk")
    if well or not tools or api.as_json:
        told = done(f"{count(well, 'search tool')} indexed anew, {chunks}.")
        show({"tools": answer, "failed": len(failed)}, api.as_json, told)
    if failed:
        codes = {tool.exit_code for tool in failed}
        raise click.exceptions.Exit(codes.pop() if len(codes) == 1 and not well else 1)
