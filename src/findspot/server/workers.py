"""Several serving processes over shared services; they are told apart by nothing but the database."""

import asyncio
import contextlib
import multiprocessing
import os
import signal
import socket
import threading
from typing import TYPE_CHECKING

from findspot.server.listening import farewell, welcome
from findspot.server.serving import configure_logs, tune_process, uvicorn_options
from findspot.surfaces.cli.opening import open_api
from findspot.surfaces.cli.outcome import Failure

if TYPE_CHECKING:
    from fastapi import FastAPI

    from findspot.settings import Settings


def serve_many(settings: "Settings", listening: socket.socket, workers: int) -> None:
    import uvicorn
    from uvicorn.supervisors import Multiprocess

    token = asyncio.run(_try_once(settings))
    os.environ["FINDSPOT_DATA"] = str(settings.data)
    config = uvicorn.Config("findspot.server.workers:worker_api", factory=True, workers=workers, **uvicorn_options())
    configure_logs(settings, token)
    processes = Multiprocess(config, sockets=[listening])  # hears signals from here on
    welcome(settings, settings.url(listening.getsockname()[1]), token)
    processes.run()
    if any(process.exitcode == uvicorn.config.STARTUP_FAILURE for process in processes.processes):
        raise Failure("A serving process could not start; its log line says why.")
    farewell()


async def _try_once(settings: "Settings") -> str:
    """Open and close everything here: what is wrong is said once, and no two processes bring up a new database."""
    async with contextlib.AsyncExitStack() as closing:
        api = await open_api(settings, closing)
        token: str = api.state.app.token
    return token


def worker_api() -> "FastAPI":
    """The API in one of the processes, which has nothing but the environment to go by."""
    from findspot.runtime.owner_token import owner_token
    from findspot.settings import Settings
    from findspot.surfaces.http.api import create_api

    threading.Thread(target=_end_with_parent, daemon=True).start()
    settings = Settings()
    tune_process()
    configure_logs(settings, owner_token(settings))
    return create_api(settings)


def _end_with_parent() -> None:
    """Without it the port would stay taken when the process that started this one is killed."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGKILL)
