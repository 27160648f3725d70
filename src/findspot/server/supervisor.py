"""The process that a person starts: it keeps the port and the data folder, and restarts the processes that serve.

They map files into memory. The kernel kills a process that reads past the end of a truncated mapped file (SIGBUS). So
they are children, forked from this process, and this one does nothing that could kill it. During a restart, connections
wait in the backlog of the port, and no other process can claim the data folder.
"""

import contextlib
import os
import select
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

import click

from findspot.server.banner import print_stopped
from findspot.surfaces.cli.failure import Failure

_STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_NO_RESTART = (*_STOP_SIGNALS, signal.SIGHUP)  # a child killed by one of these was ended on purpose
_WINDOW_S = 30
_DELAYS_S = (0, 0.25, 0.5, 1)  # before the first restart in the window, the second, …; one more death is the last
_STOP_S = 9  # after a stop signal; then the children are killed
_PR_SET_PDEATHSIG = 1
_STARTED, _FORCE_STOP = b"g", b"!"


class SupervisorLink:
    """A child's connection to its supervisor. The child kills itself when the supervisor is gone."""

    def __init__(self, end: socket.socket, number: int, *, has_started: bool, is_alone: bool = True) -> None:
        self.number = number
        self.has_started = has_started  # an earlier process with this number was ready
        self.is_alone = is_alone  # the supervisor has no other child
        self.on_force_stop: Callable[[], None] = lambda: None  # called on a second Ctrl-C
        self._end = end
        if sys.platform == "linux":
            _kill_with_parent()
        threading.Thread(target=self._receive, name="supervisor-link", daemon=True).start()

    def report_started(self) -> None:
        """Tell the supervisor that this process is ready."""
        self.has_started = True
        self._end.send(_STARTED)

    def _receive(self) -> None:
        while _next_byte(self._end):
            self.on_force_stop()
        os.kill(os.getpid(), signal.SIGKILL)  # as the kernel does on Linux; acknowledged writes are on disk


@dataclass(slots=True)
class _Child:
    """A process that is to run, and the time at which it is to be started, if it does not run."""

    number: int
    title: str
    start_at: float | None = None
    pid: int = 0
    link: socket.socket | None = None
    has_started: bool = False
    deaths: list[float] = field(default_factory=list)


