"""A library that cannot be compiled says why, and leaves the one before in its place."""

import runpy
import sys
from pathlib import Path

import pytest

BUILD = runpy.run_path(str(Path(__file__).parents[2] / "hatch_build.py"))


def build(root: Path, source: str) -> None:
    """Compile a project with one C file, in place of an older library."""
    folder = root / BUILD["FOLDER"]
    folder.mkdir(parents=True)
    (folder / "only.c").write_text(source)
    (folder / "libfindspot.so").write_bytes(b"old")
    hook = BUILD["NativeBuildHook"](str(root), {}, None, None, str(root), "wheel")
    hook.initialize("editable", {"artifacts": []})


def test_an_error_of_the_compiler_says_that_the_c_code_could_not_be_compiled(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="C code of Findspot could not be compiled"):
        build(tmp_path, "int broken(void) { return unknown; }")
    assert "unknown" in capfd.readouterr().err
    assert (tmp_path / BUILD["FOLDER"] / "libfindspot.so").read_bytes() == b"old"


def test_a_machine_without_the_compiler_is_told_which_package_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ziglang", None)
    with pytest.raises(SystemExit, match="package `ziglang`"):
        build(tmp_path, "int whole(void); int whole(void) { return 0; }")
