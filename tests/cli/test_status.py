"""`findspot status`: what runs, and how far the index is behind."""

import os
from collections.abc import Callable
from pathlib import Path

from tests.cli.command import Outcome, findspot
from tests.servers import Server

Command = Callable[..., Outcome]


def test_the_running_server_is_listed(served: tuple[Server, Path], remote: Command) -> None:
    server, _ = served
    found = remote("status", "--processes", "--json").json
    (process,) = found["processes"]
    assert (process["role"], process["pid"], process["serves"]) == ("all", server.serving, server.url)
    assert process["silent_s"] < 30
    assert (found["leases"], found["database"], found["engine"]) == ([], "sqlite", "embedded")
    shown = remote("status", "--processes")
    assert shown.code == 0
    assert f"{os.uname().nodename}:{server.serving}" in shown.out
    assert "No worker holds an index." in shown.out
    assert set(remote("status", "--json").json) == {"database", "engine", "lag"}


def test_without_a_server_what_waits_for_the_index_is_counted(alone: Command) -> None:
    alone("project", "create", "文库")
    assert "up to date" in alone("status").out
    assert alone("document", "create", "文库", "河", "河水流过磨坊").code == 0
    lag = alone("status", "--json").json["lag"]
    assert (lag["sources"], lag["errors"], lag["deletes"]) == (1, 0, 0)
    assert lag["seconds"] >= 0
    shown = alone("status", "--processes").out
    assert "1 change behind, the oldest is from " in shown
    assert "No server and no worker is running." in shown


def test_a_key_of_a_project_is_refused(remote: Command, served: tuple[Server, Path]) -> None:
    project = str(remote("project", "create", "p", "--json").json["id"])
    key = remote("key", "create", project, "k", "--role", "admin", "--json").json["key"]
    refused = findspot("status", "--url", served[0].url, "--key", key)
    assert refused.code != 0
    assert "403" in refused.err or "FORBIDDEN" in refused.err or "higher role" in refused.err
