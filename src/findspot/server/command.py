"""`findspot serve`: everything in one process under a supervisor, or several processes over shared services."""

from pathlib import Path

import click

from findspot.server.listening import check_free, claim, listen
from findspot.server.supervising import Supervisor
from findspot.surfaces.cli.opening import read_settings
from findspot.surfaces.cli.outcome import Failure


@click.command()
@click.option("--host", metavar="ADDRESS", help="Address to listen on (FINDSPOT_HOST, default 127.0.0.1).")
@click.option("--port", type=int, metavar="N", help="Port to listen on (FINDSPOT_PORT, default 8321; 0: any free one).")
@click.option("--data", type=click.Path(path_type=Path), metavar="DIR", help="The data folder (FINDSPOT_DATA).")
@click.option(
    "--workers", type=click.IntRange(min=1), default=1, metavar="N",
    help="Processes; above 1 needs PostgreSQL and turbopuffer.",
)  # fmt: skip
def command(host: str | None, port: int | None, data: Path | None, workers: int) -> None:
    """Start the server: API and storage, on 127.0.0.1:8321. Ctrl-C or SIGTERM ends it, with nothing lost.

    Should the server be killed, it is started again at once; connections made meanwhile wait.
    """
    settings = read_settings(data, host=host, port=port)
    if workers > 1 and not settings.shared:
        raise Failure(
            f"--workers {workers} cannot work here: the embedded engine and SQLite belong to one serving process.",
            "Leave --workers out, or set FINDSPOT_DATABASE_URL and FINDSPOT_ENGINE=turbopuffer.",
            2,
        )
    check_free(settings)
    with listen(settings.host, settings.port) as listening:
        if workers > 1:
            from findspot.server.workers import serve_many  # here, since `--help` needs none of it

            serve_many(settings, listening, workers)
        else:
            folder = claim(settings)
            line = Supervisor(listening).run()

            from findspot.server.serving import serve_one  # in the server alone: the supervisor stays light

            serve_one(settings, listening, folder, line)
