"""Fixtures for the tests of the turbopuffer engine."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pydantic import SecretStr

from findspot.settings import Settings
from tests.turbopuffer.server import StandIn


@pytest.fixture
def standin() -> Iterator[StandIn]:
    """A stand-in of this test's own, which may fail as the test says."""
    opened = StandIn()
    yield opened
    opened.close()


@pytest.fixture
def remote(settings: Settings, standin: StandIn) -> Settings:
    """The settings of a Findspot with its index in the stand-in, on each database."""
    service = {"turbopuffer_api_key": SecretStr(standin.api_key), "turbopuffer_base_url": standin.url}
    return settings.model_copy(update={"engine": "turbopuffer", **service})
