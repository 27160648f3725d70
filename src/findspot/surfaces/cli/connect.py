"""The way from a command to the API: a running server if there is one, otherwise the same API in this process."""

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
from findspot.surfaces.cli.arguments import ADDRESS
from findspot.surfaces.cli.language import accepted
from findspot.surfaces.cli.opening import open_api, read_settings, require_data, said_plainly
from findspot.surfaces.cli.outcome import Failure
from findspot.surfaces.cli.waiting import patience
from findspot.surfaces.cli.wording import size

if TYPE_CHECKING:
    import httpx2

    from findspot.settings import Settings

P = ParamSpec("P")
_BUSY_S = 15.0
_ANSWER_S, _CONNECT_S = 300, 5
_UNREACHABLE = "Is it running? 'findspot serve' starts it; 'findspot doctor' looks for what is wrong."


@dataclass(frozen=True, slots=True)
class Way:
    """How the API is reached: an address, what opens it, and the door when it stands in this process."""

    url: str
    token: str | None
    transport: "httpx2.AsyncBaseTransport | None" = None


class Api:
    """The API as a command sees it: a call answers, or raises a Failure."""

    def __init__(self, client: "httpx2.AsyncClient", as_json: bool, alone: bool) -> None:
        self._client = client
        self.as_json = as_json
        self.language = messages.language(client.headers.get("Accept-Language"))
        self.alone = alone  # the API stands in this process: no server runs, and so no one indexes anything

    async def call(self, method: str, path: str, **options: Any) -> Any:
        """Call a route and decode its JSON answer."""
        answer = await self.raw(method, path, **options)
        if not answer.content:
            return None
        try:
            return answer.json()
        except ValueError:
            raise self._stranger(answer) from None

    async def raw(self, method: str, path: str, **options: Any) -> "httpx2.Response":
        """Call a route and give the answer as it came."""
        import httpx2

        try:
            async with patience(_doing(method, options), silent=self.as_json):
                answer = await self._client.request(method, path, **options)
        except (httpx2.TransportError, httpx2.InvalidURL) as error:
            raise self._silence(error) from None
        if not answer.is_success:
            raise self._refusal(answer)
        return answer

    @contextlib.asynccontextmanager
    async def stream(self, method: str, path: str, **options: Any) -> "AsyncIterator[httpx2.Response]":
        """Call a route and give its answer before all of it is there: it may be of any length."""
        import httpx2

        try:
            async with self._client.stream(method, path, **options) as answer:
                if not answer.is_success:
                    await answer.aread()
                    raise self._refusal(answer)
                yield answer
        except (httpx2.TransportError, httpx2.InvalidURL) as error:
            raise self._silence(error) from None

    def _silence(self, error: Exception) -> Failure:
        reason = str(error) or type(error).__name__
        return Failure(f"The server at {self._client.base_url} does not answer: {reason}.", _UNREACHABLE, 7)

    def _refusal(self, answer: "httpx2.Response") -> Failure:
        try:
            body = answer.json()
        except ValueError:
            return self._stranger(answer)
        if not isinstance(body, dict) or "code" not in body:
            return self._stranger(answer)
        return Failure.from_answer(answer.status_code, body)

    def _stranger(self, answer: "httpx2.Response") -> Failure:
        """Something else than Findspot listens there."""
        message = f"What answers at {self._client.base_url} ({answer.status_code}) does not speak as Findspot does."
        return Failure(message, "Check --url or FINDSPOT_URL.", 7)


def _doing(method: str, options: dict[str, Any]) -> str:
    content = options.get("content")
    if content:
        return f"Sending {size(len(content))}"
    return "Reading" if method == "GET" else "Working"


def api_command(
    function: Callable[Concatenate[Api, P], Awaitable[None]],
) -> Callable[..., None]:
    """Turn an async function over the API into a command with the options that all of them share."""
    return _command(function)


def first_command(
    function: Callable[Concatenate[Api, P], Awaitable[None]],
) -> Callable[..., None]:
    """The same, and it may be the first one: a data folder that is not there is made."""
    return _command(function, makes=True)


def indexing_command(
    function: Callable[Concatenate[Api, P], Awaitable[None]],
) -> Callable[..., None]:
    """The same, and where no server is running, what waits to be indexed is indexed for as long as it runs."""
    return _command(function, worker=True)


