"""Helper processes that outlive the app of a test: to start one takes longer than most tests do."""

from collections import defaultdict

from findspot.runtime.call_limits import CallLimits
from findspot.runtime.processes import Process


class KeptHelpers:
    """Helper processes that no app uses at the moment, by their limits."""

    def __init__(self) -> None:
        self._free: dict[CallLimits | None, list[_Kept]] = defaultdict(list)
        self._is_closed = False

    def lend(self, *, limits: CallLimits | None = None) -> Process:
        """Return a process that waits for calls: one that another app has returned, or a new one."""
        while self._free[limits]:
            process = self._free[limits].pop()
            if not process.has_ended:
                return process
            process.end()
        return _Kept(self, limits)

    def take_back(self, process: "_Kept", limits: CallLimits | None) -> None:
        if self._is_closed:
            process.end()
        else:
            self._free[limits].append(process)

    def close(self) -> None:
        self._is_closed = True
        for processes in self._free.values():
            while processes:
                processes.pop().end()


class _Kept(Process):
    """A process that is returned instead of stopped, unless it was killed or a call in it failed half-way."""

    def __init__(self, keeper: KeptHelpers, limits: CallLimits | None) -> None:
        super().__init__(limits=limits)
        self._keeper = keeper
        self._kept_limits = limits
        self._is_usable = True

    def kill(self) -> None:
        self._is_usable = False
        super().kill()

    def stop(self) -> None:
        if self._is_usable:
            self._keeper.take_back(self, self._kept_limits)
        else:
            self.end()

    def end(self) -> None:
        super().stop()
