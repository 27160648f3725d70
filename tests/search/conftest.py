"""A document that searches find."""

from typing import Any

import pytest

from findspot.app import App
from tests.flows import PARAGRAPHS, make_document, settle


@pytest.fixture
async def document(app: App, project: int) -> Any:
    made = await make_document(app, project, *PARAGRAPHS)
    await settle(app)
    return made
