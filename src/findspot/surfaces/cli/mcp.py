"""`findspot mcp`: connect desktop clients to an endpoint."""

import asyncio
import json
import os
from typing import TYPE_CHECKING, Any

import click

from findspot.surfaces.cli.arguments import ENDPOINT_URL, URL
from findspot.surfaces.cli.connect import bearer
from findspot.surfaces.cli.failure import Failure
from findspot.surfaces.cli.formatting import count
from findspot.surfaces.cli.groups import Group
from findspot.surfaces.cli.mcp_clients import CLIENTS, Entry, client_of, free_name, name_of
from findspot.surfaces.cli.printing import done, show, table_of

if TYPE_CHECKING:
    import httpx2

_RESPONSE_S, _CONNECT_S = 300, 5
UNAUTHORIZED = 401


class Unreachable(Failure):
    """The server does not answer."""


_PING = {"jsonrpc": "2.0", "id": 0, "method": "ping"}


_URL = click.option(
    "--url", type=URL, envvar="FINDSPOT_MCP_URL", metavar="URL", help="URL of the endpoint (FINDSPOT_MCP_URL).",
)  # fmt: skip
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
    "--name",
    metavar="NAME",
    help="Name of the endpoint in the client. Default: findspot, or findspot-2 for endpoint 2.",
)
@click.option("--no-check", is_flag=True, help="Do not check URL and key with the server.")
@click.option("--print", "print_", is_flag=True, help="Print the configuration instead of writing it.")
@click.option("--remove", is_flag=True, help="Remove the endpoint with this --name or --url, by default 'findspot'.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def install(
    client: str, url: str | None, key: str | None, name: str | None, no_check: bool, print_: bool, remove: bool,
    as_json: bool,
) -> None:  # fmt: skip
    """Add an endpoint to the configuration of a client. Its other entries and settings are kept.

    CLIENT is claude-code, claude-desktop, cursor, vscode or codex.
    """
    config = client_of(client, name or "findspot")
    if remove:
        config = client_of(client, name or name_of(config.entries(), url) or "findspot")
        removed = config.remove()
        text = f"Removed '{config.name}' from {config.file}."
        text = text if removed else f"{config.file} has no entry '{config.name}'."
        show({"client": client, "file": str(config.file), "removed": removed}, as_json, done(text))
        return
    entry = Entry(*_url_and_key(url, key))
    entries = config.entries()
    config = client_of(client, name or free_name(entries, entry.url))
    if print_:
        written = config.render(entry)
        show({"client": client, "file": str(config.file), "text": written}, as_json, written)
        return
    if not no_check:
        asyncio.run(_check(entry))
    config.write(entry)
    text = f"{_change(entries.get(config.name), entry, config.name)} in {config.file}."
    if entries.get(config.name) != entry:
        text += f" Restart {CLIENTS[client]} to see its tools."
    show({"client": client, "file": str(config.file), "name": config.name}, as_json, done(text))


def _change(before: Entry | None, after: Entry, name: str) -> str:
    if before is None:
        return f"Added '{name}'"
    if before.url != after.url:
        return f"Changed '{name}' from {before.url} to {after.url}"
    return f"'{name}' was there already" if before.key == after.key else f"Changed the key of '{name}'"


