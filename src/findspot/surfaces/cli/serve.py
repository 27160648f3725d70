"""`findspot serve`: everything in one process, or several over shared services."""

import asyncio
import contextlib
import os
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from findspot import __version__
from findspot.surfaces.cli.opening import read_settings, said_plainly
from findspot.surfaces.cli.outcome import Failure
from findspot.surfaces.cli.printing import facts

if TYPE_CHECKING:
    from fastapi import FastAPI

    from findspot.settings import Settings

_GRACE_S = 8  # a SIGTERM ends within 10 seconds
_BUSY_S = 5  # what a command may still need the data folder for when the server starts


@click.command()
@click.option("--host", metavar="ADDRESS", help="Address to listen on (FINDSPOT_HOST, default 127.0.0.1).")
@click.option("--port", type=int, metavar="N", help="Port to listen on (FINDSPOT_PORT, default 8321; 0: any free one).")
@click.option("--data", type=click.Path(path_type=Path), metavar="DIR", help="The data folder (FINDSPOT_DATA).")
@click.option(
    "--workers", type=click.IntRange(min=1), default=1, metavar="N",
    help="Processes; above 1 needs PostgreSQL and turbopuffer.",
)  # fmt: skip
def command(host: str | None, port: int | None, data: Path | None, workers: int) -> None:
    """Start the server: API and storage, on 127.0.0.1:8321. Ctrl-C or SIGTERM ends it, with nothing lost."""
    settings = read_settings(data, host=host, port=port)
    if workers > 1 and not settings.shared:
        raise Failure(
            f"--workers {workers} cannot work here: the embedded engine and SQLite belong to one serving process.",
            "Leave --workers out, or set FINDSPOT_DATABASE_URL and FINDSPOT_ENGINE=turbopuffer.",
            2,
        )
    _check_free(settings)
    with _listen(settings.host, settings.port) as listening:
        if workers > 1:
            _serve_many(settings, listening, workers)
        else:
            _serve_one(settings, listening)


def _check_free(settings: "Settings") -> None:
    """Refuse a folder that another server has, before its port is found taken too. A command's hold passes soon."""
    from findspot.datafolder import FolderInUse, owner_of

    deadline = time.monotonic() + _BUSY_S
    with said_plainly(settings):
        while not settings.shared and (owner := owner_of(settings.data)):
            if owner.url or time.monotonic() > deadline:
                raise Failure(str(FolderInUse(settings.data, owner)), exit_code=7)
            time.sleep(0.05)


def _listen(host: str, port: int) -> socket.socket:
    """Listen at once, so that whoever reads the link can follow it."""
    listening = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen(socket.SOMAXCONN)
    except OSError as error:
        listening.close()
        advice = "Choose another port with --port, or --port 0 for any free one; --host sets the address."
        raise Failure(f"Cannot listen on {host}:{port}: {error.strerror}.", advice, 7) from None
    listening.set_inheritable(True)
    return listening


def _url(settings: "Settings", listening: socket.socket) -> str:
    host = "127.0.0.1" if settings.host in ("0.0.0.0", "::") else settings.host
    host = f"[{host}]" if ":" in host else host
    return f"http://{host}:{listening.getsockname()[1]}"


def _welcome(settings: "Settings", url: str, token: str) -> None:
    where = (
        ("Open", click.style(f"{url}/?token={token}", fg="cyan")),
        ("API", f"{url}/api/v1"),
        ("Data", "PostgreSQL" if settings.database_url else f"SQLite, in {settings.data.resolve()}"),
    )
    click.echo(
        f"{click.style('Findspot', bold=True)} {__version__} is running.\n\n{facts(where)}\n\n"
        "Ctrl-C stops it. In another terminal: findspot project create NAME\n"
    )


def _uvicorn_options() -> dict[str, Any]:
    return {"log_config": None, "access_log": False, "server_header": False, "timeout_graceful_shutdown": _GRACE_S}


def _serve_one(settings: "Settings", listening: socket.socket) -> None:
    import uvicorn

    from findspot.surfaces.http.api import create_api

    async def serve() -> None:
        api = create_api(settings)
        async with contextlib.AsyncExitStack() as closing:
            with _refused(settings):
                await closing.enter_async_context(api.router.lifespan_context(api))
            app = api.state.app
            _configure_logs(settings, app.token)
            server = uvicorn.Server(uvicorn.Config(api, lifespan="off", **_uvicorn_options()))
            url = _url(settings, listening)
            app.folder.announce(url)
            _welcome(settings, url, app.token)
            with _outliving_signals():
                await server.serve([listening])
        click.echo("\nFindspot has stopped.")

    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(serve())


@contextlib.contextmanager
def _refused(settings: "Settings") -> Iterator[None]:
    from findspot.datafolder import FolderInUse

    try:
        with said_plainly(settings):
            yield
    except FolderInUse as error:
        raise Failure(str(error), exit_code=7) from None


@contextlib.contextmanager
def _outliving_signals() -> Iterator[None]:
    """uvicorn stops on a signal and then raises it anew, which would cut short all that is closed after it."""
    before = {each: signal.signal(each, lambda *_: None) for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


def _serve_many(settings: "Settings", listening: socket.socket, workers: int) -> None:
    import uvicorn
    from uvicorn.supervisors import Multiprocess

    token = asyncio.run(_try_once(settings))
    os.environ["FINDSPOT_DATA"] = str(settings.data)
    config = uvicorn.Config(
        "findspot.surfaces.cli.serve:worker_api", factory=True, workers=workers, **_uvicorn_options()
    )
    _configure_logs(settings, token)
    _welcome(settings, _url(settings, listening), token)
    processes = Multiprocess(config, sockets=[listening])
    processes.run()
    if any(process.exitcode == uvicorn.config.STARTUP_FAILURE for process in processes.processes):
        raise Failure("A serving process could not start; its log line says why.")
    click.echo("\nFindspot has stopped.")


async def _try_once(settings: "Settings") -> str:
    """Open and close everything here: what is wrong is said once, and no two processes bring up a new database."""
    from findspot.surfaces.http.api import create_api

    api = create_api(settings)
    async with contextlib.AsyncExitStack() as closing:
        with _refused(settings):
            await closing.enter_async_context(api.router.lifespan_context(api))
        token: str = api.state.app.token
    return token


def worker_api() -> "FastAPI":
    """The API in one of several processes; they are told apart by nothing but the database."""
    from findspot.keys import owner_token
    from findspot.settings import Settings
    from findspot.surfaces.http.api import create_api

    settings = Settings()
    _configure_logs(settings, owner_token(settings))
    return create_api(settings)


def _configure_logs(settings: "Settings", token: str) -> None:
    import logging

    from findspot import logs

    logs.configure(settings.log_level, settings.log_format, secrets=(token,))
    logging.getLogger("uvicorn").setLevel(logging.WARNING)  # start and end are told by the welcome and the farewell


def _loop_factory() -> Any:
    try:
        import uvloop
    except ImportError:  # not made for every platform; asyncio's own loop does as well, only slower
        return None
    return uvloop.new_event_loop
