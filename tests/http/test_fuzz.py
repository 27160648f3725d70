"""Generated requests, valid and invalid, to every operation of a real server: no 5xx, no undocumented status."""

import os
from collections.abc import Iterator
from typing import Any

import hypothesis
import pytest
import schemathesis
from hypothesis import HealthCheck
from hypothesis import strategies as st
from schemathesis import GenerationMode

from findspot.surfaces.http.api import every_route
from findspot.surfaces.http.openapi import describe
from tests.servers import Server

EXAMPLES = int(os.environ.get("FINDSPOT_TORTURE", "1"))  # per operation and mode: 5,000 in all in `make torture`
SCHEMA = schemathesis.openapi.from_dict(describe(every_route()))
_FOUND = (each.ok() for each in SCHEMA.get_all_operations())  # type: ignore[union-attr]  # an invalid one fails here
OPERATIONS = {operation.label: operation for operation in _FOUND}
SEEDED = 3


def _cases() -> Iterator[tuple[str, GenerationMode]]:
    """Yield every operation with valid requests, and with invalid ones if it takes anything that can be invalid."""
    for label, operation in OPERATIONS.items():
        yield label, GenerationMode.POSITIVE
        if operation.body or operation.query or operation.path_parameters:
            yield label, GenerationMode.NEGATIVE


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server.start(tmp_path_factory.mktemp("fuzzed") / "data", FINDSPOT_LOG_LEVEL="warning")
    try:
        with server.client() as owner:
            for number in range(1, SEEDED + 1):
                _seed(owner, number)
        yield server
    finally:
        server.kill()


def _seed(owner: Any, number: int) -> None:
    """Create a project with one of each, so that ids from 1 to `SEEDED` lead somewhere."""
    path = "/api/v1/projects"
    project = owner.post(path, json={"name": f"fuzzed {number}"}).json()["id"]
    data = {"items": [{"title": "山海经", "text": "A long text about rivers. " * 60}]}
    table = owner.post(f"{path}/{project}/tables", json={"name": "table", "data": data}).json()["id"]
    document = {"title": "Chapter", "content": "# 废弃仓库\n\nAn old warehouse.", "format": "markdown"}
    owner.post(f"{path}/{project}/documents", json=document).raise_for_status()
    config = {"chunk_threshold": 1}
    spec = {"project_id": project, "table_id": table, "name": "find", "type": "search", "search_config": config}
    tool = owner.post("/api/v1/tools", json=spec).raise_for_status().json()["tool_id"]
    owner.post("/api/v1/mcp", json={"project_id": project, "name": "agent", "tool_ids": [tool]}).raise_for_status()


@pytest.mark.torture
@pytest.mark.parametrize(("label", "mode"), list(_cases()))
def test_every_answer_has_a_documented_status_and_none_is_a_server_error(
    server: Server, label: str, mode: GenerationMode
) -> None:
    operation = OPERATIONS[label]
    documented = {int(status) for status in operation.definition.raw["responses"]}
    ids = {parameter.name: st.integers(1, SEEDED) for parameter in operation.path_parameters}

    @hypothesis.settings(
        max_examples=EXAMPLES, deadline=None, database=None, suppress_health_check=list(HealthCheck), derandomize=True
    )
    @hypothesis.given(operation.as_strategy(mode), st.fixed_dictionaries(ids), st.booleans(), st.booleans())
    def ask(case: schemathesis.Case[Any], known: dict[str, int], leads_somewhere: bool, is_owner: bool) -> None:
        if leads_somewhere:
            case.path_parameters = dict(known)
        headers = {"Authorization": f"Bearer {server.token}"} if is_owner else {}
        answer = case.call(base_url=server.url, headers=headers, timeout=60)
        assert answer.status_code in documented, case.as_curl_command()
        assert answer.status_code < 500, case.as_curl_command()

    ask()


def test_the_server_is_alive_after_all_of_that(server: Server) -> None:
    with server.client() as owner:
        assert owner.get("/readyz").status_code == 200
    assert not [line for line in server.output if "unexpected_error" in line or "Traceback" in line]