@command.command()
@_URL
@_KEY
@click.option(
    "--query", default="", metavar="TEXT", help="What to search for. Default: words of the first tool's name."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def test(url: str | None, key: str | None, query: str, as_json: bool) -> None:
    """List the tools of an endpoint and run one search, the way a client does."""
    asyncio.run(_test(Entry(*_url_and_key(url, key)), query, as_json))


async def _test(entry: Entry, query: str, as_json: bool) -> None:
    from mcp.client.client import Client
    from mcp.client.streamable_http import streamable_http_client

    from findspot import tokens

    async with _http(entry) as http:
        await _ping(entry.url, http)
        async with Client(streamable_http_client(entry.url, http_client=http)) as client:
            tools = (await client.list_tools()).tools
            search = next((tool for tool in tools if "top_k" in tool.input_schema.get("properties", {})), None)
            answer = await client.call_tool(search.name, {"query": query or search.name}) if search else None
    shown = [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools]
    rows = [(tool["name"], tokens.count(_json(tool)), tool["description"]) for tool in shown]
    found: dict[str, Any] = {"tools": shown, "tokens": sum(row[1] for row in rows), "search": None}
    lines = [f"{count(len(rows), 'tool')}, {count(found['tokens'], 'token')}."]
    lines += [table_of(("tool", "tokens", "description"), rows)] if rows else []
    if search and answer:
        text = "".join(block.text for block in answer.content if block.type == "text")
        found["search"] = {"tool": search.name, "error": bool(answer.is_error), "text": text}
        lines += [f"{search.name} answered with {count(tokens.count(text), 'token')}:", text]
    show(found, as_json, "\n\n".join(lines))
    if answer and answer.is_error:
        raise Failure("The search failed.")


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _url_and_key(url: str | None, key: str | None) -> tuple[str, str]:
    if not url or not key:
        missing = " and ".join(option for option, given in (("--url", url), ("--key", key)) if not given)
        advice = "'findspot endpoint create' prints the URL and the key of an endpoint."
        if not url and ENDPOINT_URL.fullmatch(os.environ.get("FINDSPOT_URL", "")):
            advice = "FINDSPOT_URL is the URL of the server. Put the URL of the endpoint into FINDSPOT_MCP_URL."
        raise Failure(f"{missing} must be given.", advice, 2)
    bearer(key)
    if not ENDPOINT_URL.fullmatch(url):
        advice = "It ends in /mcp/ and the id: 'findspot endpoint list' shows it. FINDSPOT_URL is the server's URL."
        raise Failure(f"{url} is not the URL of an endpoint.", advice, 2)
    return url, key


def _http(entry: Entry) -> "httpx2.AsyncClient":
    import httpx2

    timeout = httpx2.Timeout(_RESPONSE_S, connect=_CONNECT_S)
    verify = entry.url.startswith("https:")  # loading certificates is slow
    return httpx2.AsyncClient(headers=bearer(entry.key), timeout=timeout, verify=verify, trust_env=False)


async def _check(entry: Entry) -> None:
    """Check that the endpoint answers and accepts the key."""
    async with _http(entry) as http:
        await _ping(entry.url, http)


async def _bridge(url: str, key: str) -> None:
    """Run the bridge, and check the endpoint meanwhile: a server that is down or slow must not delay the client.

    A server that is down may come up later. A wrong key ends the bridge, because the client hides later errors.
    """
    from findspot.surfaces.mcp import bridge

    async with _http(Entry(url, key)) as http:
        serving = asyncio.create_task(bridge.run(url, http))
        try:
            await _ping(url, http)
        except Unreachable as failure:
            click.echo(f"{failure.message} Calls are answered when it is back.", err=True)
        except Failure:
            serving.cancel()
            raise
        await serving


async def _ping(url: str, http: "httpx2.AsyncClient") -> None:
    """Check that the endpoint answers and accepts the key. Later errors would be hidden by the client."""
    import httpx2

    try:
        response = await http.post(url, json=_PING, headers={"Accept": "application/json, text/event-stream"})
        error = response.json() if response.headers.get("content-type", "").startswith("application/json") else {}
    except (httpx2.TransportError, httpx2.InvalidURL) as failure:
        reason = str(failure) or type(failure).__name__
        raise Unreachable(
            f"The server at {url} does not answer: {reason}.", "Is 'findspot serve' running?", 7
        ) from None
    if response.status_code == UNAUTHORIZED:
        advice = "'findspot endpoint list' shows the URLs, and 'findspot endpoint rotate-key' makes a new key."
        raise Failure(f"There is no endpoint with this key at {url}.", advice, 4)
    if isinstance(error, dict) and "code" in error:
        raise Failure.from_response(response.status_code, error)
    if not response.is_success:
        raise Failure(f"{url} is not an endpoint of Findspot (status {response.status_code}).", "Check --url.", 7)