class Supervisor:
    """Starts children, forwards stop signals to them, and restarts each one when a signal kills it.

    `titles` names them by number. The first one is started alone: it creates what the others find. `forget` is called
    with the number of a child that has ended.
    """

    def __init__(
        self,
        titles: Mapping[int, str],
        listeners: Sequence[socket.socket],
        forget: Callable[[int], None] = lambda number: None,
    ) -> None:
        self._children = [_Child(number, title) for number, title in titles.items()]
        self._children[0].start_at = 0.0
        self._listeners = listeners
        self._forget = forget
        self._stop_signal: int | None = None
        self._kill_at: float | None = None
        self._is_stopping = False
        self._codes: list[int] = []  # how children ended while all were being stopped
        self._failure: Failure | None = None
        self._signals, self._wakeup = socket.socketpair()
        self._wakeup.setblocking(False)

    def run(self) -> SupervisorLink:
        """Fork. Return in the children only; the supervisor's process ends in here."""
        signal.set_wakeup_fd(self._wakeup.fileno())
        for number in _STOP_SIGNALS:
            signal.signal(number, lambda *_: None)  # read from the wake-up descriptor, so none is lost before a wait
        while True:
            for child in self._due():
                ours, theirs = socket.socketpair()
                pid = os.fork()
                if pid == 0:
                    ours.close()
                    return self._become(child, theirs)
                theirs.close()
                child.pid, child.link, child.start_at = pid, ours, None
            self._wait()
            if self._is_stopping and not self._running():
                self._end()

    def _due(self) -> list[_Child]:
        now = time.monotonic()
        return [] if self._is_stopping else [each for each in self._children if _is_due(each, now)]

    def _running(self) -> list[_Child]:
        return [each for each in self._children if each.link is not None]

    def _become(self, child: _Child, end: socket.socket) -> SupervisorLink:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # Ctrl-C reaches all; the supervisor forwards it
        signal.signal(signal.SIGTERM, signal.SIG_DFL)  # before the descriptor is closed, so that none is lost
        signal.set_wakeup_fd(-1)
        for each in (self._signals, self._wakeup, *(other.link for other in self._children)):
            if each is not None:
                each.close()  # a link that another child has open would not end with the supervisor
        is_alone = len(self._children) == 1
        return SupervisorLink(end, child.number, has_started=child.has_started, is_alone=is_alone)

    # ── waiting ──

    def _wait(self) -> None:
        """Wait for the next event: a signal, a message or the end of a child, or the time to start or to kill one."""
        links = {each.link: each for each in self._children if each.link is not None}
        ready, _, _ = select.select([self._signals, *links], [], [], self._left_s())
        if self._kill_at is not None and time.monotonic() >= self._kill_at:
            self._kill_all()
        if self._signals in ready:
            for number in self._signals.recv(64):
                self._forward(number)
        for link, child in links.items():
            if link in ready:
                self._read(child)

    def _left_s(self) -> float | None:
        times = [each.start_at for each in self._children if not self._is_stopping] + [self._kill_at]
        known = [each for each in times if each is not None]
        return max(0.0, min(known) - time.monotonic()) if known else None

    def _read(self, child: _Child) -> None:
        assert child.link is not None
        if _next_byte(child.link):
            child.has_started = True
            for each in self._children:
                if not each.pid and each.start_at is None:
                    each.start_at = 0.0
            return
        child.link.close()
        child.link = None
        self._forget(child.number)
        self._restart_or_stop(child, os.waitstatus_to_exitcode(os.waitpid(child.pid, 0)[1]))

    def _forward(self, number: int) -> None:
        if self._stop_signal and number == signal.SIGINT:
            for child in self._running():
                with contextlib.suppress(OSError):  # the child has ended
                    child.link.send(_FORCE_STOP)  # type: ignore[union-attr]
            return
        self._stop_signal = self._stop_signal or number
        self._stop_all()

    def _stop_all(self) -> None:
        self._kill_at = self._kill_at if self._is_stopping else time.monotonic() + _STOP_S
        self._is_stopping = True
        for listener in self._listeners:
            listener.close()  # the children close their own copies: then new connections are refused
        for child in self._running():
            os.kill(child.pid, signal.SIGTERM)

    def _kill_all(self) -> None:
        """Kill the children that do not stop in time: something that they cannot interrupt holds them up."""
        self._kill_at = None
        for child in self._running():
            click.echo(f"{child.title} did not stop in time and was killed. No saved data is lost.", err=True)
            os.kill(child.pid, signal.SIGKILL)

    # ── ends ──

    def _restart_or_stop(self, child: _Child, ended: int) -> None:
        """Have a child restarted that a signal has killed. Stop everything if it has ended in another way."""
        if self._is_stopping and ended == -signal.SIGTERM:
            return  # it was still starting and had no handler yet, so it had nothing to close
        if self._is_stopping or ended >= 0 or -ended in _NO_RESTART:
            self._codes.append(ended)
            if not self._is_stopping:
                self._stop_all()
            return
        now = time.monotonic()
        child.deaths = [*(death for death in child.deaths if now - death < _WINDOW_S), now]
        if len(child.deaths) > len(_DELAYS_S):
            self._failure = Failure(
                f"{child.title} was killed by {_signal_name(-ended)}, for the {len(child.deaths)}th time within "
                f"{_WINDOW_S} seconds. It is not restarted. All acknowledged changes are kept.",
                "'findspot doctor' checks the installation; 'findspot serve' starts the server again.",
                7,
            )
            self._stop_all()
            return
        click.echo(
            f"{child.title} was killed by {_signal_name(-ended)}. Restarting it; no saved data is lost.", err=True
        )
        child.start_at = now + _DELAYS_S[len(child.deaths) - 1]

    def _end(self) -> NoReturn:
        """End as the children did."""
        if self._failure is not None:
            raise self._failure
        killed = [-code for code in self._codes if code < 0]
        if killed:
            _end_by(self._stop_signal or killed[0])
        code = max(self._codes, default=0)
        if code == 0 and (len(self._children) > 1 or not self._codes):
            print_stopped()
        raise SystemExit(code)


def _is_due(child: _Child, now: float) -> bool:
    return child.link is None and child.start_at is not None and child.start_at <= now


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
