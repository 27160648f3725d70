"""The ASGI application: routes, errors and request logging around one open `App`."""

import contextlib
import functools
from collections.abc import AsyncIterator

from fastapi import FastAPI

from findspot import __version__
from findspot.app import open_app
from findspot.runtime.data_folder import DataFolder
from findspot.runtime.peers import Peers
from findspot.settings import Settings
from findspot.surfaces.http import (
    agents,
    documents,
    endpoints,
    errors,
    home,
    operations,
    projects,
    replacing,
    retrieval,
    tables,
    tools,
    transfer,
    workspace,
)
from findspot.surfaces.http.admission import Admission
from findspot.surfaces.http.openapi import describe
from findspot.surfaces.http.request_log import Metrics, RequestLog
from findspot.surfaces.http.router import GuardedRoute

_BUSIEST_FIRST = (agents, workspace, retrieval)


def every_route() -> list[GuardedRoute]:
    """Return the routes of the API, in the order in which they are described."""
    others = (home, operations, projects, tables, documents, replacing, transfer, tools, endpoints)
    return [route for part in (*_BUSIEST_FIRST, *others) for route in part.api.routes]


def create_api(
    settings: Settings,
    folder: DataFolder | None = None,
    *,
    worker: bool = True,
    peers: Peers | None = None,
    serves: str | None = None,
    filling: bool = False,
) -> FastAPI:
    """Return the API. Its lifespan opens and closes the `App`. A server names the address that it `serves`, and is
    listed among the running processes."""
    metrics = Metrics()

    @contextlib.asynccontextmanager
    async def lifespan(api: FastAPI) -> AsyncIterator[None]:
        async with open_app(settings, folder, worker=worker, peers=peers, filling=filling) as app:
            api.state.app = app
            api.state.agents = agents.Agents(app)
            if serves is not None:
                await app.presence.begin(serves, lambda: metrics.text(app.presence.id, app.presence.role))
            try:
                yield
            finally:
                await api.state.agents.close()

    api = FastAPI(
        title="Findspot",
        version=__version__,
        lifespan=lifespan,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    api.state.metrics = metrics
    routes = every_route()
    # Routes are tried one after the other: to be the 70th costs the call of a tool 0.2 ms.
    searches_first: list[GuardedRoute] = sorted(routes, key=lambda route: not route.rule.search)
    api.router.routes.extend(searches_first)
    api.state.openapi = functools.cache(lambda: describe(routes))
    errors.install(api)
    api.add_middleware(RequestLog, metrics=metrics, process=peers.number if peers else None)
    api.add_middleware(Admission, metrics=metrics, peers=peers)  # the last one added is the first one called
    return api
