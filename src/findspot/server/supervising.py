"""The process that a person starts: it keeps the port and the data folder, and starts a killed server anew.

The server maps files into its memory, and whoever reads a mapped file that was cut short is killed on the spot. So it
runs in a process of its own, forked from this one, which does nothing that could kill it. While the server is started
anew, connections wait on the port and no one else can take the folder.
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

from findspot.server.listening import farewell
from findspot.surfaces.cli.outcome import Failure

_ASKED_TO_END = (signal.SIGINT, signal.SIGTERM)
_PASSED_ON = (*_ASKED_TO_END, signal.SIGHUP)  # whoever sends one of these to the server does not want it anew
_WINDOW_S = 30
_PAUSES_S = (0, 0.25, 0.5, 1)  # after the first death in the window, the second, …; one more is the last
_PR_SET_PDEATHSIG = 1
_GREETED, _AT_ONCE = b"g", b"!"


class Line:
    """The server's connection with the process that watches over it. The server ends as soon as that one is gone."""

    def __init__(self, end: socket.socket, greeted: bool) -> None:
        self.greeted = greeted  # a server before this one has printed the link
        self.at_once: Callable[[], None] = lambda: None  # what to do when a second Ctrl-C asks for a quick end
        self._end = end
        if sys.platform == "linux":
            _killed_with_parent()
        threading.Thread(target=self._hear, name="line", daemon=True).start()

    def greet(self) -> None:
        self.greeted = True
        self._end.send(_GREETED)

    def _hear(self) -> None:
        while _received(self._end):
            self.at_once()
        os.kill(os.getpid(), signal.SIGKILL)  # as on Linux; what was acknowledged is on disk


class Supervisor:
    """Starts the server, passes on what it is asked to do, and starts it anew when it was killed."""

    def __init__(self, listening: socket.socket) -> None:
        self._listening = listening
        self._greeted = False
        self._asked: int | None = None
        self._deaths: list[float] = []
        self._woken, self._wake = socket.socketpair()
        self._wake.setblocking(False)

    def run(self) -> Line:
        """Returns in the server's process only; the process that calls this ends in here."""
        signal.set_wakeup_fd(self._wake.fileno())
        for each in _ASKED_TO_END:
            signal.signal(each, lambda *_: None)  # it is heard through the descriptor, also when it comes before a wait
        while True:
            ours, theirs = socket.socketpair()
            server = os.fork()
            if server == 0:
                ours.close()
                return self._become_server(theirs)
            theirs.close()
            with ours:
                self._judge(self._watch(server, ours))

    def _become_server(self, end: socket.socket) -> Line:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # Ctrl-C reaches both; the supervisor passes it on
        signal.signal(signal.SIGTERM, signal.SIG_DFL)  # before the descriptor goes, so that none is lost in between
        signal.set_wakeup_fd(-1)
        self._woken.close()
        self._wake.close()
        return Line(end, self._greeted)

    def _watch(self, server: int, line: socket.socket) -> int:
        """Wait for the end of the server; gives its exit code, or the signal that killed it as a negative number."""
        while True:
            ready, _, _ = select.select([self._woken, line], [], [])
            if self._woken in ready:
                for asked in self._woken.recv(64):
                    self._pass_on(asked, server, line)
            if line in ready:
                if not _received(line):
                    return os.waitstatus_to_exitcode(os.waitpid(server, 0)[1])
                self._greeted = True

    def _pass_on(self, asked: int, server: int, line: socket.socket) -> None:
        if self._asked and asked == signal.SIGINT:
            with contextlib.suppress(OSError):  # it has ended meanwhile
                line.send(_AT_ONCE)
            return
        self._asked = self._asked or asked
        self._listening.close()  # the server closes its own: new connections are refused from then on
        os.kill(server, signal.SIGTERM)

    def _judge(self, ended: int) -> None:
        """End as the server did, or come back when it is to be started anew."""
        if ended >= 0:
            raise SystemExit(ended)
        if self._asked or -ended in _PASSED_ON:
            _end_by(self._asked or -ended)
        now = time.monotonic()
        self._deaths = [*(death for death in self._deaths if now - death < _WINDOW_S), now]
        if len(self._deaths) > len(_PAUSES_S):
            raise Failure(
                f"The server was killed by {_name(-ended)}, for the {len(self._deaths)}th time within {_WINDOW_S} "
                "seconds. It is not started again. All that was acknowledged is kept.",
                "'findspot doctor' looks for what is wrong; 'findspot serve' starts it again.",
                7,
            )
        click.echo(
            f"The server was killed by {_name(-ended)} and is being started again. Nothing saved is lost.", err=True
        )
        if select.select([self._woken], [], [], _PAUSES_S[len(self._deaths) - 1])[0]:
            farewell()
            raise SystemExit(0)


def _received(end: socket.socket) -> bytes:
    """The next byte, or none once the other process has ended."""
    try:
        return end.recv(1)
    except ConnectionResetError:  # it ended with something unread
        return b""


def _killed_with_parent() -> None:
    """The kernel does it even while native code keeps every thread of Python waiting."""
    import ctypes

    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _end_by(number: int) -> NoReturn:
    """End as a process does that knows nothing of the signal; Ctrl-C has an exit code of its own."""
    if number == signal.SIGINT:
        raise click.Abort
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    raise SystemExit(128 + number)  # only if the signal is blocked


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # a real-time signal
        return f"signal {number}"
