"""Several API processes over shared services (PostgreSQL and turbopuffer), started and restarted by uvicorn."""

import asyncio
import contextlib
import multiprocessing
import os
import signal
import socket
import threading
from typing import TYPE_CHECKING

from findspot.server.api_process import configure_logs, tune_process, uvicorn_options
from findspot.server.banner import print_started, print_stopped
from findspot.surfaces.cli.failure import Failure
from findspot.surfaces.cli.opening import open_api

if TYPE_CHECKING:
    from fastapi import FastAPI

    from findspot.runtime.data_folder import DataFolder
    from findspot.settings import Settings


def serve_workers(settings: "Settings", listener: socket.socket, workers: int, folder: "DataFolder") -> None:
    """Serve with several API processes until a signal arrives."""
    import uvicorn
    from uvicorn.supervisors import Multiprocess

    settings = settings.model_copy(update={"port": listener.getsockname()[1]})  # 0 stands for any free one
    token = asyncio.run(_open_once(settings, folder))
    for name in ("data", "host", "port"):  # what the command line may have set
        os.environ[f"FINDSPOT_{name.upper()}"] = str(getattr(settings, name))
    options = uvicorn_options(settings)
    config = uvicorn.Config("findspot.server.workers:worker_api", factory=True, workers=workers, **options)
    configure_logs(settings, token)
    processes = Multiprocess(config, sockets=[listener])  # handles signals from here on
    print_started(settings, token)
    processes.run()
    if any(process.exitcode == uvicorn.config.STARTUP_FAILURE for process in processes.processes):
        raise Failure("An API process could not start.", "The reason is in the log lines above.")
    print_stopped()


async def _open_once(settings: "Settings", folder: "DataFolder") -> str:
    """Open and close the app in this process and return the owner's token.

    So a fault is reported once, and only one process creates the schema of a new database.
    """
    async with contextlib.AsyncExitStack() as closing:
        api = await open_api(settings, closing, folder)
        token: str = api.state.app.token
    return token


def worker_api() -> "FastAPI":
    """Return the API for one of the processes. Its settings come from the environment only."""
    from findspot.runtime.owner_token import owner_token
    from findspot.settings import Settings
    from findspot.surfaces.http.api import create_api

    threading.Thread(target=_kill_with_parent, daemon=True).start()
    settings = Settings()
    tune_process()
    configure_logs(settings, owner_token(settings))
    return create_api(settings)


def _kill_with_parent() -> None:
    """Kill this process when its parent ends. Otherwise it would keep the port."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGKILL)
