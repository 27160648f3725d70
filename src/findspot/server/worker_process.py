"""`findspot worker`: an index worker without an API, for installations on PostgreSQL and turbopuffer."""

import asyncio
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import click

from findspot.surfaces.cli.failure import Failure
from findspot.surfaces.cli.opening import opening_failures, read_settings, unknown_settings

if TYPE_CHECKING:
    from findspot.settings import Settings


@click.command()
@click.option("--data", type=click.Path(path_type=Path), metavar="DIR", help="The data folder (FINDSPOT_DATA).")
def command(data: Path | None) -> None:
    """Start an index worker, on any machine.

    It needs PostgreSQL and turbopuffer. Any number of workers share the work: each index has one worker at a time, and
    another takes over within 30 seconds if that one dies. SIGTERM or Ctrl-C stops the worker; the others go on at once.
    'findspot status --processes' lists the workers.
    """
    settings = read_settings(data)
    if not settings.shared:
        raise Failure(
            "'findspot worker' cannot be used here: the embedded engine and SQLite are indexed by 'findspot serve'.",
            "Start 'findspot serve', or set FINDSPOT_DATABASE_URL and FINDSPOT_ENGINE=turbopuffer.",
            2,
        )
    for problem, advice in unknown_settings():
        click.echo(f"! {problem} {advice}", err=True)

    from findspot.server.api_process import loop_factory, tune_process  # heavy; not needed for --help

    tune_process()
    with opening_failures(settings), asyncio.Runner(loop_factory=loop_factory()) as runner:
        runner.run(_work(settings))


async def _work(settings: "Settings") -> None:
    """Index until a signal arrives."""
    from findspot.app import open_app
    from findspot.runtime import metrics
    from findspot.server.api_process import configure_logs
    from findspot.server.index_process import SERVES

    stopped, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    async with open_app(settings, role="worker") as app:
        configure_logs(settings, app.token)
        await app.presence.begin(SERVES, lambda: metrics.of_process(app.presence.id, app.presence.role))
        click.echo(f"Findspot indexes as the process {app.presence.id}. Ctrl-C stops it.")
        await stopped.wait()
        await app.drain()
    click.echo("\nThe index worker has stopped.")
