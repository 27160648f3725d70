"""Several apps that a test uses as one, as clients use the processes behind one port: each call goes to the next.

The apps share the database and the engine, nothing else. Each has an index worker.
"""

import dataclasses
import itertools
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import cached_property
from types import SimpleNamespace
from typing import Any

import httpx2
from fastapi import FastAPI
from pydantic import SecretStr

from findspot.app import App, open_app
from findspot.settings import Settings
from findspot.surfaces.http.api import create_api

_TOKEN = "a-token-of-all-processes"
_OF_ALL = ("index_worker",)  # a call reaches the workers of all apps
_OF_THE_FIRST = ("settings", "folder", "token", "engine", "embeddings")


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


def as_one(apps: Sequence[App]) -> App:
    """Return an app whose calls go to these apps in turn."""
    turns = itertools.count()

    def join(name: str) -> Any:
        parts = [getattr(app, name) for app in apps]
        if name in _OF_THE_FIRST:
            return parts[0]
        if name in _OF_ALL:
            return _All(parts)
        return _Status(parts, turns) if name == "index_status" else _Next(parts, turns)

    return App(**{field.name: join(field.name) for field in dataclasses.fields(App)})


def _settings(settings: Settings, count: int) -> list[Settings]:
    """Return the settings of each process. Each has a data folder of its own."""
    token = {"token": SecretStr(_TOKEN)}
    return [
        settings.model_copy(update={"data": settings.data / str(number), **token}) if count > 1 else settings
        for number in range(count)
    ]


@asynccontextmanager
async def open_apps(settings: Settings, count: int) -> AsyncIterator[App]:
    """Open apps on one database and one engine, and give them as one."""
    async with AsyncExitStack() as closing:
        apps = [await closing.enter_async_context(open_app(each)) for each in _settings(settings, count)]
        _share_watching(apps)
        yield as_one(apps) if count > 1 else apps[0]


def _share_watching(apps: Sequence[App]) -> None:
    """Let what a test puts in place of calls of the engine hold for all apps."""
    for app in apps[1:]:
        if hasattr(app.engine, "instead"):
            app.engine.instead = apps[0].engine.instead  # type: ignore[attr-defined]


class _InTurn(httpx2.AsyncBaseTransport):
    """Sends each request to the next API."""

    def __init__(self, apis: Sequence[FastAPI]) -> None:
        self._apis = apis
        self._transports = itertools.cycle([httpx2.ASGITransport(app=api, raise_app_exceptions=True) for api in apis])

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        return await next(self._transports).handle_async_request(request)

    @cached_property
    def app(self) -> Any:
        """What tests read of the API of a transport."""
        apps = [api.state.app for api in self._apis]
        return SimpleNamespace(state=SimpleNamespace(app=as_one(apps)), router=self._apis[0].router)


@asynccontextmanager
async def open_client(settings: Settings, count: int) -> AsyncIterator[httpx2.AsyncClient]:
    """Open APIs on one database and one engine, and give a client of the owner whose requests go to them in turn."""
    async with AsyncExitStack() as closing:
        apis = [create_api(each) for each in _settings(settings, count)]
        for api in apis:
            await closing.enter_async_context(api.router.lifespan_context(api))
        _share_watching([api.state.app for api in apis])
        transport = _InTurn(apis) if count > 1 else httpx2.ASGITransport(app=apis[0], raise_app_exceptions=True)
        headers = {"Authorization": f"Bearer {apis[0].state.app.token}"}
        client = httpx2.AsyncClient(base_url="http://localhost", transport=transport, headers=headers)
        yield await closing.enter_async_context(client)
