"""The package contains the built client and the compiled C code, although git ignores them."""

import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from findspot.native.library import library_name

ROOT = Path(__file__).resolve().parents[2]
BUILT = "findspot/surfaces/web/built/assets/index-1a2b.js"
NATIVE = Path("src", "findspot", "native")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A small git checkout with our packaging rules and a built client."""
    folder = tmp_path / "checkout"
    package = folder / "src" / "findspot"
    package.mkdir(parents=True)
    for name in ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE", "NOTICE", ".gitignore"):
        shutil.copy(ROOT / name, folder)
    (package / "__init__.py").write_text("")
    (package / "native").mkdir()
    shutil.copy(ROOT / NATIVE / "library.py", package / "native")
    (package / "native" / "one.c").write_text("int one(void);\nint one(void) { return 1; }\n")
    (folder / "src" / BUILT).parent.mkdir(parents=True)
    (folder / "src" / BUILT).write_text("export {}")
    return folder


def build(folder: Path, target: str, into: Path) -> Path:
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(into)], cwd=folder, check=True)
    (made,) = into.iterdir()
    return made


def library(folder: Path) -> str:
    """Return where the library of a checkout is in its wheel."""
    return f"findspot/native/{library_name(folder / NATIVE)}"


def test_the_wheel_contains_the_client_and_the_library(checkout: Path, tmp_path: Path) -> None:
    assert {BUILT, library(checkout)} <= {*zipfile.ZipFile(build(checkout, "wheel", tmp_path / "wheel")).namelist()}


def test_a_wheel_made_from_the_source_archive_contains_them_too(checkout: Path, tmp_path: Path) -> None:
    (checkout / "src" / library(checkout)).write_bytes(b"compiled for another machine")
    with tarfile.open(build(checkout, "sdist", tmp_path / "sdist")) as archive:
        archive.extractall(tmp_path / "unpacked", filter="data")
    (source,) = (tmp_path / "unpacked").iterdir()
    assert not (source / "src" / library(source)).exists()
    assert {BUILT, library(source)} <= {*zipfile.ZipFile(build(source, "wheel", tmp_path / "wheel")).namelist()}
