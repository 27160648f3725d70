"""ARCHITECTURE.md, the import-linter contract and the packages agree with each other."""

import ast
import importlib
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "findspot"
PAGE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
DIAGRAM = PAGE.split("```")[1]
PACKAGES = ("agents", "content", "indexing", "retrieval", "runtime", "search", "server")
MAX_ROOT_MODULES = 8
MAX_LINES = 400


def _layers() -> list[list[str]]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (layered,) = [each for each in project["tool"]["importlinter"]["contracts"] if each["type"] == "layers"]
    return [sorted(re.findall(r"\w+", layer)) for layer in layered["layers"]]


def _rows() -> list[list[str]]:
    """Return the names in each row of the diagram. A row is indented by two spaces and begins with a name."""
    return [_names(row) for row in DIAGRAM.splitlines() if re.match(r"  \w", row)]


def _names(row: str) -> list[str]:
    known = {name for layer in _layers() for name in layer}
    names = []
    for word in re.split(r"[\s│]+", row.strip()):
        if word not in known:
            break
        names.append(word)
    return sorted(names)


def test_the_diagram_has_exactly_the_layers_of_the_contract() -> None:
    assert _rows() == [layer for layer in _layers() if layer != ["__main__"]]


def test_every_file_that_the_page_names_exists() -> None:
    named = set(re.findall(r"`([\w/]+\.py)`", PAGE))
    missing = [name for name in named if not ((SOURCE / name).exists() or (ROOT / name).exists())]
    assert named
    assert missing == []


def test_the_page_describes_every_package() -> None:
    folders = {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    assert [name for name in sorted(folders) if f"`{name}/" not in PAGE] == []


def test_the_package_root_holds_few_modules() -> None:
    modules = [path.name for path in SOURCE.glob("*.py") if not path.name.startswith("__")]
    assert len(modules) <= MAX_ROOT_MODULES, modules


def test_no_source_file_is_too_long() -> None:
    files = SOURCE.rglob("*.py")
    sizes = {str(path.relative_to(SOURCE)): path.read_text(encoding="utf-8").count("\n") for path in files}
    assert {name: size for name, size in sizes.items() if size > MAX_LINES} == {}


@pytest.mark.parametrize("name", PACKAGES)
def test_a_package_says_what_it_answers_and_exports_its_public_names(name: str) -> None:
    package = importlib.import_module(f"findspot.{name}")
    sentence = (package.__doc__ or "").split("\n\n")[0]
    assert "?" in sentence
    assert package.__all__
    assert [each for each in package.__all__ if not hasattr(package, each)] == []
    assert list(package.__all__) == sorted(package.__all__)


def test_every_module_has_a_docstring() -> None:
    without = [
        str(path.relative_to(SOURCE))
        for path in SOURCE.rglob("*.py")
        if "migrations" not in path.parts and not ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert without == []
