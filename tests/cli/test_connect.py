"""The way to the API: a server that runs on the data folder, found quickly; or the folder itself, if it is there."""

import subprocess
import sys
from pathlib import Path

import pytest

from findspot.settings import Settings
from tests.cli.command import findspot
from tests.cli.test_help import HEAVY
from tests.servers import Server

_LOADED = f"""
import sys
from findspot.surfaces.cli.main import run
try:
    run(sys.argv[1:])
except SystemExit as end:
    assert not end.code
print("loaded:", [name for name in {HEAVY!r} if name in sys.modules])
"""


@pytest.mark.parametrize("command", [("project", "list", "--json"), ("search", "灯塔", "--project", "{project}")])
def test_a_running_server_is_asked_without_loading_what_only_a_server_needs(
    served: tuple[Server, Path], command: tuple[str, ...]
) -> None:
    server, folder = served
    with server.client() as owner:
        project = owner.post("/api/v1/projects", json={"name": "quick"}).json()["id"]
    given = [each.format(project=project) for each in (*command, "--data", str(folder))]
    ended = subprocess.run([sys.executable, "-c", _LOADED, *given], capture_output=True, text=True, check=True)
    assert ended.stdout.splitlines()[-1] == "loaded: ['httpx2']"


@pytest.mark.parametrize("name", ["FINDSPOT_DATA", "findspot_data"])
def test_a_running_server_is_found_by_the_same_variables_as_the_settings_have(
    served: tuple[Server, Path], name: str
) -> None:
    server, folder = served
    ended = findspot("project", "list", "--json", **{name: str(folder)}, FINDSPOT_TOKEN=server.token)
    assert (ended.code, "projects" in ended.json) == (0, True)
    assert findspot("project", "list", **{name: str(folder)}, FINDSPOT_TOKEN="wrong").code == 4
    assert (Settings.model_fields["data"].alias, Settings.model_fields["token"].alias) == (
        "FINDSPOT_DATA",
        "FINDSPOT_TOKEN",
    )
    assert Settings.model_fields["data"].default == Path(".findspot")
