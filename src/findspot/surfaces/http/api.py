"""The ASGI application: routes, errors and notes around one open `App`."""

import contextlib
from collections.abc import AsyncIterator

from fastapi import FastAPI

from findspot import __version__
from findspot.app import open_app
from findspot.runtime.data_folder import DataFolder
from findspot.settings import Settings
from findspot.surfaces.http import (
    agents,
    documents,
    endpoints,
    errors,
    home,
    operations,
    projects,
    tables,
    tools,
    transfer,
    workspace,
)
from findspot.surfaces.http.watch import Metrics, Watch


def create_api(settings: Settings, folder: DataFolder | None = None, *, worker: bool = True) -> FastAPI:
    """The API. Its lifespan opens everything, and closes it."""

    @contextlib.asynccontextmanager
    async def lifespan(api: FastAPI) -> AsyncIterator[None]:
        async with open_app(settings, folder, worker=worker) as app:
            api.state.app = app
            api.state.agents = agents.Agents(app)
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
    api.state.metrics = Metrics()
    busiest = (agents, workspace)
    for part in (*busiest, home, operations, projects, tables, documents, transfer, tools, endpoints):
        api.router.routes.extend(part.api.routes)  # flat, so that all of them can be counted against the rules
    errors.install(api)
    api.add_middleware(Watch, metrics=api.state.metrics)
    return api
