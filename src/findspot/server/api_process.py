"""The API process: opens the app, serves requests until a signal, closes the app."""

import asyncio
import contextlib
import functools
import gc
import logging
import os
import signal
import socket
import sys
from typing import TYPE_CHECKING, Any

from findspot.runtime import allocator, descriptors
from findspot.server.banner import print_started, print_stopped
from findspot.surfaces.cli.opening import open_api

if TYPE_CHECKING:
    from uvicorn import Server

    from findspot.app import App
    from findspot.runtime.data_folder import DataFolder
    from findspot.runtime.peers import Peers
    from findspot.server.supervisor import SupervisorLink
    from findspot.settings import Settings
    from findspot.surfaces.http.agents import Agents

_SHUTDOWN_S = 7  # a SIGTERM ends the process within 10 seconds; the supervisor kills it after 9
_LOCK_WAIT_S = 4
KEEP_ALIVE_S = 75  # longer than clients keep idle connections; else a request may meet a connection that just closed
_SWITCH_S = 0.0005  # with Python's 5 ms a busy thread would delay every step of every request by 5 ms


def uvicorn_options(settings: "Settings") -> dict[str, Any]:
    from findspot.server.connections import LimitedProtocol, OpenConnections

    limit = descriptors.current()
    connections = OpenConnections(limit.connections(settings.max_connections), settings.max_connections_per_address)
    return {
        "http": functools.partial(LimitedProtocol, connections),
        "ws": "none",
        "backlog": limit.backlog,
        "log_config": None,
        "access_log": False,
        "server_header": False,
        "timeout_graceful_shutdown": _SHUTDOWN_S,
        "timeout_keep_alive": KEEP_ALIVE_S,
    }


def serve_api(
    settings: "Settings",
    listener: socket.socket,
    folder: "DataFolder",
    link: "SupervisorLink",
    peers: "Peers | None" = None,
    *,
    worker: bool = True,
) -> None:
    """Serve until a signal arrives. `peers` are the other processes of this server, if there are any."""
    tune_process()
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        runner.run(_serve(settings, listener, folder, link, peers, worker=worker))


async def _serve(
    settings: "Settings",
    listener: socket.socket,
    folder: "DataFolder",
    link: "SupervisorLink",
    peers: "Peers | None",
    *,
    worker: bool,
) -> None:
    import uvicorn

    port = listener.getsockname()[1]
    settings = settings.model_copy(update={"port": port})  # 0 stands for any free one
    async with contextlib.AsyncExitStack() as closing:
        api = await open_api(settings, closing, folder, worker=worker, peers=peers, serves=settings.url(port))
        token = api.state.app.token
        if peers is None:
            await api.state.app.store.keep_reserve()
        configure_logs(settings, token)
        server = uvicorn.Server(uvicorn.Config(api, lifespan="off", **uvicorn_options(settings)))
        _prepare_shutdown(server, api.state.agents, api.state.app)
        _stop_on_signals(server, link)
        folder.announce(settings.url(port))
        if not link.has_started and link.number <= 1:
            print_started(settings, token)
        link.report_started()
        preparing = asyncio.create_task(api.state.app.prepare())
        await server.serve([listener])
        preparing.cancel()
    if link.is_alone:
        print_stopped()


def _stop_on_signals(server: "Server", link: "SupervisorLink") -> None:
    """Make SIGTERM stop uvicorn, and nothing else.

    uvicorn raises a signal again after it has stopped, and the supervisor may send a second one. Neither may interrupt
    the closing of the app.
    """

    def force_stop() -> None:
        server.force_exit = True

    signal.signal(signal.SIGTERM, server.handle_exit)
    link.on_force_stop = force_stop


def _prepare_shutdown(server: "Server", agents: "Agents", app: "App") -> None:
    """Before uvicorn shuts down, which waits for all responses to end, leave the work to other processes, and end the
    event streams of agents and the waits for a database that another process has locked."""
    shut_down = server.shutdown

    async def end_waits_first(sockets: list[socket.socket] | None = None) -> None:
        app.store.stop_waiting(_LOCK_WAIT_S)
        draining = asyncio.create_task(app.drain())
        await agents.end_streams()
        await shut_down(sockets)
        await draining

    server.shutdown = end_waits_first  # type: ignore[method-assign]


def tune_process() -> None:
    """Tune the interpreter, numpy and the allocator for many concurrent requests, some of them large."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # requests run in parallel; more threads would wait busily
    sys.setswitchinterval(_SWITCH_S)
    gc.set_threshold(50_000, 20, 100)  # a search makes thousands of short-lived values, none of them in a cycle
    # Return large buffers to the system instead of keeping them per thread.
    allocator.tune({allocator.ARENAS: 2, allocator.MMAP_THRESHOLD: 4 << 20, allocator.TRIM_THRESHOLD: 8 << 20})


def configure_logs(settings: "Settings", token: str) -> None:
    from findspot.runtime import logs

    logs.configure(settings.log_level, settings.log_format, secrets=(token,))
    logging.getLogger("uvicorn").setLevel(logging.WARNING)  # its start and stop lines would repeat the banner


def loop_factory() -> Any:
    try:
        import uvloop
    except ImportError:  # not available on every platform; asyncio's own loop is slower
        return None
    return uvloop.new_event_loop
