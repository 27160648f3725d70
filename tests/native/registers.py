"""Runs code with the plain registers, then with the wide ones if this processor has them."""

from collections.abc import Iterator
from types import ModuleType

import pytest

from findspot.native import has_wide_registers


def widths(module: ModuleType) -> Iterator[bool]:
    """Have a module use each kind of registers in turn, and yield whether they are the wide ones."""
    for wide in sorted({False, has_wide_registers()}):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, "has_wide_registers", lambda wide=wide: wide)
            yield wide
