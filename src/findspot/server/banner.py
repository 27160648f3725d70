"""The lines that `findspot serve` prints when it starts and stops."""

import sys
from typing import TYPE_CHECKING

import click

from findspot import __version__
from findspot.runtime.owner_token import token_file
from findspot.surfaces.cli.printing import facts, styled

if TYPE_CHECKING:
    from findspot.settings import Settings


def print_started(settings: "Settings", token: str) -> None:
    """Print where the server is. The owner's token is printed to a terminal only: logs are kept and shared."""
    url = settings.address
    link = f"{url}/?token={token}"
    lines = (
        ("Open", link if sys.stdout.isatty() else f"{url}/?token=… ({_token_source(settings)})"),
        ("API", f"{url}/api/v1"),
        ("Data", "PostgreSQL" if settings.database_url else f"SQLite, in {settings.data.resolve()}"),
    )
    option = "" if settings.data == type(settings).model_fields["data"].default else f" --data {settings.data}"
    text = facts(lines).replace(link, styled(link, fg="cyan"))
    click.echo(
        f"{styled('Findspot', bold=True)} {__version__} is running.\n\n{text}\n\n"
        f"Ctrl-C stops it. In another terminal: findspot project create{option} NAME\n"
    )


def _token_source(settings: "Settings") -> str:
    if settings.token is not None:
        return "the token is the value of FINDSPOT_TOKEN"
    return f"the token is in {token_file(settings.data).resolve()}"


def print_stopped() -> None:
    click.echo("\nFindspot has stopped.")