def _command(
    function: Callable[Concatenate[Api, P], Awaitable[None]], *, worker: bool = False, makes: bool = False
) -> Callable[..., None]:
    @click.option("--json", "as_json", is_flag=True, help="Output for machines.")
    @click.option(
        "--url", type=ADDRESS, envvar="FINDSPOT_URL", metavar="URL", help="A server elsewhere (FINDSPOT_URL)."
    )
    @click.option("--key", envvar="FINDSPOT_KEY", metavar="KEY", help="The key to use (FINDSPOT_KEY).")
    @click.option("--data", type=click.Path(path_type=Path), metavar="DIR", help="The data folder (FINDSPOT_DATA).")
    @functools.wraps(function)
    def run(*args: Any, as_json: bool, url: str | None, key: str | None, data: Path | None, **kwargs: Any) -> None:
        async def work() -> None:
            async with _opened(url, key, data, as_json, worker, makes) as api:
                await function(api, *args, **kwargs)

        asyncio.run(work())

    return run


@contextlib.asynccontextmanager
async def _opened(
    url: str | None, key: str | None, data: Path | None, as_json: bool, worker: bool, makes: bool
) -> AsyncIterator[Api]:
    import httpx2

    async with contextlib.AsyncExitStack() as closing:
        way = Way(url, key) if url else _running(data)
        if way is None:
            settings = read_settings(data)
            if not makes:
                require_data(settings)
            async with patience("Opening the data folder", silent=as_json):
                way = await _reach(settings, closing, worker)
        client = await closing.enter_async_context(
            httpx2.AsyncClient(
                base_url=way.url,
                headers=bearer(key or way.token) | accepted(),
                timeout=httpx2.Timeout(_ANSWER_S, connect=_CONNECT_S),
                transport=way.transport,
                verify=way.url.startswith("https:"),  # loading certificates that no one asks for takes a while
                trust_env=False,
            )
        )
        yield Api(client, as_json, alone=way.transport is not None)


def _running(data: Path | None) -> Way | None:
    """The server that owns the data folder, if its token is there too. Only what leads to it is read: to check every
    setting takes longer than a search."""
    from findspot.runtime.data_folder import owner_of
    from findspot.runtime.owner_token import kept

    given = {name.upper(): value for name, value in os.environ.items() if value}
    if "FINDSPOT_ENGINE" in given:  # it may be one for which no one owns a folder
        return None
    folder = data or Path(given.get("FINDSPOT_DATA", ".findspot"))
    try:
        owner = owner_of(folder)
        token = given.get("FINDSPOT_TOKEN") or kept(folder)
    except (OSError, UnicodeDecodeError):  # told by whoever opens the folder
        return None
    return Way(owner.url, token) if owner and owner.url and token else None


async def _reach(settings: "Settings", closing: contextlib.AsyncExitStack, worker: bool) -> Way:
    """The server that owns the data folder, or the API opened here, which then owns it for as long as it takes."""
    from findspot.runtime.data_folder import FolderInUse, owner_of
    from findspot.runtime.owner_token import owner_token

    deadline = time.monotonic() + _BUSY_S
    while True:
        with said_plainly(settings):
            owner = None if settings.shared else owner_of(settings.data)
            if owner is not None and owner.url:
                return Way(owner.url, owner_token(settings))
            try:
                return await _open_here(settings, closing, worker)
            except FolderInUse as busy:  # another command has it for a moment, or a server is just starting
                if time.monotonic() > deadline:
                    raise Failure(str(busy), exit_code=7) from None
        await asyncio.sleep(0.05)


async def _open_here(settings: "Settings", closing: contextlib.AsyncExitStack, worker: bool) -> Way:
    from findspot.runtime import logs
    from findspot.surfaces.cli.inprocess import InProcess

    logs.configure("error", settings.log_format)
    api = await open_api(settings, closing, worker=worker)
    address = settings.url(settings.port)  # of the server that may run later: endpoints are shown with it
    return Way(address, api.state.app.token, InProcess(api))


def bearer(key: str | None) -> dict[str, str]:
    """The header that carries a key."""
    if not key:
        return {}
    if not key.isascii() or not key.isprintable():
        raise Failure("This is no key: it holds characters that no key has.", "Give it with --key or FINDSPOT_KEY.", 4)
    return {"Authorization": f"Bearer {key}"}
