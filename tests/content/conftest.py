"""Fixtures of the tests of backups."""

import asyncio
from pathlib import Path

import pytest
from pydantic import SecretStr

from findspot.app import open_app
from findspot.settings import Settings
from tests.content.backups import NewSettings, save
from tests.store.test_schema import fill


@pytest.fixture
def new_settings(tmp_path: Path, request: pytest.FixtureRequest) -> NewSettings:
    """Makes settings of a new installation on the named database."""

    def make(name: str, kind: str = "sqlite") -> Settings:
        url = request.getfixturevalue("new_postgres_database")() if kind == "postgres" else None
        return Settings(data=tmp_path / name, database_url=SecretStr(url) if url else None, port=0)

    return make


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A small intact backup with a row of everything in a project."""
    folder = tmp_path_factory.mktemp("whole")

    async def make() -> bytes:
        async with open_app(Settings(data=folder / "data"), worker=False) as app:
            async with app.store.write() as connection:
                await fill(connection)
            return (await save(app.store, folder / "a.backup")).read_bytes()

    return asyncio.run(make())
