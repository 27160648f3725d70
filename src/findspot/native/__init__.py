"""What runs as machine code? Inner loops over texts and arrays, in C, without Python's lock.

`library` loads the compiled functions. Each has a Python function in the package that uses it, which prepares its
arrays: no other code calls C. `hatch_build.py` compiles the C files when Findspot is installed.
"""

from findspot.native.library import address, function, has_wide_registers, points

__all__ = ["address", "function", "has_wide_registers", "points"]
