"""`findspot mcp`: the way from desktop clients to an endpoint."""

import asyncio
from typing import TYPE_CHECKING

import click

from findspot.surfaces.cli.arguments import ADDRESS
from findspot.surfaces.cli.clients import CLIENTS, Entry, client_of
from findspot.surfaces.cli.connect import bearer
from findspot.surfaces.cli.groups import Group
from findspot.surfaces.cli.outcome import Failure
from findspot.surfaces.cli.printing import done, show

if TYPE_CHECKING:
    import httpx2

_ANSWER_S, _CONNECT_S = 300, 5
_KNOCK = {"jsonrpc": "2.0", "id": 0, "method": "ping"}

_URL = click.option(
    "--url", type=ADDRESS, envvar="FINDSPOT_URL", metavar="URL", help="The endpoint's address (FINDSPOT_URL)."
)
_KEY = click.option("--key", envvar="FINDSPOT_KEY", metavar="KEY", help="The endpoint's key (FINDSPOT_KEY).")


@click.group(cls=Group, invoke_without_command=True)
@_URL
@_KEY
@click.pass_context
def command(ctx: click.Context, url: str | None, key: str | None) -> None:
    """Connect a desktop client to an endpoint: MCP on standard input and output.

    The client starts this command itself; 'findspot mcp install' writes that into its configuration.
    """
    if ctx.invoked_subcommand is None:
        asyncio.run(_bridge(*_both(url, key)))


@command.command()
@click.argument("client", type=click.Choice(list(CLIENTS)), metavar="CLIENT")
@_URL
@_KEY
@click.option("--name", default="findspot", show_default=True, metavar="NAME", help="What the client calls it.")
@click.option("--print", "print_", is_flag=True, help="Only print what would be written.")
@click.option("--remove", is_flag=True, help="Take it out again.")
@click.option("--json", "as_json", is_flag=True, help="Output for machines.")
def install(
    client: str, url: str | None, key: str | None, name: str, print_: bool, remove: bool, as_json: bool
) -> None:
    """Write an endpoint into the configuration of a client. What else stands there stays.

    CLIENT is claude-code, claude-desktop, cursor, vscode or codex.
    """
    config = client_of(client, name)
    if remove:
        removed = config.remove()
        text = f"{config.file} no longer names '{name}'." if removed else f"{config.file} does not name '{name}'."
        show({"client": client, "file": str(config.file), "removed": removed}, as_json, done(text))
        return
    entry = Entry(*_both(url, key))
    if print_:
        written = config.shown(entry)
        show({"client": client, "file": str(config.file), "text": written}, as_json, written)
        return
    config.write(entry)
    text = f"{config.file} names '{name}' now. Restart {CLIENTS[client]} to see its tools."
    show({"client": client, "file": str(config.file), "name": name}, as_json, done(text))


def _both(url: str | None, key: str | None) -> tuple[str, str]:
    if not url or not key:
        missing = " and ".join(option for option, given in (("--url", url), ("--key", key)) if not given)
        raise Failure(f"{missing} must be given.", "An endpoint's address and key are shown when it is made.", 2)
    bearer(key)
    return url, key


async def _bridge(url: str, key: str) -> None:
    import httpx2

    from findspot.surfaces.mcp import bridge

    timeout = httpx2.Timeout(_ANSWER_S, connect=_CONNECT_S)
    verify = url.startswith("https:")  # loading certificates that no one asks for takes a while
    async with httpx2.AsyncClient(headers=bearer(key), timeout=timeout, verify=verify, trust_env=False) as http:
        await _knock(url, http)
        await bridge.run(url, http)


async def _knock(url: str, http: "httpx2.AsyncClient") -> None:
    """Whether an endpoint answers there and takes the key; told here, since a client hides what comes later."""
    import httpx2

    try:
        answer = await http.post(url, json=_KNOCK, headers={"Accept": "application/json, text/event-stream"})
        refused = answer.json() if answer.headers.get("content-type", "").startswith("application/json") else {}
    except (httpx2.TransportError, httpx2.InvalidURL) as error:
        reason = str(error) or type(error).__name__
        raise Failure(f"The server at {url} does not answer: {reason}.", "Is 'findspot serve' running?", 7) from None
    if isinstance(refused, dict) and "code" in refused:
        raise Failure.from_answer(answer.status_code, refused)
    if not answer.is_success:
        raise Failure(f"What answers at {url} ({answer.status_code}) is no endpoint of Findspot.", "Check --url.", 7)
