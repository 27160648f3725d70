"""What the tests of the command line share: one running server, and the ways by which a command reaches the API."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cli.command import Outcome, findspot
from tests.servers import Server


@pytest.fixture(autouse=True)
def english(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sentences are expected in English, whatever the language of whoever runs the tests."""
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    monkeypatch.delenv("LANGUAGE", raising=False)


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, Path]]:
    """A server that is only talked to, and its data folder."""
    folder = tmp_path_factory.mktemp("served") / "data"
    server = Server.start(folder)
    yield server, folder
    server.kill()


@pytest.fixture
def alone(tmp_path: Path) -> Callable[..., Outcome]:
    """The command on a data folder of its own, with no server."""

    def command(*arguments: str, **options: str) -> Outcome:
        return findspot(*arguments, "--data", str(tmp_path / "data"), **options)

    return command
