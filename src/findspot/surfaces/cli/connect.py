"""Connect a command to the API: of a running server if there is one, otherwise in this process."""

import asyncio
import contextlib
import functools
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec

import click

from findspot.runtime import messages
from findspot.surfaces.cli.arguments import ENDPOINT_URL, URL
from findspot.surfaces.cli.elapsed import show_elapsed
from findspot.surfaces.cli.failure import Failure
from findspot.surfaces.cli.formatting import size
from findspot.surfaces.cli.language import language_header
from findspot.surfaces.cli.naming import with_ids
from findspot.surfaces.cli.opening import open_api, opening_failures, read_settings, require_data

if TYPE_CHECKING:
    import httpx2

    from findspot.settings import Settings

P = ParamSpec("P")
_FOLDER_WAIT_S, _POLL_S = 15.0, 0.05
_RESPONSE_S, _CONNECT_S = 300, 5
_UNREACHABLE = "Is it running? 'findspot serve' starts it; 'findspot doctor' checks the installation."


@dataclass(frozen=True, slots=True)
class Target:
    """Where the API is: its URL, the token to use, and the transport if it runs in this process."""

    url: str
    token: str | None
    transport: "httpx2.AsyncBaseTransport | None" = None


class Api:
    """The API for commands: a call returns the response, or raises a Failure."""

    def __init__(self, client: "httpx2.AsyncClient", as_json: bool, in_process: bool, where: str) -> None:
        self._client = client
        self.where = where  # the URL, or the data folder, as given: what a command used last is kept for it
        self.as_json = as_json
        self.language = messages.language(client.headers.get("Accept-Language"))
        self.in_process = in_process  # no server is running, so nothing is being indexed

    async def call(self, method: str, path: str, **options: Any) -> Any:
        """Call a route and return its decoded JSON response."""
        response = await self.raw(method, path, **options)
        if not response.content:
            return None
        try:
            return response.json()
        except ValueError:
            raise self._not_findspot(response) from None

    async def raw(self, method: str, path: str, **options: Any) -> "httpx2.Response":
        """Call a route and return its response."""
        import httpx2

        try:
            async with show_elapsed(_activity(method, options), silent=self.as_json):
                response = await self._client.request(method, path, **options)
        except (httpx2.TransportError, httpx2.InvalidURL) as error:
            raise self._unreachable(error) from None
        if not response.is_success:
            raise self._error_response(response)
        return response

    @contextlib.asynccontextmanager
    async def stream(self, method: str, path: str, **options: Any) -> "AsyncIterator[httpx2.Response]":
        """Call a route and yield its response while it arrives: it may be of any length."""
        import httpx2

        try:
            async with self._client.stream(method, path, **options) as response:
                if not response.is_success:
                    await response.aread()
                    raise self._error_response(response)
                yield response
        except (httpx2.TransportError, httpx2.InvalidURL) as error:
            raise self._unreachable(error) from None

    def _unreachable(self, error: Exception) -> Failure:
        reason = str(error) or type(error).__name__
        return Failure(f"The server at {self._client.base_url} does not answer: {reason}.", _UNREACHABLE, 7)

    def _error_response(self, response: "httpx2.Response") -> Failure:
        try:
            body = response.json()
        except ValueError:
            return self._not_findspot(response)
        if not isinstance(body, dict) or "code" not in body:
            return self._not_findspot(response)
        return Failure.from_response(response.status_code, body)

    def _not_findspot(self, response: "httpx2.Response") -> Failure:
        message = f"The server at {self._client.base_url} is not Findspot (status {response.status_code})."
        return Failure(message, "Check --url or FINDSPOT_URL.", 7)


def _activity(method: str, options: dict[str, Any]) -> str:
    content = options.get("content")
    if content:
        return f"Sending {size(len(content))}"
    return "Reading" if method == "GET" else "Working"


def api_command(
    function: Callable[Concatenate[Api, P], Awaitable[None]],
) -> Callable[..., None]:
    """Turn an async function that takes an Api into a command with the common options."""
    return _command(function)


def creating_command(
    function: Callable[Concatenate[Api, P], Awaitable[None]],
) -> Callable[..., None]:
    """Like api_command, but create the data folder if it does not exist."""
    return _command(function, creates=True)


def indexing_command(
    function: Callable[Concatenate[Api, P], Awaitable[None]],
) -> Callable[..., None]:
    """Like api_command, but if no server is running, run the index worker until the command ends."""
    return _command(function, worker=True)


