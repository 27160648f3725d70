"""Names instead of ids, tools as a model sees them, and what a deletion takes with it."""

from collections.abc import Callable
from pathlib import Path

from tests.cli.command import Outcome

Command = Callable[..., Outcome]


def test_everything_can_be_named_where_its_name_is_unique(alone: Command) -> None:
    alone("project", "create", "图书馆")
    alone("table", "create", "图书馆", "books", '[{"title": "Faust", "text": "Habe nun, ach!"}]')
    assert alone("table", "get", "books", "/0/title").out == '"Faust"\n'
    alone("tool", "create", "图书馆", "books", "find it", "--config", '{"chunk_threshold": 1}')
    alone("tool", "create", "图书馆", "-", "文档", "--type", "list_documents")
    listed = alone("tool", "list", "图书馆").out.splitlines()
    assert [line.split()[-2:] for line in listed[1:]] == [["1", "pending"], ["list_documents", "-"]]
    alone("document", "create", "图书馆", "第一章", "text 文本")
    assert alone("document", "get", "第一章").out == "text 文本\n"
    made = alone("endpoint", "create", "图书馆", "agent", "find it", "文档", "--lean")
    assert made.code == 0, made
    shown = alone("endpoint", "tools", "agent", "--json").json
    assert [tool["name"] for tool in shown["tools"]] == ["find it", "文档"]
    assert shown["lean"] is True
    assert (
        "also see a reading tool beside each search tool. Answers are lean." in alone("endpoint", "tools", "agent").out
    )
    assert [each["title"] for each in alone("tool", "call", "文档", "--json").json["documents"]] == ["第一章"]


