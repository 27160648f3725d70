"""`findspot mcp`: connect desktop clients to an endpoint."""

import asyncio
from typing import TYPE_CHECKING

import click

from findspot.surfaces.cli.arguments import URL
from findspot.surfaces.cli.connect import bearer
from findspot.surfaces.cli.failure import Failure
from findspot.surfaces.cli.groups import Group
from findspot.surfaces.cli.mcp_clients import CLIENTS, Entry, client_of
from findspot.surfaces.cli.printing import done, show

if TYPE_CHECKING:
    import httpx2

_RESPONSE_S, _CONNECT_S = 300, 5
_PING = {"jsonrpc": "2.0", "id": 0, "method": "ping"}

_URL = click.option("--url", type=URL, envvar="FINDSPOT_URL", metavar="URL", help="URL of the endpoint (FINDSPOT_URL).")
_KEY = click.option("--key", envvar="FINDSPOT_KEY", metavar="KEY", help="Key of the endpoint (FINDSPOT_KEY).")


@click.group(cls=Group, invoke_without_command=True)
@_URL
@_KEY
@click.pass_context
def command(ctx: click.Context, url: str | None, key: str | None) -> None:
    """Connect a desktop client to an endpoint: MCP on standard input and output.

    The client starts this command. 'findspot mcp install' adds it to the configuration of the client.
    """
    if ctx.invoked_subcommand is None:
        asyncio.run(_bridge(*_url_and_key(url, key)))


@command.command()
@click.argument("client", type=click.Choice(list(CLIENTS)), metavar="CLIENT")
@_URL
@_KEY
@click.option(
    "--name", default="findspot", show_default=True, metavar="NAME", help="Name of the endpoint in the client."
)
@click.option("--print", "print_", is_flag=True, help="Print the configuration instead of writing it.")
@click.option("--remove", is_flag=True, help="Remove the endpoint from the configuration.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def install(
    client: str, url: str | None, key: str | None, name: str, print_: bool, remove: bool, as_json: bool
) -> None:
    """Add an endpoint to the configuration of a client. Its other settings are kept.

    CLIENT is claude-code, claude-desktop, cursor, vscode or codex.
    """
    config = client_of(client, name)
    if remove:
        removed = config.remove()
        text = f"Removed '{name}' from {config.file}." if removed else f"{config.file} has no entry '{name}'."
        show({"client": client, "file": str(config.file), "removed": removed}, as_json, done(text))
        return
    entry = Entry(*_url_and_key(url, key))
    if print_:
        written = config.render(entry)
        show({"client": client, "file": str(config.file), "text": written}, as_json, written)
        return
    config.write(entry)
    text = f"Added '{name}' to {config.file}. Restart {CLIENTS[client]} to see its tools."
    show({"client": client, "file": str(config.file), "name": name}, as_json, done(text))


def _url_and_key(url: str | None, key: str | None) -> tuple[str, str]:
    if not url or not key:
        missing = " and ".join(option for option, given in (("--url", url), ("--key", key)) if not given)
        raise Failure(
            f"{missing} must be given.", "'findspot endpoint create' prints the URL and the key of an endpoint.", 2
        )
    bearer(key)
    return url, key


async def _bridge(url: str, key: str) -> None:
    import httpx2

    from findspot.surfaces.mcp import bridge

    timeout = httpx2.Timeout(_RESPONSE_S, connect=_CONNECT_S)
    verify = url.startswith("https:")  # loading certificates is slow
    async with httpx2.AsyncClient(headers=bearer(key), timeout=timeout, verify=verify, trust_env=False) as http:
        await _ping(url, http)
        await bridge.run(url, http)


async def _ping(url: str, http: "httpx2.AsyncClient") -> None:
    """Check that the endpoint answers and accepts the key. Later errors would be hidden by the client."""
    import httpx2

    try:
        response = await http.post(url, json=_PING, headers={"Accept": "application/json, text/event-stream"})
        error = response.json() if response.headers.get("content-type", "").startswith("application/json") else {}
    except (httpx2.TransportError, httpx2.InvalidURL) as failure:
        reason = str(failure) or type(failure).__name__
        raise Failure(f"The server at {url} does not answer: {reason}.", "Is 'findspot serve' running?", 7) from None
    if isinstance(error, dict) and "code" in error:
        raise Failure.from_response(response.status_code, error)
    if not response.is_success:
        raise Failure(f"{url} is not an endpoint of Findspot (status {response.status_code}).", "Check --url.", 7)
