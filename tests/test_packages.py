"""The public names of packages that load their modules on first use."""

import importlib
import subprocess
import sys

import pytest

LAZY = ("findspot.content", "findspot.retrieval", "findspot.runtime")


@pytest.mark.parametrize("package", LAZY)
def test_every_public_name_of_a_package_exists(package: str) -> None:
    module = importlib.import_module(package)
    assert all(getattr(module, name).__name__ == name for name in module.__all__)
    with pytest.raises(AttributeError, match="no attribute 'missing'"):
        module.missing  # noqa: B018


def test_importing_a_package_loads_none_of_its_modules() -> None:
    code = f"import sys, {', '.join(LAZY)}; print(*[name for name in sys.modules if name.startswith('findspot.')])"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.split() == list(LAZY)