def test_an_imported_document_can_be_named_by_its_path(alone: Command, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    (folder / "日记").mkdir(parents=True)
    (folder / "日记/仓库.md").write_text("# 废弃仓库\n\n林远推开门。\n")
    (folder / "lamp.md").write_text("# 日记/仓库.md\n\nA title like a path.\n")
    alone("project", "create", "library")
    alone("import", "library", str(folder))
    assert alone("document", "get", "lamp.md").out.endswith("A title like a path.\n")
    assert alone("document", "get", "日记/仓库.md").out.endswith("A title like a path.\n")  # a title comes first
    alone("document", "delete", "lamp.md", "--yes")
    assert "林远推开门" in alone("document", "get", "日记/仓库.md").out
    assert "Did you mean '日记/仓库.md'?" in alone("document", "get", "日记/仓厍.md").err


def test_a_name_that_is_unknown_or_not_unique_is_refused_with_help(alone: Command) -> None:
    for _ in range(2):
        alone("project", "create", "twins")
    alone("project", "create", "library")
    alone("table", "create", "library", "books", "[]")
    twice = alone("table", "list", "twins")
    assert twice.code == 2
    assert "2 projects are called 'twins': 1, 2." in twice.err
    wrong = alone("table", "get", "boks")
    assert wrong.code == 3
    assert "There is no table 'boks'." in wrong.err
    assert "Did you mean 'books'?" in wrong.err


def test_a_tool_is_changed_and_shown_as_a_model_sees_it(alone: Command) -> None:
    alone("project", "create", "p")
    alone("table", "create", "p", "t", '{"rows": [{"标题": "潮汐"}]}')
    missing = alone("tool", "create", "p", "t", "ask", "--type", "query_data", "--pointer", "/row")
    assert missing.code == 2
    assert "Did you mean '/rows'?" in missing.err
    alone("tool", "create", "p", "t", "ask", "--type", "query_data", "--pointer", "/rows")
    shown = alone("tool", "describe", "ask")
    assert '`[0:5]."标题"`' in shown.out
    assert "query: string, required. A JMESPath expression. (42 tokens)" in shown.out
    changed = alone("tool", "update", "ask", "--name", "query", "--description", "Ask 问")
    assert changed.out == "✓ Changed tool 1, query.\n"
    assert alone("tool", "describe", "query", "--json").json["description"] == "Ask 问"


def test_deleting_says_what_goes_with_it(alone: Command) -> None:
    alone("project", "create", "p")
    alone("table", "create", "p", "t", '["long text 长文"]')
    for name in ("one", "two"):
        alone("tool", "create", "p", "t", name, "--type", "get_all_data")
    alone("endpoint", "create", "p", "e", "one", "two")
    refused = alone("table", "delete", "t")
    assert refused.code == 2
    assert "Table 1 has 2 tools, 1 endpoint left without tools." in refused.err
    assert alone("tool", "delete", "two", "--yes").out == "✓ Deleted tool 2.\n"
    done = "✓ Deleted table 1 with 1 tool, 1 endpoint left without tools.\n"
    assert alone("table", "delete", "t", "--yes").out == done
    assert alone("project", "delete", "p", "--yes").out == "✓ Deleted project 1 with 1 endpoint.\n"


def test_a_second_object_of_the_same_name_is_refused_unless_it_is_wanted(alone: Command) -> None:
    alone("project", "create", "p")
    for noun, *arguments in (
        ("table", "p", "t", "[]"),
        ("tool", "p", "t", "find", "--type", "get_all_data"),
        ("document", "p", "第一章", "text"),
        ("endpoint", "p", "助手"),
    ):
        assert alone(noun, "create", *arguments).code == 0
        again = alone(noun, "create", *arguments)
        assert again.code == 5
        assert f"Project 1 has a {noun} '" in again.err
    assert alone("endpoint", "create", "p", "助手", "--duplicate").code == 0
    alone("tool", "create", "t", "second", "--type", "get_all_data")
    assert "Project 1 has a tool 'find' already: tool 1." in alone("tool", "update", "second", "--name", "find").err
    assert alone("tool", "update", "find", "--name", "find").code == 0
    alone("document", "create", "two", "text")
    assert alone("document", "save", "two", "more", "--title", "第一章").code == 5
    assert alone("document", "save", "two", "more", "--title", "第一章", "--duplicate").code == 0


def test_the_project_used_last_is_the_default(alone: Command) -> None:
    alone("project", "create", "first")
    alone("project", "create", "第二")
    made = alone("table", "create", "books", "[1]")
    assert made.out == "✓ Created table 1, books.\n"
    assert made.err == "Project 2, 第二: the one used last.\n"
    assert alone("table", "create", "first", "maps", "[2]").err == ""
    assert "maps" in alone("table", "list").out
    assert alone("table", "list", "第二").err == ""
    assert "books" in alone("table", "list", "-").out
    assert alone("tool", "create", "books", "all", "--type", "get_all_data").code == 0
    assert alone("document", "create", "一", "text").code == 0
    assert [each["title"] for each in alone("document", "list", "--json").json["documents"]] == ["一"]
    assert alone("key", "create", "reader").code == 0
    assert "reader" in alone("key", "list").out
    assert "(project 2)" in alone("project", "status").out
    assert alone("endpoint", "create", "-", "e", "all").code == 0
    assert "e" in alone("endpoint", "list").out
    assert alone("project", "delete", "--yes").code == 2  # what is deleted must be named
    assert "Missing argument 'PROJECT'" in alone("project", "delete", "--yes").err


def test_leaving_out_more_than_the_project_names_what_is_missing(alone: Command) -> None:
    alone("project", "create", "p")
    assert "Missing argument 'JSON'" in alone("table", "create", "books").err
    assert "Missing argument" in alone("table", "create").err


def test_a_name_means_the_one_in_the_project_used_last_except_for_deletions(alone: Command) -> None:
    for project in ("甲", "乙"):
        alone("project", "create", project)
        alone("table", "create", project, "t", f'"{project}"')
    assert alone("table", "get", "t").out == '"乙"\n'
    alone("table", "list", "甲")
    assert alone("table", "get", "t").out == '"甲"\n'
    refused = alone("table", "delete", "t", "--yes")
    assert refused.code == 2
    assert "2 tables are called 't': 1, 2." in refused.err
    alone("table", "create", "乙", "only", "[]")
    alone("table", "list", "甲")
    assert alone("table", "get", "only").code == 0  # found in another project, which is then the one used last
    assert alone("table", "get", "t").out == '"乙"\n'
    alone("project", "delete", "乙", "--yes")
    assert alone("table", "get", "t").out == '"甲"\n'  # the one used last is gone


def test_projects_may_share_a_name_which_then_means_the_one_used_last(alone: Command) -> None:
    alone("project", "create", "library")
    made = alone("project", "create", "library")
    assert "Created project 2, library. Project 1 has the same name: in the next commands, 'library' means" in made.out
    alone("table", "create", "library", "t", "[]")
    assert alone("table", "list", "2", "--json").json["tables"][0]["name"] == "t"
    assert alone("project", "delete", "library", "--yes").code == 2


def test_search_and_reindex_take_names(remote: Command) -> None:
    name = "名字 names"
    remote("project", "create", name)
    remote("table", "create", name, "texts", '["the tide follows the moon"]')
    remote("tool", "create", name, "texts", "find tides", "--config", '{"chunk_threshold": 1}')
    for title in ("涨潮", "退潮"):
        remote("document", "create", name, title, f"{title}: the tide at the harbour")
    rebuilt = remote("reindex", "--documents", name, "--tool", "find tides", "--json").json
    assert (rebuilt["failed"], rebuilt["tools"][0]["name"]) == (0, "find tides")
    found = remote("search", "tide", "--project", name, "--document", "退潮", "--json").json
    assert [each["documentTitle"] for each in found["results"]] == ["退潮"]
    wrong = remote("search", "tide", "--project", "名子 names")
    assert (wrong.code, "Did you mean '名字 names'?" in wrong.err) == (3, True)
    assert "There is no document 'x'" in remote("search", "tide", "--project", name, "--document", "x").err


def test_the_default_is_lost_without_harm_where_it_cannot_be_kept(alone: Command, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    for home in (tmp_path / "file", tmp_path / "damaged"):
        if home.name == "damaged":
            (home / "findspot").mkdir(parents=True)
            (home / "findspot" / "last-projects.json").write_text('["no object"]')
        made = alone("project", "create", home.name, XDG_STATE_HOME=str(home))
        assert (made.code, made.err) == (0, "")
