"""The process that a person starts: it keeps the port and the data folder, and restarts the API process.

The API process maps files into memory. The kernel kills a process that reads past the end of a truncated mapped file
(SIGBUS). So the API runs in a child process, forked from this one, and this one does nothing that could kill it. During
a restart, connections wait in the backlog of the port, and no other process can claim the data folder.
"""

import contextlib
import os
import select
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from typing import NoReturn

import click

from findspot.server.banner import print_stopped
from findspot.surfaces.cli.failure import Failure

_STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_NO_RESTART = (*_STOP_SIGNALS, signal.SIGHUP)  # a child killed by one of these was ended on purpose
_WINDOW_S = 30
_DELAYS_S = (0, 0.25, 0.5, 1)  # before the first restart in the window, the second, …; one more death is the last
_STOP_S = 9  # after a stop signal; then the API process is killed
_PR_SET_PDEATHSIG = 1
_STARTED, _FORCE_STOP = b"g", b"!"


class SupervisorLink:
    """The API process's connection to its supervisor. The API process kills itself when the supervisor is gone."""

    def __init__(self, end: socket.socket, has_printed: bool) -> None:
        self.has_printed = has_printed  # an earlier API process has printed the address
        self.on_force_stop: Callable[[], None] = lambda: None  # called on a second Ctrl-C
        self._end = end
        if sys.platform == "linux":
            _kill_with_parent()
        threading.Thread(target=self._receive, name="supervisor-link", daemon=True).start()

    def report_printed(self) -> None:
        self.has_printed = True
        self._end.send(_STARTED)

    def _receive(self) -> None:
        while _next_byte(self._end):
            self.on_force_stop()
        os.kill(os.getpid(), signal.SIGKILL)  # as the kernel does on Linux; acknowledged writes are on disk


class Supervisor:
    """Starts the API process, forwards stop signals to it, and restarts it when a signal kills it."""

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self._has_printed = False
        self._stop_signal: int | None = None
        self._kill_at: float | None = None
        self._deaths: list[float] = []
        self._signals, self._wakeup = socket.socketpair()
        self._wakeup.setblocking(False)

    def run(self) -> SupervisorLink:
        """Fork. Return in the API process only; the supervisor's process ends in here."""
        signal.set_wakeup_fd(self._wakeup.fileno())
        for number in _STOP_SIGNALS:
            signal.signal(number, lambda *_: None)  # read from the wake-up descriptor, so none is lost before a wait
        while True:
            ours, theirs = socket.socketpair()
            child = os.fork()
            if child == 0:
                ours.close()
                return self._become_api_process(theirs)
            theirs.close()
            with ours:
                self._end_or_restart(self._wait(child, ours))

    def _become_api_process(self, end: socket.socket) -> SupervisorLink:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # Ctrl-C reaches both; the supervisor forwards it
        signal.signal(signal.SIGTERM, signal.SIG_DFL)  # before the descriptor is closed, so that none is lost
        signal.set_wakeup_fd(-1)
        self._signals.close()
        self._wakeup.close()
        return SupervisorLink(end, self._has_printed)

    def _wait(self, child: int, link: socket.socket) -> int:
        """Wait for the child to end. Return its exit code, or the signal that killed it as a negative number.

        A child that does not stop in time is killed: something that it cannot interrupt holds it up.
        """
        while True:
            left_s = None if self._kill_at is None else max(0.0, self._kill_at - time.monotonic())
            ready, _, _ = select.select([self._signals, link], [], [], left_s)
            if not ready:
                self._kill_at = None
                click.echo("The server did not stop in time and was killed. No saved data is lost.", err=True)
                os.kill(child, signal.SIGKILL)
            if self._signals in ready:
                for number in self._signals.recv(64):
                    self._forward(number, child, link)
            if link in ready:
                if not _next_byte(link):
                    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
                self._has_printed = True

    def _forward(self, number: int, child: int, link: socket.socket) -> None:
        if self._stop_signal and number == signal.SIGINT:
            with contextlib.suppress(OSError):  # the child has ended
                link.send(_FORCE_STOP)
            return
        if self._stop_signal is None:
            self._stop_signal = number
            self._kill_at = time.monotonic() + _STOP_S
        self._listener.close()  # the child closes its own copy: then new connections are refused
        os.kill(child, signal.SIGTERM)

    def _end_or_restart(self, ended: int) -> None:
        """End as the child did, or return when it must be restarted."""
        if ended >= 0:
            raise SystemExit(ended)
        if self._stop_signal or -ended in _NO_RESTART:
            _end_by(self._stop_signal or -ended)
        now = time.monotonic()
        self._deaths = [*(death for death in self._deaths if now - death < _WINDOW_S), now]
        if len(self._deaths) > len(_DELAYS_S):
            raise Failure(
                f"The server was killed by {_signal_name(-ended)}, for the {len(self._deaths)}th time within "
                f"{_WINDOW_S} seconds. It is not restarted. All acknowledged changes are kept.",
                "'findspot doctor' checks the installation; 'findspot serve' starts the server again.",
                7,
            )
        click.echo(f"The server was killed by {_signal_name(-ended)}. Restarting it; no saved data is lost.", err=True)
        if select.select([self._signals], [], [], _DELAYS_S[len(self._deaths) - 1])[0]:
            print_stopped()
            raise SystemExit(0)


def _next_byte(end: socket.socket) -> bytes:
    """Return the next byte, or b"" once the other process has ended."""
    try:
        return end.recv(1)
    except ConnectionResetError:  # it ended with unread data
        return b""


def _kill_with_parent() -> None:
    """Ask the kernel for SIGKILL when the parent ends. This works even while native code blocks all Python threads."""
    import ctypes

    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _end_by(number: int) -> NoReturn:
    """End by the default action of a signal. Ctrl-C has its own exit code."""
    if number == signal.SIGINT:
        raise click.Abort
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    raise SystemExit(128 + number)  # only if the signal is blocked


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # a real-time signal
        return f"signal {number}"
