"""`findspot serve`: everything in one process, or several over shared services."""

import asyncio
import os
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from findspot import __version__
from findspot.surfaces.cli.connect import read_settings
from findspot.surfaces.cli.outcome import Failure

if TYPE_CHECKING:
    from fastapi import FastAPI

    from findspot.settings import Settings

_GRACE_S = 8  # a SIGTERM ends within 10 seconds


@click.command()
@click.option("--host", metavar="ADDRESS", help="Address to listen on (FINDSPOT_HOST, default 127.0.0.1).")
@click.option("--port", type=int, metavar="N", help="Port to listen on (FINDSPOT_PORT, default 8321; 0: any free one).")
@click.option("--data", type=click.Path(path_type=Path), metavar="DIR", help="Data folder (FINDSPOT_DATA).")
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    default=1,
    metavar="N",
    help="Processes; above 1 needs PostgreSQL and turbopuffer.",
)
def command(host: str | None, port: int | None, data: Path | None, workers: int) -> None:
    """Start the server: API and storage, on 127.0.0.1:8321."""
    settings = read_settings(data, host=host, port=port)
    if workers > 1 and not settings.shared:
        raise Failure(
            f"--workers {workers} cannot work here: the embedded engine and SQLite belong to one serving process.",
            "Leave --workers out, or set FINDSPOT_DATABASE_URL and FINDSPOT_ENGINE=turbopuffer.",
            2,
        )
    listening = _listen(settings.host, settings.port)
    if workers > 1:
        _serve_many(settings, listening, workers)
    else:
        _serve_one(settings, listening)


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except OSError as error:
        listening.close()
        advice = "Choose another with --port, or --port 0 for any free one."
        raise Failure(f"Cannot listen on {host}:{port}: {os.strerror(error.errno or 0)}.", advice, 7) from None
    listening.set_inheritable(True)
    return listening


def _url(settings: "Settings", listening: socket.socket) -> str:
    host = "127.0.0.1" if settings.host in ("0.0.0.0", "::") else settings.host
    host = f"[{host}]" if ":" in host else host
    return f"http://{host}:{listening.getsockname()[1]}"


def _welcome(settings: "Settings", url: str, token: str) -> None:
    store = "PostgreSQL" if settings.database_url else f"SQLite, in {settings.data.resolve()}"
    click.echo(
        f"{click.style('Findspot', bold=True)} {__version__} is running.\n\n"
        f"  Open   {click.style(f'{url}/?token={token}', fg='cyan')}\n"
        f"  API    {url}/api/v1\n"
        f"  Data   {store}\n\n"
        "Ctrl-C stops it. In another terminal: findspot project create NAME\n"
    )


def _uvicorn_options() -> dict[str, Any]:
    return {"log_config": None, "access_log": False, "server_header": False, "timeout_graceful_shutdown": _GRACE_S}


def _serve_one(settings: "Settings", listening: socket.socket) -> None:
    import uvicorn

    from findspot.datafolder import FolderInUse
    from findspot.errors import FindspotError
    from findspot.surfaces.http.api import create_api

    async def serve() -> None:
        api = create_api(settings)
        async with api.router.lifespan_context(api):
            app = api.state.app
            _configure_logs(settings, app.token)
            server = uvicorn.Server(uvicorn.Config(api, lifespan="off", **_uvicorn_options()))
            url = _url(settings, listening)
            app.folder.announce(url)
            _welcome(settings, url, app.token)
            await server.serve([listening])

    try:
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            runner.run(serve())
    except FolderInUse as error:
        raise Failure(str(error)) from None
    except FindspotError as error:
        raise Failure(error.message, error.kind.advice, 7) from None
    except KeyboardInterrupt:
        return
    finally:
        listening.close()


def _serve_many(settings: "Settings", listening: socket.socket, workers: int) -> None:
    import uvicorn
    from uvicorn.supervisors import Multiprocess

    from findspot import datafolder
    from findspot.keys import owner_token

    datafolder.make(settings.data)
    os.environ["FINDSPOT_DATA"] = str(settings.data)
    config = uvicorn.Config(
        "findspot.surfaces.cli.serve:worker_api", factory=True, workers=workers, **_uvicorn_options()
    )
    _welcome(settings, _url(settings, listening), owner_token(settings))
    Multiprocess(config, sockets=[listening]).run()


def worker_api() -> "FastAPI":
    """The API in one of several processes; they are told apart by nothing but the database."""
    from findspot.keys import owner_token
    from findspot.settings import Settings
    from findspot.surfaces.http.api import create_api

    settings = Settings()
    _configure_logs(settings, owner_token(settings))
    return create_api(settings)


def _configure_logs(settings: "Settings", token: str) -> None:
    from findspot import logs

    logs.configure(settings.log_level, settings.log_format, secrets=(token,))


def _loop_factory() -> Any:
    try:
        import uvloop
    except ImportError:  # not made for every platform; asyncio's own loop does as well, only slower
        return None
    return uvloop.new_event_loop
