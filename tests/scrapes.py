"""Reads what /metrics answers."""

import re
from collections import defaultdict

_PROCESS = re.compile(r'(?:process|role)="[^"]*",?')


def figures(text: str) -> dict[str, float]:
    """Return the figures by name and labels, summed over all processes."""
    found: defaultdict[str, float] = defaultdict(float)
    for line in text.splitlines():
        if not line.startswith("#"):
            name, _, value = line.rpartition(" ")
            found[_PROCESS.sub("", name).replace(",}", "}")] += float(value)
    return dict(found)


def processes(text: str, name: str) -> set[str]:
    """Return the processes with a figure of this name."""
    return set(re.findall(rf'^{name}\{{.*process="([^"]*)"', text, re.MULTILINE))
