"""Where a server listens, and the link that it prints."""

import socket
import time
from typing import TYPE_CHECKING

import click

from findspot import __version__
from findspot.surfaces.cli.opening import said_plainly
from findspot.surfaces.cli.outcome import Failure
from findspot.surfaces.cli.printing import facts, styled

if TYPE_CHECKING:
    from findspot.runtime.data_folder import DataFolder
    from findspot.settings import Settings

_BUSY_S = 5  # what a command may still need the data folder for when the server starts


def check_free(settings: "Settings") -> None:
    """Refuse a folder that another server has, before its port is found taken too. A command's hold passes soon."""
    from findspot.runtime.data_folder import FolderInUse, owner_of

    deadline = time.monotonic() + _BUSY_S
    with said_plainly(settings):
        while not settings.shared and (owner := owner_of(settings.data)):
            if owner.url or time.monotonic() > deadline:
                raise Failure(str(FolderInUse(settings.data, owner)), exit_code=7)
            time.sleep(0.05)


def claim(settings: "Settings") -> "DataFolder":
    """The data folder, claimed unless everything lives elsewhere."""
    from findspot.runtime.data_folder import DataFolder, FolderInUse

    folder = DataFolder(settings.data)
    try:
        with said_plainly(settings):
            return folder if settings.shared else folder.claim()
    except FolderInUse as error:
        raise Failure(str(error), exit_code=7) from None


def listen(host: str, port: int) -> socket.socket:
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


def welcome(settings: "Settings", url: str, token: str) -> None:
    link = f"{url}/?token={token}"
    where = (
        ("Open", link),
        ("API", f"{url}/api/v1"),
        ("Data", "PostgreSQL" if settings.database_url else f"SQLite, in {settings.data.resolve()}"),
    )
    elsewhere = "" if settings.data == type(settings).model_fields["data"].default else f" --data {settings.data}"
    told = facts(where).replace(link, styled(link, fg="cyan"))
    click.echo(
        f"{styled('Findspot', bold=True)} {__version__} is running.\n\n{told}\n\n"
        f"Ctrl-C stops it. In another terminal: findspot project create{elsewhere} NAME\n"
    )


def farewell() -> None:
    click.echo("\nFindspot has stopped.")
