"""The way from a command to the API: a running server if there is one, otherwise the same API in this process."""

import asyncio
import contextlib
import functools
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec

import click

from findspot.surfaces.cli.outcome import Failure

if TYPE_CHECKING:
    import httpx2

    from findspot.settings import Settings

P = ParamSpec("P")
_WAIT_S = 15.0
_UNREACHABLE = "Is it running? 'findspot serve' starts it; 'findspot doctor' looks for what is wrong."


class Api:
    """The API as a command sees it: a call answers, or raises a Failure."""

    def __init__(self, client: "httpx2.AsyncClient", as_json: bool) -> None:
        self._client = client
        self.as_json = as_json

    async def call(self, method: str, path: str, **options: Any) -> Any:
        """Call a route and decode its JSON answer."""
        answer = await self.raw(method, path, **options)
        return answer.json() if answer.content else None

    async def raw(self, method: str, path: str, **options: Any) -> "httpx2.Response":
        """Call a route and give the answer as it came."""
        import httpx2

        try:
            answer = await self._client.request(method, path, **options)
        except httpx2.TransportError as error:
            raise Failure(
                f"The server at {self._client.base_url} does not answer ({error}).", _UNREACHABLE, 7
            ) from None
        if answer.is_error:
            try:
                body = answer.json()
            except ValueError:
                body = {"message": f"The server answered {answer.status_code}, but not as Findspot does."}
            raise Failure.from_answer(answer.status_code, body)
        return answer


def api_command(
    function: Callable[Concatenate[Api, P], Awaitable[None]],
) -> Callable[..., None]:
    """Turn an async function over the API into a command with the options that all of them share."""

    @click.option("--json", "as_json", is_flag=True, help="Output for machines.")
    @click.option("--url", envvar="FINDSPOT_URL", metavar="URL", help="A server elsewhere (FINDSPOT_URL).")
    @click.option("--key", envvar="FINDSPOT_KEY", metavar="KEY", help="The key to use there (FINDSPOT_KEY).")
    @click.option("--data", type=click.Path(path_type=Path), metavar="DIR", help="The data folder (FINDSPOT_DATA).")
    @functools.wraps(function)
    def run(*args: Any, as_json: bool, url: str | None, key: str | None, data: Path | None, **kwargs: Any) -> None:
        async def work() -> None:
            async with _client(url, key, data) as client:
                await function(Api(client, as_json), *args, **kwargs)

        asyncio.run(work())

    return run


@contextlib.asynccontextmanager
async def _client(url: str | None, key: str | None, data: Path | None) -> "AsyncIterator[httpx2.AsyncClient]":
    import httpx2

    timeout = httpx2.Timeout(300, connect=5)
    if url:
        async with httpx2.AsyncClient(base_url=url, headers=_header(key), timeout=timeout, trust_env=False) as client:
            yield client
        return
    settings = read_settings(data)
    async with _local(settings) as (base, token, transport):
        headers = _header(key or token)
        async with httpx2.AsyncClient(
            base_url=base, headers=headers, timeout=timeout, transport=transport, trust_env=False
        ) as client:
            yield client


@contextlib.asynccontextmanager
async def _local(settings: "Settings") -> "AsyncIterator[tuple[str, str, httpx2.ASGITransport | None]]":
    """The server that owns the data folder, or the API opened here, which then owns it for as long as it takes."""
    from findspot.datafolder import FolderInUse, owner_of
    from findspot.keys import owner_token

    deadline = time.monotonic() + _WAIT_S
    while True:
        owner = None if settings.shared else owner_of(settings.data)
        if owner is not None and owner.url:
            yield owner.url, owner_token(settings), None
            return
        try:
            async with _in_process(settings) as opened:
                yield opened
            return
        except FolderInUse as busy:  # another command has it for a moment, or a server is just starting
            if time.monotonic() > deadline:
                raise Failure(str(busy), exit_code=7) from None
            await asyncio.sleep(0.05)


@contextlib.asynccontextmanager
async def _in_process(settings: "Settings") -> "AsyncIterator[tuple[str, str, httpx2.ASGITransport | None]]":
    import httpx2

    from findspot import logs
    from findspot.errors import FindspotError
    from findspot.surfaces.http.api import create_api

    logs.configure("error", settings.log_format)
    api = create_api(settings)
    try:
        async with api.router.lifespan_context(api):
            yield "http://findspot", api.state.app.token, httpx2.ASGITransport(app=api)
    except FindspotError as error:
        raise Failure(error.message, error.kind.advice, 7) from None


def _header(key: str | None) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"} if key else {}


def read_settings(data: Path | None = None, **overrides: Any) -> "Settings":
    """The settings, with what was given on the command line; a wrong one is named."""
    from pydantic import ValidationError

    from findspot.settings import Settings

    given = {name: value for name, value in overrides.items() if value is not None}
    if data is not None:
        given["data"] = data
    try:
        return Settings(**given)
    except ValidationError as error:
        first = error.errors(include_input=False)[0]
        name = ".".join(map(str, first["loc"]))
        sentence = first["msg"].removeprefix("Value error, ")
        raise Failure(
            f"Setting {name}: {sentence}" if name else sentence, "docs/settings.md lists them all.", 2
        ) from None


def read_json(source: str) -> bytes:
    """A JSON argument: the text itself, '-' for standard input, or '@FILE'."""
    if source == "-":
        return sys.stdin.buffer.read()
    if source.startswith("@"):
        try:
            return Path(source[1:]).read_bytes()
        except OSError as error:
            raise Failure(f"{source[1:]} cannot be read: {error.strerror}.", exit_code=2) from None
    return source.encode()


def confirm(question: str, yes: bool) -> None:
    """Ask before something is gone for good. Without a terminal there is no one to ask, so '--yes' is needed."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise Failure("This cannot be undone.", "Add --yes to do it.", 2)
    click.confirm(question, abort=True)
