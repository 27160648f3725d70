"""One serving process: opens everything, serves until a signal, closes everything."""

import asyncio
import contextlib
import ctypes
import logging
import signal
import socket
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from findspot.surfaces.cli.listening import url_of, welcome
from findspot.surfaces.cli.opening import open_api
from findspot.surfaces.cli.outcome import Failure

if TYPE_CHECKING:
    from uvicorn import Server

    from findspot.settings import Settings

FAREWELL = "\nFindspot has stopped."
_GRACE_S = 8  # a SIGTERM ends within 10 seconds
_ALLOCATOR = {-8: 2, -3: 64 * 1024, -1: 1024 * 1024}  # M_ARENA_MAX, M_MMAP_THRESHOLD, M_TRIM_THRESHOLD
_SWITCH_S = 0.0005  # Python's 5 ms would let a busy thread delay every step of every request by as much


def uvicorn_options() -> dict[str, Any]:
    return {"log_config": None, "access_log": False, "server_header": False, "timeout_graceful_shutdown": _GRACE_S}


def serve_one(settings: "Settings", listening: socket.socket) -> None:
    tune_process()
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(_serve(settings, listening))


async def _serve(settings: "Settings", listening: socket.socket) -> None:
    import uvicorn

    from findspot.datafolder import FolderInUse

    async with contextlib.AsyncExitStack() as closing:
        try:
            api = await open_api(settings, closing)
        except FolderInUse as error:
            raise Failure(str(error), exit_code=7) from None
        app = api.state.app
        configure_logs(settings, app.token)
        server = uvicorn.Server(uvicorn.Config(api, lifespan="off", **uvicorn_options()))
        with _ended_by_signals(server):
            url = url_of(settings, listening)
            app.folder.announce(url)
            welcome(settings, url, app.token)
            await server.serve([listening])
    click.echo(FAREWELL)


@contextlib.contextmanager
def _ended_by_signals(server: "Server") -> Iterator[None]:
    """uvicorn stops on a signal, then raises it anew, which would cut short all that is to be closed after it."""
    before = {each: signal.signal(each, server.handle_exit) for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


def tune_process() -> None:
    """What suits a process that serves many requests at once, some of them large."""
    sys.setswitchinterval(_SWITCH_S)
    allocator = ctypes.CDLL(None)
    if hasattr(
        allocator, "mallopt"
    ):  # glibc: large buffers go back to the system at once, not into each thread's store
        for option, value in _ALLOCATOR.items():
            allocator.mallopt(option, value)


def configure_logs(settings: "Settings", token: str) -> None:
    from findspot import logs

    logs.configure(settings.log_level, settings.log_format, secrets=(token,))
    logging.getLogger("uvicorn").setLevel(logging.WARNING)  # start and end are told by the welcome and the farewell


def _loop_factory() -> Any:
    try:
        import uvloop
    except ImportError:  # not made for every platform; asyncio's own loop does as well, only slower
        return None
    return uvloop.new_event_loop
