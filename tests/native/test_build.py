"""A library takes the place of those before it; one that cannot be compiled says why and leaves them there."""

import runpy
import sys
from pathlib import Path

import pytest

from findspot.native.library import library_name

BUILD = runpy.run_path(str(Path(__file__).parents[2] / "hatch_build.py"))
OLDER = "libfindspot-0123456789abcdef.so"


def build(root: Path, source: str) -> None:
    """Compile a project with one C file, in place of an older library."""
    folder = root / BUILD["FOLDER"]
    folder.mkdir(parents=True)
    (folder / "only.c").write_text(source)
    (folder / OLDER).write_bytes(b"old")
    hook = BUILD["NativeBuildHook"](str(root), {}, None, None, str(root), "wheel")
    hook.initialize("editable", {"artifacts": []})


def test_a_library_takes_the_place_of_an_older_one(tmp_path: Path) -> None:
    build(tmp_path, "int whole(void); int whole(void) { return 0; }")
    folder = tmp_path / BUILD["FOLDER"]
    assert [each.name for each in folder.glob("*.so")] == [library_name(folder)]


def test_an_error_of_the_compiler_says_that_the_c_code_could_not_be_compiled(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="C code of Findspot could not be compiled"):
        build(tmp_path, "int broken(void) { return unknown; }")
    assert "unknown" in capfd.readouterr().err
    assert (tmp_path / BUILD["FOLDER"] / OLDER).read_bytes() == b"old"


def test_a_machine_without_the_compiler_is_told_which_package_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ziglang", None)
    with pytest.raises(SystemExit, match="package `ziglang`"):
        build(tmp_path, "int whole(void); int whole(void) { return 0; }")
