"""A project with three chapters, and what the server measures."""

from collections.abc import Callable
from typing import Any

import httpx2
import pytest

from findspot.settings import Settings
from tests import flows, scrapes
from tests.flows import settle
from tests.http.workspace.channels import CHAPTERS, app_of


@pytest.fixture
def database_url() -> None:
    """What is answered does not depend on the database, and tests of the flow have both: SQLite is enough here."""
    return


@pytest.fixture
def changed_settings() -> dict[str, Any]:
    return {}


@pytest.fixture
def settings(settings: Settings, changed_settings: dict[str, Any]) -> Settings:
    return settings.model_copy(update=changed_settings)


@pytest.fixture
async def empty_project(owner: httpx2.AsyncClient) -> int:
    """A project without documents, for requests that are refused whatever the project holds."""
    return int((await owner.post("/api/v1/projects", json={"name": "novel"})).json()["id"])


@pytest.fixture
async def project(owner: httpx2.AsyncClient, empty_project: int) -> int:
    for title, content in CHAPTERS.items():
        separate = flows.separate(*content.split("\n\n"))
        body = {"title": title, "type": "chapter", "format": "tiptap", "content": separate}
        await owner.post(f"/api/v1/projects/{empty_project}/documents", json=body)
    await settle(app_of(owner))
    return empty_project


@pytest.fixture
def figures(owner: httpx2.AsyncClient) -> Callable[[], Any]:
    async def read() -> dict[str, float]:
        return scrapes.figures((await owner.get("/metrics")).text)

    return read
