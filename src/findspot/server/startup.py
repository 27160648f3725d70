"""Claim what a server needs exclusively: the data folder and the port."""

import socket
import sys
import time
from typing import TYPE_CHECKING

from findspot.surfaces.cli.failure import Failure
from findspot.surfaces.cli.opening import opening_failures

if TYPE_CHECKING:
    from findspot.runtime.data_folder import DataFolder
    from findspot.settings import Settings

_COMMAND_HOLDS_S = 5  # how long to wait for a command that uses the data folder
_POLL_S = 0.05
_PR_SET_NAME = 15


def require_free_folder(settings: "Settings") -> None:
    """Raise a Failure if another server owns the data folder. Wait for a command: it releases the folder soon.

    Checked before the port, so that a second server reports the folder and not the taken port.
    """
    from findspot.runtime.data_folder import FolderInUse, owner_of

    deadline = time.monotonic() + _COMMAND_HOLDS_S
    with opening_failures(settings):
        while not settings.shared and (owner := owner_of(settings.data)):
            if owner.url or time.monotonic() > deadline:
                raise Failure(str(FolderInUse(settings.data, owner)), exit_code=7)
            time.sleep(_POLL_S)


def claim_folder(settings: "Settings", *, takes_over: bool = False) -> "DataFolder":
    """Return the data folder, locked unless all data is in shared services."""
    from findspot.runtime.data_folder import DataFolder, FolderInUse

    folder = DataFolder(settings.data, takes_over=takes_over)
    try:
        with opening_failures(settings):
            return folder if settings.shared else folder.claim()
    except FolderInUse as error:
        raise Failure(str(error), exit_code=7) from None


def name_process(name: str) -> None:
    """Name this process for `ps` and `top`, where the system can do that. At most 15 characters count."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_NAME, name.encode(), 0, 0, 0)


def listen(host: str, port: int, processes: int = 1) -> list[socket.socket]:
    """Return a listening socket for each process. Connections wait in its backlog until the process is ready.

    With one socket, the process that wakes first would accept all connections that wait. On Linux the kernel spreads
    connections over several sockets. Elsewhere it does not, and all processes share one.
    """
    advice = "Choose another port with --port, or --port 0 for any free one; --host sets the address."
    listeners: list[socket.socket] = []
    spread = processes > 1 and sys.platform == "linux"
    try:
        if spread:
            _bound(host, port).close()  # refuses a port that is taken, even by another server that spreads
        for _ in range(processes if spread else 1):
            listeners.append(_bound(host, port, spread=spread))
            port = listeners[0].getsockname()[1]  # 0 stands for any free one
        for listener in listeners:
            listener.listen(socket.SOMAXCONN)
            listener.set_inheritable(True)
    except OSError as error:
        for listener in listeners:
            listener.close()
        raise Failure(f"Cannot listen on {host}:{port}: {error.strerror}.", advice, 7) from None
    return listeners


def _bound(host: str, port: int, *, spread: bool = False) -> socket.socket:
    bound = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if spread:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    try:
        bound.bind((host, port))
    except OSError:
        bound.close()
        raise
    return bound
