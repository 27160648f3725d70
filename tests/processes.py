"""Several apps that a test uses as one, as clients use the processes behind one port: each call goes to the next.

The apps share the database and the engine, nothing else. Each has an index worker.
"""

import asyncio
import dataclasses
import itertools
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from types import SimpleNamespace
from typing import Any

import httpx2
import psycopg
from fastapi import FastAPI
from pydantic import SecretStr

from findspot.app import App, open_app
from findspot.engines.opening import open_engine
from findspot.engines.turbopuffer.catalog import Placement
from findspot.runtime.engine_catalog import StoreCatalog
from findspot.settings import Settings
from findspot.store.index_states import identity
from findspot.surfaces.http.api import create_api
from tests.flows import Watched

_TOKEN = "a-token-of-all-processes"
_OF_ALL = ("index_worker",)  # a call reaches the workers of all apps
_OF_THE_FIRST = ("settings", "folder", "token", "embeddings")


class _Next:
    """The same part of each app. A call goes to the next one; values are those of the first."""

    def __init__(self, parts: Sequence[Any], turns: Iterator[int]) -> None:
        self._parts = parts
        self._turns = turns

    def __getattr__(self, name: str) -> Any:
        values = [getattr(part, name) for part in self._parts]
        if not callable(values[0]):
            return values[0]
        return lambda *arguments, **more: values[next(self._turns) % len(values)](*arguments, **more)


class _All:
    """The same part of each app. A call is made on each in turn, and returns the last answer."""

    def __init__(self, parts: Sequence[Any]) -> None:
        self._parts = parts

    def __getattr__(self, name: str) -> Any:
        async def call(*arguments: Any, **more: Any) -> Any:
            return [await getattr(part, name)(*arguments, **more) for part in self._parts][-1]

        return call


class _Status(_Next):
    """The index status of each app. It is at rest when no app has a problem left to report."""

    async def is_at_rest(self) -> bool:
        return all([await part.is_at_rest() for part in self._parts])


class _Catalog:
    """The catalogue of an app, but which index serves is read at once: tests look into the engine where they are, in
    the event loop, and an app there knows only what it has read before."""

    def __init__(self, app: App, installation: str) -> None:
        self._catalog = StoreCatalog(app.store, installation)
        assert app.settings.database_url is not None
        self._address = app.settings.database_url.get_secret_value()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._catalog, name)

    def serving(self, namespace: str, *, fresh: bool = False) -> Placement | None:
        return next((Placement(*row) for each, *row in self._rows() if each == namespace), None)

    def namespaces(self, project_id: int) -> list[str]:
        return sorted(each for each, *_ in self._rows() if each.startswith(f"project_{project_id}_"))

    def _rows(self) -> list[Any]:
        query = "SELECT namespace, name, fingerprint, dimension FROM engine_namespaces WHERE state = 'serving'"
        with psycopg.connect(self._address) as connection:
            return connection.execute(query).fetchall()


async def _join(apps: Sequence[App], closing: AsyncExitStack) -> App:
    """Return an app whose calls go to these apps in turn. Its engine sees what all of them have written."""
    async with apps[0].store.read() as connection:
        installation = await identity(connection)
    engine: Any = open_engine(apps[0].settings, installation, _Catalog(apps[0], installation))
    closing.push_async_callback(asyncio.to_thread, engine.close)
    if isinstance(apps[0].engine, Watched):  # what a test puts in place of calls holds for all apps
        engine = Watched(engine, apps[0].engine.instead)
        for app in apps[1:]:
            app.engine.instead = engine.instead  # type: ignore[attr-defined]
    turns = itertools.count()

    def join(name: str) -> Any:
        parts = [getattr(app, name) for app in apps]
        if name in _OF_THE_FIRST:
            return parts[0]
        if name in _OF_ALL:
            return _All(parts)
        return _Status(parts, turns) if name == "index_status" else _Next(parts, turns)

    names = [field.name for field in dataclasses.fields(App) if field.name != "engine"]
    return App(engine=engine, **{name: join(name) for name in names})


def _settings(settings: Settings, count: int) -> list[Settings]:
    """Return the settings of each process. Each has a data folder of its own."""
    token = {"token": SecretStr(_TOKEN)}
    return [settings.model_copy(update={"data": settings.data / str(number), **token}) for number in range(count)]


@asynccontextmanager
async def open_apps(settings: Settings, count: int) -> AsyncIterator[App]:
    """Open apps on one database and one engine, and give them as one."""
    if count == 1:
        async with open_app(settings) as app:
            yield app
        return
    async with AsyncExitStack() as closing:
        apps = [await closing.enter_async_context(open_app(each)) for each in _settings(settings, count)]
        yield await _join(apps, closing)


class _InTurn(httpx2.AsyncBaseTransport):
    """Sends each request to the next API. `app` is what tests read of the API of a transport."""

    def __init__(self, apis: Sequence[FastAPI], joined: App) -> None:
        self._transports = itertools.cycle([httpx2.ASGITransport(app=api, raise_app_exceptions=True) for api in apis])
        self.app = SimpleNamespace(state=SimpleNamespace(app=joined), router=apis[0].router)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        return await next(self._transports).handle_async_request(request)


@asynccontextmanager
async def open_client(settings: Settings, count: int) -> AsyncIterator[httpx2.AsyncClient]:
    """Open APIs on one database and one engine, and give a client of the owner whose requests go to them in turn."""
    async with AsyncExitStack() as closing:
        apis = [create_api(each) for each in (_settings(settings, count) if count > 1 else [settings])]
        for api in apis:
            await closing.enter_async_context(api.router.lifespan_context(api))
        transport: httpx2.AsyncBaseTransport = httpx2.ASGITransport(app=apis[0], raise_app_exceptions=True)
        if count > 1:
            transport = _InTurn(apis, await _join([api.state.app for api in apis], closing))
        headers = {"Authorization": f"Bearer {apis[0].state.app.token}"}
        client = httpx2.AsyncClient(base_url="http://localhost", transport=transport, headers=headers)
        yield await closing.enter_async_context(client)
