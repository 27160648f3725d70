"""`findspot serve`: one process under a supervisor, or several API processes and one for the index worker."""

import contextlib
import socket
from pathlib import Path
from typing import TYPE_CHECKING

import click

from findspot.runtime import descriptors
from findspot.runtime.peers import WORKER, Team
from findspot.server.startup import claim_folder, listen, name_process, require_free_folder
from findspot.server.supervisor import Supervisor
from findspot.surfaces.cli.failure import Failure
from findspot.surfaces.cli.opening import read_settings, unknown_settings

if TYPE_CHECKING:
    from findspot.runtime.data_folder import DataFolder
    from findspot.runtime.peers import Peers
    from findspot.server.supervisor import SupervisorLink
    from findspot.settings import Settings


@click.command()
@click.option("--host", metavar="ADDRESS", help="Address to listen on (FINDSPOT_HOST, default 127.0.0.1).")
@click.option("--port", type=int, metavar="N", help="Port to listen on (FINDSPOT_PORT, default 8321; 0: any free one).")
@click.option("--data", type=click.Path(path_type=Path), metavar="DIR", help="The data folder (FINDSPOT_DATA).")
@click.option(
    "--workers", type=click.IntRange(min=1), default=1, metavar="N",
    help="Number of API processes (1). With more, the index worker has a process of its own.",
)  # fmt: skip
@click.option("--no-worker", is_flag=True, help="Do not index here. Needs PostgreSQL and turbopuffer.")
@click.option("--take-over", is_flag=True, help="Build the index here, if that of the database is elsewhere.")
def command(
    host: str | None, port: int | None, data: Path | None, workers: int, no_worker: bool, take_over: bool
) -> None:
    """Start the server: API, MCP endpoints and index worker.

    It listens on 127.0.0.1:8321. Ctrl-C or SIGTERM stops it; no saved data is lost.

    If a process of the server is killed, it is restarted at once. Connections made in between wait.
    """
    settings = read_settings(data, host=host, port=port)
    if no_worker and not settings.shared:
        raise Failure(
            "--no-worker cannot be used here: no other server can index what is saved.",
            "Omit it, or set FINDSPOT_DATABASE_URL and FINDSPOT_ENGINE=turbopuffer.",
            2,
        )
    for problem, advice in unknown_settings():
        click.echo(f"! {problem} {advice}", err=True)
    require_free_folder(settings)
    descriptors.raise_limit()
    with contextlib.ExitStack() as closing:
        listeners = [closing.enter_context(each) for each in listen(settings.host, settings.port, workers)]
        folder = claim_folder(settings, takes_over=take_over)
        if workers == 1:
            link = Supervisor({1: "The server"}, listeners).run()
            _serve_api(settings, listeners[0], folder, link, worker=not no_worker)
            return
        team = Team(workers)
        titles = {} if no_worker else {WORKER: "The index worker"}
        titles |= {number: f"API process {number}" for number in range(1, workers + 1)}
        link = Supervisor(titles, listeners, team.forget).run()
        peers = team.member(link.number)
        name_process("findspot-index" if peers.is_worker else f"findspot-api-{link.number}")
        if peers.is_worker:
            from findspot.server.index_process import serve_index  # heavy, as below

            closing.close()
            serve_index(settings, folder, link, peers)
        else:
            mine = listeners[(link.number - 1) % len(listeners)]
            for other in listeners:
                if other is not mine:
                    other.close()
            _serve_api(settings, mine, folder, link, peers, worker=False)


def _serve_api(
    settings: "Settings",
    listener: socket.socket,
    folder: "DataFolder",
    link: "SupervisorLink",
    peers: "Peers | None" = None,
    *,
    worker: bool,
) -> None:
    from findspot.server.api_process import serve_api  # heavy; the supervisor must not load it

    serve_api(settings, listener, folder, link, peers, worker=worker)
