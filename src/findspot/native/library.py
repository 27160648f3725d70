"""Loads the compiled C functions, and passes arrays to them."""

from __future__ import annotations

import ctypes
import hashlib
from collections.abc import Callable
from ctypes import c_bool
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy.typing as npt

FOLDER = Path(__file__).parent


def function(name: str, *arguments: Any, returns: Any = None) -> Callable[..., Any]:
    """Return a C function. `arguments` are ctypes: `c_void_p` for the address of an array, `c_int64` for a size."""
    try:
        found = getattr(loaded(), name)
    except (AttributeError, OSError) as error:
        raise RuntimeError(f"The compiled part of Findspot is missing or old ({error}). Run `make install`.") from error
    found.argtypes, found.restype = arguments, returns
    called: Callable[..., Any] = found
    return called


def address(array: npt.NDArray[Any]) -> int:
    """Return where an array begins. Its numbers must stand one after the other, and it must outlive the call."""
    assert array.flags.c_contiguous, "C functions read and write whole arrays"
    place: int = array.ctypes.data
    return place


@cache
def has_wide_registers() -> bool:
    """Return whether C functions may use wide registers, the argument `wide`: native/processor.h."""
    found: bool = function("has_wide_registers", returns=c_bool)()
    return found


def library_name(folder: Path) -> str:
    """Return the name of the library that is compiled of the C files of a folder. A change of any gives another name.

    So no function is called with arguments that an older library does not expect. `hatch_build.py` asks for it, too.
    """
    sources = hashlib.sha256()
    for file in sorted(folder.glob("*.[ch]")):
        sources.update(file.read_bytes())
    return f"libfindspot-{sources.hexdigest()[:16]}.so"


@cache
def loaded() -> ctypes.CDLL:
    """Return the library, which stays loaded."""
    return ctypes.CDLL(str(FOLDER / library_name(FOLDER)))
