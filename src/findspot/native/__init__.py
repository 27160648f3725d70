"""What runs as machine code? Inner loops over texts and arrays, in C, without Python's lock.

`library` loads the compiled functions, and `characters` makes arrays of texts. Each C function has a Python function in
the package that uses it, which prepares its arrays: no other code calls C. `hatch_build.py` compiles the C files when
Findspot is installed.
"""

from findspot.native.characters import PLANE, encoded, first_plane, matching, points, text_of
from findspot.native.library import address, function, has_wide_registers

__all__ = [
    "PLANE",
    "address",
    "encoded",
    "first_plane",
    "function",
    "has_wide_registers",
    "matching",
    "points",
    "text_of",
]
