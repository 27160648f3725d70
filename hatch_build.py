"""Compiles the C code of Findspot while its package is built or installed.

The compiler comes from the package `ziglang`, so that a machine needs none of its own. The library needs
no other one but that of C, and is made for every processor of its architecture.
"""

import os
import runpy
import subprocess
import sys
import sysconfig
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FOLDER = Path("src/findspot/native")
# Without fused multiplications, a sum has the same bits on every machine.
OPTIONS = [
    "-std=c11",
    "-O3",
    "-mcpu=baseline",
    "-ffp-contract=off",
    "-fPIC",
    "-shared",
    "-fvisibility=hidden",
    "-Wall",
    "-Wextra",
    "-Werror",
]


class NativeBuildHook(BuildHookInterface):  # type: ignore[misc]
    """Compiles all C files into one library beside them."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if find_spec("ziglang") is None:
            raise SystemExit("The package `ziglang`, which compiles the C code of Findspot, is not installed.")
        folder = Path(self.root) / FOLDER
        names = runpy.run_path(str(Path(__file__).parent / FOLDER / "library.py"))
        library: Path = folder / names["library_name"](folder)
        sources = sorted(map(str, folder.glob("*.c")))
        with tempfile.TemporaryDirectory() as cache:
            caches = {"ZIG_GLOBAL_CACHE_DIR": cache, "ZIG_LOCAL_CACHE_DIR": cache}
            made = Path(cache) / library.name
            command = [sys.executable, "-m", "ziglang", "cc", *OPTIONS, "-o", str(made), *sources]
            if subprocess.run(command, env=os.environ | caches).returncode:
                raise SystemExit("The C code of Findspot could not be compiled. The lines above say why.")
            beside = library.with_suffix(".new")
            beside.write_bytes(made.read_bytes())
            beside.replace(library)
        for older in set(folder.glob("libfindspot*.so")) - {library}:
            older.unlink()
        build_data["artifacts"].append(str(FOLDER / library.name))
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"