def _command(
    function: Callable[Concatenate[Api, P], Awaitable[None]], *, worker: bool = False, creates: bool = False
) -> Callable[..., None]:
    @click.option("--json", "as_json", is_flag=True, help="Print JSON.")
    @click.option(
        "--url", type=URL, envvar="FINDSPOT_URL", metavar="URL", help="URL of a remote server (FINDSPOT_URL)."
    )
    @click.option("--key", envvar="FINDSPOT_KEY", metavar="KEY", help="Key to use (FINDSPOT_KEY).")
    @click.option("--data", type=click.Path(path_type=Path), metavar="DIR", help="The data folder (FINDSPOT_DATA).")
    @functools.wraps(function)
    def run(*args: Any, as_json: bool, url: str | None, key: str | None, data: Path | None, **kwargs: Any) -> None:
        async def call() -> None:
            async with opened_api(url, key, data, as_json=as_json, worker=worker, creates=creates) as api:
                await function(api, *args, **await with_ids(api, kwargs))

        asyncio.run(call())

    return run


@contextlib.asynccontextmanager
async def opened_api(
    url: str | None,
    key: str | None,
    data: Path | None,
    *,
    as_json: bool,
    worker: bool = False,
    creates: bool = False,
) -> AsyncIterator[Api]:
    """Give the API of a remote server, of the server that owns the data folder, or opened in this process."""
    import httpx2

    if url and ENDPOINT_URL.fullmatch(url):
        server, _, _ = url.rpartition("/mcp/")
        raise Failure(f"{url} is the URL of an endpoint.", f"The URL of its server is {server}", 2)
    async with contextlib.AsyncExitStack() as closing:
        target = Target(url, key) if url else running_server(data)
        if target is None:
            settings = read_settings(data)
            if not creates:
                require_data(settings)
            async with show_elapsed("Opening the data folder", silent=as_json):
                target = await _resolve(settings, closing, worker)
        client = await closing.enter_async_context(
            httpx2.AsyncClient(
                base_url=target.url,
                headers=bearer(key or target.token) | language_header(),
                timeout=httpx2.Timeout(_RESPONSE_S, connect=_CONNECT_S),
                transport=target.transport,
                verify=target.url.startswith("https:"),  # loading certificates is slow
                trust_env=False,
            )
        )
        where = url.rstrip("/") if url else str(_data_folder(data).resolve())
        yield Api(client, as_json, target.transport is not None, where)


def running_server(data: Path | None) -> Target | None:
    """Return the server that owns the data folder, if its token can be read too.

    This reads two variables and two files only: checking every setting would take longer than a search.
    """
    from findspot.runtime.data_folder import owner_of
    from findspot.runtime.owner_token import kept

    variables = _variables()
    if "FINDSPOT_ENGINE" in variables:  # with a shared engine no server owns the folder
        return None
    folder = _data_folder(data)
    try:
        owner = owner_of(folder)
        token = variables.get("FINDSPOT_TOKEN") or kept(folder)
    except (OSError, UnicodeDecodeError):  # reported when the folder is opened
        return None
    return Target(owner.url, token) if owner and owner.url and token else None


def _data_folder(data: Path | None) -> Path:
    return data or Path(_variables().get("FINDSPOT_DATA", ".findspot"))


def _variables() -> dict[str, str]:
    """Return the environment as the settings read it: in any case, without empty values."""
    return {name.upper(): value for name, value in os.environ.items() if value}


async def _resolve(settings: "Settings", closing: contextlib.AsyncExitStack, worker: bool) -> Target:
    """Return the server that owns the data folder, or open the API here, which then owns the folder until it closes."""
    from findspot.runtime.data_folder import FolderInUse, owner_of
    from findspot.runtime.owner_token import owner_token

    deadline = time.monotonic() + _FOLDER_WAIT_S
    while True:
        with opening_failures(settings):
            owner = None if settings.shared else owner_of(settings.data)
            if owner is not None and owner.url:
                return Target(owner.url, owner_token(settings))
            try:
                return await _open_here(settings, closing, worker)
            except FolderInUse as busy:  # another command is using it, or a server is starting
                if time.monotonic() > deadline:
                    raise Failure(str(busy), exit_code=7) from None
        await asyncio.sleep(_POLL_S)


async def _open_here(settings: "Settings", closing: contextlib.AsyncExitStack, worker: bool) -> Target:
    from findspot.runtime import logs
    from findspot.surfaces.cli.inprocess import InProcess

    logs.configure("error", settings.log_format)
    api = await open_api(settings, closing, worker=worker)
    url = settings.url(settings.port)  # of the server that may run later: shown as the URL of endpoints
    return Target(url, api.state.app.token, InProcess(api))


def bearer(key: str | None) -> dict[str, str]:
    """Return the Authorization header for a key."""
    if not key:
        return {}
    if not key.isascii() or not key.isprintable():
        raise Failure(
            "This is not a key: it contains characters that no key has.", "Give it with --key or FINDSPOT_KEY.", 4
        )
    return {"Authorization": f"Bearer {key}"}
