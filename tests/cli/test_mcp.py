"""`findspot mcp`: its options, and the entries it writes into configuration files of clients."""

import json
import sys
import tomllib
from pathlib import Path

import pytest

from findspot.surfaces.cli.mcp_clients import CLIENTS, client_of
from tests.cli.command import Outcome, findspot
from tests.servers import Server

URL, KEY = "http://127.0.0.1:8321/mcp/1", "fse_secret"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A temporary home folder, so that no test changes a real one."""
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    for name in ("XDG_CONFIG_HOME", "CODEX_HOME", "CLAUDE_CONFIG_DIR", "APPDATA"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def install(*arguments: str, code: int = 0) -> Outcome:
    ended = findspot("mcp", "install", "--no-check", *arguments)
    assert ended.code == code, ended
    return ended


def content_of(client: str) -> dict[str, object]:
    text = client_of(client, "findspot").file.read_text()
    loaded: dict[str, object] = tomllib.loads(text) if client == "codex" else json.loads(text)
    return loaded


@pytest.mark.parametrize("client", CLIENTS)
def test_an_entry_is_added_and_removed_and_everything_else_is_kept(client: str) -> None:
    file = client_of(client, "findspot").file
    file.parent.mkdir(parents=True, exist_ok=True)
    toml = '# mine 我的\nmodel = "x"\n\n[mcp_servers.other]\ncommand = "o"\n'
    others = '{"mcpServers": {"other": {"command": "o"}}, "servers": {"other": {}}, "书": [1.5, null, "é"]}'
    file.write_text(toml if client == "codex" else others)
    before = content_of(client)
    for key, said in ((KEY, "Added 'findspot'"), (KEY + "2", "Changed the key of 'findspot'"), (KEY + "2", "already")):
        assert said in install(client, "--url", URL, "--key", key).out
        text = file.read_text()
        assert text.count(KEY) == 1
        assert key in text
    assert content_of(client) != before
    assert file.stat().st_mode & 0o077 == 0
    assert "Removed 'findspot'" in install(client, "--remove").out
    assert content_of(client) == before
    assert client != "codex" or file.read_text() == toml
    assert "has no entry 'findspot'" in install(client, "--remove").out
    assert [each.name for each in file.parent.iterdir() if each.name.startswith(f".{file.name}-")] == []


@pytest.mark.parametrize("client", CLIENTS)
def test_a_missing_file_is_created_and_removed_with_its_last_entry(client: str) -> None:
    file = client_of(client, "findspot").file
    install(client, "--url", URL, "--key", KEY)
    other = URL.replace("/1", "/12")
    assert "Added 'findspot-12'" in install(client, "--url", other, "--key", KEY).out
    assert f"Changed 'findspot-12' from {other} to {URL}" in install(
        client, "--url", URL, "--key", KEY, "--name", "findspot-12"
    ).out  # fmt: skip
    install(client, "--remove")
    assert KEY in file.read_text()
    install(client, "--remove", "--name", "findspot-12")
    assert not file.exists()
    install(client, "--remove")


@pytest.mark.parametrize("client", CLIENTS)
def test_print_shows_the_entry_and_writes_nothing(client: str) -> None:
    shown = install(client, "--url", URL, "--key", KEY, "--print").out
    assert not client_of(client, "findspot").file.exists()
    install(client, "--url", URL, "--key", KEY)
    assert (tomllib.loads(shown) if client == "codex" else json.loads(shown)) == content_of(client)


def test_the_key_of_a_command_entry_is_in_its_environment() -> None:
    install("claude-desktop", "--url", URL, "--key", KEY)
    entry = json.loads(client_of("claude-desktop", "findspot").file.read_text())["mcpServers"]["findspot"]
    assert entry["args"] == ["mcp"]
    assert entry["env"] == {"FINDSPOT_MCP_URL": URL, "FINDSPOT_KEY": KEY}


@pytest.mark.parametrize(
    ("client", "text"),
    [
        ("vscode", '{// a comment\n"servers": {}}'),
        ("cursor", "[]"),
        ("cursor", '{"mcpServers": []}'),
        ("codex", "x = ["),
    ],
)
def test_a_file_that_cannot_be_changed_safely_is_not_changed(client: str, text: str) -> None:
    file = client_of(client, "findspot").file
    file.parent.mkdir(parents=True)
    file.write_text(text)
    assert "cannot be changed safely" in install(client, "--url", URL, "--key", KEY, code=2).err
    assert file.read_text() == text


def test_a_heading_inside_a_string_is_not_a_heading() -> None:
    file = client_of("codex", "findspot").file
    file.parent.mkdir(parents=True)
    file.write_text('notes = """\n[mcp_servers.findspot]\n"""\n')
    assert "structure is not as expected" in install("codex", "--remove", code=2).err


def test_a_symbolic_link_is_kept(home: Path) -> None:
    (home / "dotfiles").write_text("{}")
    (home / ".claude.json").symlink_to(home / "dotfiles")
    install("claude-code", "--url", URL, "--key", KEY)
    assert (home / ".claude.json").is_symlink()
    assert KEY in (home / "dotfiles").read_text()


def test_missing_or_invalid_options_are_named() -> None:
    assert "--url and --key must be given" in findspot("mcp").err
    assert "--key must be given" in install("cursor", "--url", URL, code=2).err
    assert "must start with http" in install("cursor", "--url", "x", "--key", KEY, code=2).err
    assert "--name must be" in install("cursor", "--url", URL, "--key", KEY, "--name", "a b", code=2).err
    assert "is not the URL of an endpoint" in install("cursor", "--url", URL[:-6], "--key", KEY, code=2).err
    assert "not a key" in install("cursor", "--url", URL, "--key", "钥匙", code=4).err


def test_the_bridge_reports_at_once_why_it_cannot_start(served: tuple[Server, Path]) -> None:
    server, _ = served
    wrong = findspot("mcp", "--url", f"{server.url}/mcp/1", "--key", KEY)
    assert (wrong.code, wrong.out) == (4, "")
    assert "There is no endpoint with this key" in wrong.err
    absent = findspot("mcp", "--url", f"{server.url}/mcp/999999", "--key", server.token)
    assert absent.code == 3


def test_install_checks_url_and_key_with_the_server_before_it_writes(served: tuple[Server, Path]) -> None:
    server, _ = served
    file = client_of("cursor", "findspot").file
    for url, code in ((f"{server.url}/mcp/1", 4), ("http://127.0.0.1:1/mcp/1", 7)):
        ended = findspot("mcp", "install", "cursor", "--url", url, "--key", KEY)
        assert ended.code == code, ended
        assert not file.exists()
    with server.client() as owner:
        project = owner.post("/api/v1/projects", json={"name": "p"}).json()["id"]
        made = owner.post("/api/v1/mcp", json={"project_id": project, "name": "e"}).json()
    url = f"{server.url}/mcp/{made['id']}"
    assert "Added 'findspot'" in findspot("mcp", "install", "cursor", "--url", url, "--key", made["key"]).out
    assert made["key"] in file.read_text()


def test_mcp_test_lists_the_tools_and_runs_a_search(served: tuple[Server, Path]) -> None:
    server, _ = served
    with server.client() as owner:
        project = owner.post("/api/v1/projects", json={"name": "p"}).json()["id"]
        data = {"name": "t", "data": {"title": "潮汐", "text": "the tide follows the moon"}}
        table = owner.post(f"/api/v1/projects/{project}/tables", json=data).json()["id"]
        spec = {"project_id": project, "table_id": table, "name": "find", "search_config": {"chunk_threshold": 1}}
        tool = owner.post("/api/v1/tools/search", json=spec).json()["id"]
        body = {"project_id": project, "name": "e", "tool_ids": [tool], "lean": True}
        made = owner.post("/api/v1/mcp", json=body).json()
    where = ("--url", f"{server.url}/mcp/{made['id']}", "--key", made["key"])
    shown = findspot("mcp", "test", *where, "--query", "moon")
    assert (shown.code, shown.err) == (0, "")
    assert "2 tools, " in shown.out
    assert "read_find" in shown.out
    assert "1. /text 0-25" in shown.out
    as_json = findspot("mcp", "test", *where, "--json").json
    assert [tool["name"] for tool in as_json["tools"]] == ["find", "read_find"]
    assert as_json["search"]["tool"] == "find"


def test_install_prints_json() -> None:
    shown = install("cursor", "--url", URL, "--key", KEY, "--print", "--json").json
    assert shown["client"] == "cursor"
    assert KEY in shown["text"]
    assert install("cursor", "--url", URL, "--key", KEY, "--json").json["name"] == "findspot"
    assert install("cursor", "--remove", "--json").json["removed"] is True


def test_the_entry_uses_the_findspot_of_this_python() -> None:
    install("codex", "--url", URL, "--key", KEY)
    command = tomllib.loads(client_of("codex", "findspot").file.read_text())["mcp_servers"]["findspot"]["command"]
    sibling = Path(sys.executable).with_name("findspot")
    assert command == str(sibling) if sibling.exists() else Path(command).name == "findspot"
