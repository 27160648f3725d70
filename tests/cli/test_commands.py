"""Projects, keys, tables, tools, endpoints and documents from the command line."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from findspot.surfaces.cli.main import cli
from tests.cli.command import Outcome, findspot
from tests.cli.test_help import every_command
from tests.servers import Server

Command = Callable[..., Outcome]
NAME = "图书馆 📚 [b]‹é›[/b] :smile:"


@pytest.fixture
def command(served: tuple[Server, Path]) -> Command:
    """The command against the shared server. It fails the test if the exit code is not `code`."""
    server, _ = served
    return _checked("--url", server.url, "--key", server.token)


def _checked(*target: str) -> Command:
    def run(*arguments: str, input: str | bytes = b"", code: int = 0) -> Outcome:
        ended = findspot(*arguments[:2], *target, *arguments[2:], input=input)  # a later '--key' replaces this one
        assert ended.code == code, ended
        return ended

    return run


def new_project(command: Command) -> str:
    return str(command("project", "create", NAME, "--json").json["id"])


def test_a_project_can_be_created_listed_shown_and_deleted(command: Command) -> None:
    created = command("project", "create", NAME, "--json").json
    assert created["name"] == NAME
    id = str(created["id"])
    assert created in command("project", "list", "--json").json["projects"]
    assert NAME in command("project", "list").out
    shown = command("project", "status", id).out
    assert shown.startswith(f"{NAME} (project {id})\n")
    assert command("project", "status", id, "--json").json["tables"] == 0
    assert command("project", "delete", id, "--yes").out == f"✓ Deleted project {id}.\n"
    assert created not in command("project", "list", "--json").json["projects"]
    command("project", "status", id, code=3)


def test_a_key_can_be_created_used_listed_and_revoked(command: Command) -> None:
    project = new_project(command)
    key = command("key", "create", project, "leser 阅读", "--role", "write", "--json").json
    secret = key["key"]
    assert command("project", "list", "--key", secret, "--json").json["projects"][0]["id"] == int(project)
    command("key", "list", project, "--key", secret, code=4)
    (listed,) = command("key", "list", project, "--json").json["keys"]
    assert (listed["id"], listed["name"], listed["role"]) == (key["id"], "leser 阅读", "write")
    assert secret not in command("key", "list", project).out
    assert command("key", "revoke", project, str(key["id"])).out == f"✓ Revoked key {key['id']}.\n"
    command("project", "list", "--key", secret, code=4)
    assert "has no key" in command("key", "list", project).out


def test_tools_can_be_created_called_and_bound_to_an_endpoint(command: Command) -> None:
    project = new_project(command)
    table = str(command("table", "create", project, "t", '{"书": ["山海经"], "n": 1.10}', "--json").json["id"])
    made = command("tool", "create", project, table, "读 read", "--type", "query_data", "--pointer", "/书", "--json")
    tool = str(made.json["tool_id"])
    assert '"data": "山海经"' in command("tool", "call", tool, '{"query": "[0]"}').out
    assert "JMESPath" in command("tool", "call", tool, '{"query": "["}', code=2).err
    assert "读 read" in command("tool", "list", project).out
    endpoint = command("endpoint", "create", project, "代理", tool, "--json").json
    id = str(endpoint["id"])
    assert endpoint["url"].endswith(f"/mcp/{id}")
    assert command("endpoint", "disable", id, tool).out == f"✓ Agents of endpoint {id} cannot see tool {tool}.\n"
    assert command("endpoint", "tools", id).out.split()[-1] == "no"
    assert command("endpoint", "enable", id, tool).out == f"✓ Agents of endpoint {id} can see tool {tool}.\n"
    assert command("endpoint", "unbind", id, tool).out == f"✓ Removed tool {tool} from endpoint {id}.\n"
    assert "has no tool" in command("endpoint", "tools", id).out
    assert command("endpoint", "bind", id, tool).out == f"✓ Added tool {tool} to endpoint {id}.\n"
    another = command("endpoint", "rotate-key", id).out.split()[-1]
    assert another.startswith("fse_")
    assert endpoint["api_key"] != another
    assert endpoint["api_key"] not in command("endpoint", "list", project).out
    assert command("endpoint", "delete", id, "--yes").out == f"✓ Deleted endpoint {id}, 代理.\n"
    assert "has no endpoint" in command("endpoint", "list", project).out
    assert command("tool", "delete", tool, "--yes").out == f"✓ Deleted tool {tool}.\n"
    assert "has no tool" in command("tool", "list", project).out


def test_a_search_tool_is_indexed_by_the_server_or_later(command: Command, tmp_path: Path) -> None:
    ready, pending = "It searches 1 text in 1 chunk.", "It is not indexed yet"
    alone = _checked("--data", str(tmp_path / "data"))
    for run, text, status in ((command, ready, "ready"), (alone, pending, "pending")):
        project = new_project(run)
        table = str(run("table", "create", project, "t", '["长的文字 long text", 1]', "--json").json["id"])
        assert text in run("tool", "create", project, table, "find", "--config", '{"chunk_threshold": 1}').out
        (tool,) = run("tool", "list", project, "--json").json["tools"]
        assert (tool["type"], tool["search_config"]["chunk_threshold"]) == ("search", 1)
        assert tool["metadata"]["search_index"]["status"] == status


def test_a_new_search_tool_says_which_strings_it_leaves_out(command: Command) -> None:
    project = new_project(command)
    value = json.dumps({"长": "长的文字" * 2500, "短": "短的文字"})
    table = str(command("table", "create", project, "t", value, "--json").json["id"])
    found = command("tool", "create", project, table, "find").out
    assert "It searches 1 text in 11 chunks. Strings of fewer than 10,000 characters are left out; --config" in found
    every = command("tool", "create", project, table, "every", "--config", '{"chunk_threshold": 1}').out
    assert every.endswith("It searches 2 texts in 12 chunks.\n")


def test_a_table_can_be_created_read_set_patched_and_deleted(command: Command) -> None:
    project = new_project(command)
    value = '{"b": 1.10, "a": [1, {"书": "红楼梦 📕"}]}'
    table = str(command("table", "create", project, NAME, value, "--json").json["id"])
    assert command("table", "get", table, "--raw").out == value + "\n"
    assert (
        command("table", "get", table).out
        == json.dumps(json.loads(value), indent=2, ensure_ascii=False).replace("1.1,", "1.10,") + "\n"
    )
    assert command("table", "get", table, "/a/1/书").out == '"红楼梦 📕"\n'
    assert command("table", "get", table, "/a/0", "--json").json["data"] == 1
    assert command("table", "set", table, "/a/-", "true").out == f"✓ Table {table} is at revision 2.\n"
    patch = '[{"op": "remove", "path": "/b"}]'
    assert command("table", "patch", table, patch, "--if-revision", "2", "--json").json == {"revision": 3}
    assert command("table", "get", table, "--raw").out.replace(" ", "") == '{"a":[1,{"书":"红楼梦📕"},true]}\n'
    assert command("table", "set", table, "", "7").out == f"✓ Table {table} is at revision 4.\n"
    (listed,) = command("table", "list", project, "--json").json["tables"]
    assert listed == {**listed, "id": int(table), "name": NAME, "revision": 4, "size": 1}
    assert command("table", "list", project).out.splitlines()[0].split() == ["id", "name", "path", "revision", "size"]
    assert command("table", "delete", table, "--yes", "--json").json["deleted"] == int(table)
    assert "has no table" in command("table", "list", project).out


def test_a_document_can_be_created_read_saved_compared_restored_and_deleted(command: Command, tmp_path: Path) -> None:
    project = new_project(command)
    file = tmp_path / "chapter.md"
    file.write_text("# 第一章\n\n" + "林远走进了仓库。\n\n" * 12 + "The *old* door &amp; e\u0301 👩‍👧\n")
    document = str(command("document", "create", project, NAME, f"@{file}", "--type", "章", "--json").json["id"])
    assert command("document", "get", document, "--source").out == file.read_text() + "\n"
    text = command("document", "get", document).out
    assert text.startswith("第一章\n\n林远")
    assert text.endswith("The old door & e\u0301 👩‍👧\n")
    (listed,) = command("document", "list", project, "--json").json["documents"]
    assert (listed["title"], listed["type"], listed["format"]) == (NAME, "章", "markdown")
    assert NAME in command("document", "list", project).out
    file.write_text(file.read_text().replace("old", "new"))
    saved = command("document", "save", document, f"@{file}", "--base-revision", "1", "--title", "二").out
    version = command("version", "list", document, "--json").json["versions"][0]["id"]
    assert saved == f"✓ Document {document} is at revision 2; the earlier content is version {version}.\n"
    assert "manual" in command("version", "list", document).out
    shown = command("version", "diff", document, str(version)).out
    assert "The [-old-]{+new+} door" in shown
    assert "lines ⋯" in shown
    assert "第一章" not in shown
    assert "第一章" in command("version", "diff", document, str(version), "--whole").out
    command("document", "save", document, "lost", "--base-revision", "1", code=5)
    assert command("version", "get", document, str(version), "--source").out.endswith(
        "The *old* door &amp; e\u0301 👩‍👧\n\n"
    )
    assert "with the content of version" in command("version", "restore", document, str(version)).out
    assert "old door" in command("document", "get", document).out
    assert "with 2 earlier versions" in command("document", "delete", document, "--yes").out
    command("document", "get", document, code=3)
    assert "has no document" in command("document", "list", project).out


def test_a_document_can_come_from_standard_input_and_must_be_utf8(command: Command, tmp_path: Path) -> None:
    project = new_project(command)
    made = command("document", "create", project, "d", "-", "--json", input="# 題\n").json
    assert command("document", "get", str(made["id"])).out == "# 題\n\n"
    tree = '{"type": "doc", "content": [{"type": "paragraph", "content": [{"type": "text", "text": "树"}]}]}'
    (tmp_path / "t.json").write_text(tree)
    tiptap = command("document", "create", project, "t", f"@{tmp_path / 't.json'}", "--json").json["id"]
    assert command("document", "get", str(tiptap)).out == "树\n"
    assert command("document", "get", str(tiptap), "--source").out == tree + "\n"
    (tmp_path / "latin.txt").write_bytes(b"caf\xe9")
    assert "not UTF-8" in command("document", "create", project, "x", f"@{tmp_path / 'latin.txt'}", code=2).err
    command("document", "create", project, "x", "{", "--format", "tiptap", code=2)


def test_a_value_of_two_megabytes_is_read_from_standard_input_unchanged(command: Command) -> None:
    value = json.dumps([{"text": "语言 " * 100, "n": n} for n in range(3500)], ensure_ascii=False)
    assert len(value.encode()) > 2_000_000
    table = str(command("table", "create", new_project(command), "big", "-", "--json", input=value).json["id"])
    assert command("table", "get", table, "--raw").out == value + "\n"
    assert command("table", "get", table, "/3499/n").out == "3499\n"


def test_commands_find_the_running_server_by_its_data_folder(served: tuple[Server, Path], command: Command) -> None:
    project = new_project(_checked("--data", str(served[1])))
    assert command("project", "status", project).code == 0


# Every command that prints JSON, in an order that works, with a field of its output.
JSON_COMMANDS = [
    ("project create p", "id"),
    ("project list", "projects"),
    ("project status 1", "index_state"),
    ("key create 1 k", "key"),
    ("key list 1", "keys"),
    ("key revoke 1 1", "revoked"),
    ("table create 1 t []", "id"),
    ("table list 1", "tables"),
    ("table get 1", "data"),
    ("table set 1 /- 1", "revision"),
    ("table patch 1 []", "revision"),
    ("tool create 1 1 t --type get_all_data", "tool_id"),
    ("tool list 1", "tools"),
    ("tool call 1", "data"),
    ("tool update 1 --description d", "description"),
    ("tool describe 1", "tokens"),
    ("endpoint create 1 e 1", "api_key"),
    ("endpoint list 1", "endpoints"),
    ("endpoint tools 1", "tools"),
    ("endpoint disable 1 1", "enabled"),
    ("endpoint enable 1 1", "enabled"),
    ("endpoint unbind 1 1", "unbound"),
    ("endpoint bind 1 1", "tools"),
    ("endpoint rotate-key 1", "api_key"),
    ("endpoint delete 1 --yes", "deleted"),
    ("tool delete 1 --yes", "deleted"),
    ("table delete 1 --yes", "deleted"),
    ("document create 1 d one", "id"),
    ("document list 1", "documents"),
    ("document get 1", "text"),
    ("document save 1 two", "versionId"),
    ("version list 1", "versions"),
    ("version get 1 1", "text"),
    ("version diff 1 1", "changes"),
    ("version restore 1 1", "versionId"),
    ("document delete 1 --yes", "deleted"),
    ("project delete 1 --yes", "deleted"),
    ("doctor", "findings"),
]


def test_every_command_prints_one_line_of_json_and_nothing_else(alone: Command) -> None:
    for line, field in JSON_COMMANDS:
        ended = alone(*line.split(), "--json")
        assert (ended.code, ended.err) == (0, ""), line
        assert field in ended.json, line
        assert ended.out.count("\n") == 1, line


def test_the_list_of_json_commands_is_complete() -> None:
    leaves = {path for path in every_command(cli) if len(path) == 2 or path == ("doctor",)}
    leaves -= {("mcp", "install"), ("mcp", "test")}  # they have no --data option; tested in test_mcp.py
    assert {
        tuple(line.split()[: len(path)])
        for line, _ in JSON_COMMANDS
        for path in leaves
        if line.startswith(" ".join(path))
    } == leaves
