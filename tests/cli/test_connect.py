"""Connecting to the API: of a running server, found quickly, or on an existing data folder."""

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
def test_a_running_server_is_called_without_importing_the_server(
    served: tuple[Server, Path], command: tuple[str, ...]
) -> None:
    server, folder = served
    with server.client() as owner:
        project = owner.post("/api/v1/projects", json={"name": "quick"}).json()["id"]
    given = [each.format(project=project) for each in (*command, "--data", str(folder))]
    ended = subprocess.run([sys.executable, "-c", _LOADED, *given], capture_output=True, text=True, check=True)
    assert ended.stdout.splitlines()[-1] == "loaded: ['httpx2']"


@pytest.mark.parametrize("name", ["FINDSPOT_DATA", "findspot_data"])
def test_a_running_server_is_found_by_the_variables_of_the_settings(served: tuple[Server, Path], name: str) -> None:
    server, folder = served
    ended = findspot("project", "list", "--json", **{name: str(folder)}, FINDSPOT_TOKEN=server.token)
    assert (ended.code, "projects" in ended.json) == (0, True)
    assert findspot("project", "list", **{name: str(folder)}, FINDSPOT_TOKEN="wrong").code == 4
    assert (Settings.model_fields["data"].alias, Settings.model_fields["token"].alias) == (
        "FINDSPOT_DATA",
        "FINDSPOT_TOKEN",
    )
    assert Settings.model_fields["data"].default == Path(".findspot")


@pytest.mark.parametrize(
    "command",
    ["search steam", "project list", "document list 1", "table get 1", "export 1 out", "backup b", "reindex --all"],
)
def test_a_missing_data_folder_is_reported_and_not_created(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    for folder, message in (
        ("gone", "There is no data folder gone."),
        ("empty", "The folder empty contains no Findspot"),
    ):
        ended = findspot(*command.split(), "--data", folder)
        assert (ended.code, ended.out) == (3, "")
        assert ended.err.startswith(f"✗ {message}")
        assert "Check the path" in ended.err
        assert "'findspot serve'" in ended.err
        assert findspot(*command.split(), "--data", folder, "--json").error["code"] == "NOT_FOUND"
    assert [each.name for each in tmp_path.rglob("*")] == ["empty"]


def test_creating_a_project_creates_the_data_folder(tmp_path: Path) -> None:
    assert findspot("project", "create", "first", "--data", str(tmp_path / "new")).code == 0
    listed = findspot("project", "list", "--json", "--data", str(tmp_path / "new"))
    assert [each["name"] for each in listed.json["projects"]] == ["first"]
