"""Memory and processor time of processes, and the disk space of a folder. Linux only."""

import os
import re
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

GONE = FileNotFoundError, ProcessLookupError
# For a process that measures Findspot inside itself, as `tune_process` sets it: numpy reads it when it is loaded.
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1"}


def family(roots: Iterable[int]) -> set[int]:
    """Return these processes and their descendants."""
    found = set(roots)
    waiting = list(found)
    while waiting:
        for file in Path(f"/proc/{waiting.pop()}/task").glob("*/children"):
            try:
                new = set(map(int, file.read_text().split())) - found
            except GONE:  # it has just ended
                continue
            found |= new
            waiting += new
    return found


def memory_mb(roots: Iterable[int]) -> tuple[float, float]:
    """Return the megabytes of processes and their descendants: resident, shared memory counted once; and without the
    pages of files."""
    resident = own = 0
    for pid in family(roots):
        try:
            sizes = _sizes(pid)
        except GONE:
            continue
        resident += sizes.get("Pss", 0)
        own += sizes.get("Pss_Anon", 0)
    return resident / 1024, own / 1024


def own_memory_mb(pid: int) -> float:
    """Return the megabytes of one process without the pages of files."""
    return _sizes(pid)["Pss_Anon"] / 1024


def _sizes(pid: int) -> dict[str, int]:
    rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return {name: int(size) for name, size in re.findall(r"^(\w+):\s+(\d+) kB$", rollup, re.MULTILINE)}


def processor_s(roots: Iterable[int]) -> float:
    """Return the seconds of processor time of processes and their descendants, those that have ended included."""
    ticks = 0
    for pid in family(roots):
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except GONE:
            continue
        ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def wait_until_idle(roots: Sequence[int], longest_s: float = 60.0) -> None:
    """Wait until processes use less than a twentieth of a core, for example after merges of the index."""
    deadline, idle_s = time.monotonic() + longest_s, 2.0
    while time.monotonic() < deadline:
        before = processor_s(roots)
        time.sleep(idle_s)
        if processor_s(roots) - before < idle_s / 20:
            return


def disk_mb(folder: Path) -> float:
    total = 0
    for place, _, files in os.walk(folder):
        for file in files:
            try:
                total += (Path(place) / file).stat().st_blocks * 512
            except GONE:  # merged or replaced meanwhile
                continue
    return total / 1e6
