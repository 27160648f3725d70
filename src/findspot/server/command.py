"""`findspot serve`: one API process under a supervisor, or several over shared services."""

from pathlib import Path

import click

from findspot.runtime import descriptors
from findspot.server.startup import claim_folder, listen, require_free_folder
from findspot.server.supervisor import Supervisor
from findspot.surfaces.cli.failure import Failure
from findspot.surfaces.cli.opening import read_settings, unknown_settings


@click.command()
@click.option("--host", metavar="ADDRESS", help="Address to listen on (FINDSPOT_HOST, default 127.0.0.1).")
@click.option("--port", type=int, metavar="N", help="Port to listen on (FINDSPOT_PORT, default 8321; 0: any free one).")
@click.option("--data", type=click.Path(path_type=Path), metavar="DIR", help="The data folder (FINDSPOT_DATA).")
@click.option(
    "--workers", type=click.IntRange(min=1), default=1, metavar="N",
    help="Number of API processes; more than 1 needs PostgreSQL and turbopuffer.",
)  # fmt: skip
@click.option("--take-over", is_flag=True, help="Build the index here, if that of the database is elsewhere.")
def command(host: str | None, port: int | None, data: Path | None, workers: int, take_over: bool) -> None:
    """Start the server: API, MCP endpoints and index worker.

    It listens on 127.0.0.1:8321. Ctrl-C or SIGTERM stops it; no saved data is lost.

    If the server process is killed, it is restarted at once. Connections made in between wait.
    """
    settings = read_settings(data, host=host, port=port)
    if workers > 1 and not settings.shared:
        raise Failure(
            f"--workers {workers} cannot be used here: the embedded engine and SQLite allow one API process.",
            "Omit --workers, or set FINDSPOT_DATABASE_URL and FINDSPOT_ENGINE=turbopuffer.",
            2,
        )
    for problem, advice in unknown_settings():
        click.echo(f"! {problem} {advice}", err=True)
    require_free_folder(settings)
    descriptors.raise_limit()
    with listen(settings.host, settings.port) as listener:
        if workers > 1:
            from findspot.server.workers import serve_workers  # heavy; not needed for --help

            serve_workers(settings, listener, workers, claim_folder(settings, takes_over=take_over))
        else:
            folder = claim_folder(settings, takes_over=take_over)
            link = Supervisor(listener).run()

            from findspot.server.api_process import serve_api  # heavy; only the API process loads it

            serve_api(settings, listener, folder, link)
