"""Shared fixtures of the command line tests: one running server, and a data folder without a server."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cli.command import Outcome, findspot
from tests.servers import Server


@pytest.fixture(autouse=True)
def english(monkeypatch: pytest.MonkeyPatch) -> None:
    """Expect English sentences, whatever the locale of the machine."""
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    monkeypatch.delenv("LANGUAGE", raising=False)


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, Path]]:
    """A running server that all tests share, and its data folder."""
    folder = tmp_path_factory.mktemp("served") / "data"
    server = Server.start(folder)
    yield server, folder
    server.kill()


@pytest.fixture
def remote(served: tuple[Server, Path]) -> Callable[..., Outcome]:
    """The command against the shared server."""
    server, _ = served
    return lambda *arguments, **options: findspot(*arguments, "--url", server.url, "--key", server.token, **options)


@pytest.fixture
def alone(tmp_path: Path) -> Callable[..., Outcome]:
    """The command on a data folder of its own, without a server."""

    def command(*arguments: str, **options: str) -> Outcome:
        return findspot(*arguments, "--data", str(tmp_path / "data"), **options)

    return command
