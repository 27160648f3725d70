"""One serving process: opens everything, serves until a signal, closes everything."""

import asyncio
import contextlib
import ctypes
import gc
import logging
import signal
import socket
import sys
from typing import TYPE_CHECKING, Any

from findspot.server.listening import farewell, welcome
from findspot.surfaces.cli.opening import open_api

if TYPE_CHECKING:
    from uvicorn import Server

    from findspot.runtime.data_folder import DataFolder
    from findspot.server.supervising import Line
    from findspot.settings import Settings
    from findspot.surfaces.http.agents import Agents

_GRACE_S = 8  # a SIGTERM ends within 10 seconds
KEEP_ALIVE_S = 75  # for longer than clients rest: one that is hung up on in the moment it speaks again sees an error
_ALLOCATOR = {-8: 2, -3: 4 << 20, -1: 8 << 20}  # M_ARENA_MAX, M_MMAP_THRESHOLD, M_TRIM_THRESHOLD
_SWITCH_S = 0.0005  # Python's 5 ms would let a busy thread delay every step of every request by as much


def uvicorn_options() -> dict[str, Any]:
    return {
        "log_config": None,
        "access_log": False,
        "server_header": False,
        "timeout_graceful_shutdown": _GRACE_S,
        "timeout_keep_alive": KEEP_ALIVE_S,
    }


def serve_one(settings: "Settings", listening: socket.socket, folder: "DataFolder", line: "Line") -> None:
    tune_process()
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(_serve(settings, listening, folder, line))


async def _serve(settings: "Settings", listening: socket.socket, folder: "DataFolder", line: "Line") -> None:
    import uvicorn

    async with contextlib.AsyncExitStack() as closing:
        api = await open_api(settings, closing, folder)
        token = api.state.app.token
        configure_logs(settings, token)
        server = uvicorn.Server(uvicorn.Config(api, lifespan="off", **uvicorn_options()))
        _end_streams_first(server, api.state.agents)
        _end_when_asked(server, line)
        url = settings.url(listening.getsockname()[1])
        folder.announce(url)
        if not line.greeted:
            welcome(settings, url, token)
            line.greet()
        warming = asyncio.create_task(api.state.app.prepare())
        await server.serve([listening])
        warming.cancel()
    farewell()


def _end_when_asked(server: "Server", line: "Line") -> None:
    """uvicorn stops on a signal, then raises it anew, and the supervisor may send one more: neither cuts short what
    is to be closed after it."""

    def at_once() -> None:
        server.force_exit = True

    signal.signal(signal.SIGTERM, server.handle_exit)
    line.at_once = at_once


def _end_streams_first(server: "Server", agents: "Agents") -> None:
    """uvicorn waits for answers to end; those to agents that listen for changes have to be told to."""
    shut_down = server.shutdown

    async def after_goodbye(sockets: list[socket.socket] | None = None) -> None:
        await agents.say_goodbye()
        await shut_down(sockets)

    server.shutdown = after_goodbye  # type: ignore[method-assign]


def tune_process() -> None:
    """What suits a process that serves many requests at once, some of them large."""
    sys.setswitchinterval(_SWITCH_S)
    gc.set_threshold(50_000, 20, 100)  # a search makes thousands of small values: none of them is worth a look
    allocator = ctypes.CDLL(None)
    if hasattr(
        allocator, "mallopt"
    ):  # glibc: large buffers go back to the system at once, not into each thread's store
        for option, value in _ALLOCATOR.items():
            allocator.mallopt(option, value)


def configure_logs(settings: "Settings", token: str) -> None:
    from findspot.runtime import logs

    logs.configure(settings.log_level, settings.log_format, secrets=(token,))
    logging.getLogger("uvicorn").setLevel(logging.WARNING)  # start and end are told by the welcome and the farewell


def _loop_factory() -> Any:
    try:
        import uvloop
    except ImportError:  # not made for every platform; asyncio's own loop does as well, only slower
        return None
    return uvloop.new_event_loop
