"""Names instead of ids, tools as a model sees them, and what a deletion takes with it."""

from collections.abc import Callable

from tests.cli.command import Outcome

Command = Callable[..., Outcome]


def test_everything_can_be_named_where_its_name_is_unique(alone: Command) -> None:
    alone("project", "create", "图书馆")
    alone("table", "create", "图书馆", "books", '[{"title": "Faust", "text": "Habe nun, ach!"}]')
    assert alone("table", "get", "books", "/0/title").out == '"Faust"\n'
    alone("tool", "create", "图书馆", "books", "find it", "--config", '{"chunk_threshold": 1}')
    alone("tool", "create", "图书馆", "-", "文档", "--type", "list_documents")
    alone("document", "create", "图书馆", "第一章", "text 文本")
    assert alone("document", "get", "第一章").out == "text 文本\n"
    made = alone("endpoint", "create", "图书馆", "agent", "find it", "文档", "--lean")
    assert made.code == 0, made
    shown = alone("endpoint", "tools", "agent", "--json").json
    assert [tool["name"] for tool in shown["tools"]] == ["find it", "文档"]
    assert shown["lean"] is True
    assert [each["title"] for each in alone("tool", "call", "文档", "--json").json["documents"]] == ["第一章"]


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
    assert "tokens" in shown.out
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
        ("endpoint", "p", "助手"),
    ):
        assert alone(noun, "create", *arguments).code == 0
        again = alone(noun, "create", *arguments)
        assert again.code == 5
        assert f"Project 1 has a {noun} '" in again.err
    assert alone("endpoint", "create", "p", "助手", "--duplicate").code == 0
