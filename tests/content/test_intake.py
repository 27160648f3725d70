"""What a file becomes: a document, a table, or nothing and why."""

import pytest

from findspot.content.intake import Became, Given, Sizes, read_files

SIZES = Sizes(document=2000, table=5000)
TREE = b'{"type":"doc","content":[{"type":"paragraph","content":[{"type":"text","text":"\\u5c71 sea"}]}]}'


def become(name: str, data: bytes, **known: str) -> tuple[Became, bytes]:
    (became,), (content,) = read_files([Given(name, **known)], SIZES, [data])
    return became, content


def test_markdown_and_text_become_documents_with_a_title_and_a_count_of_words() -> None:
    became, content = become("筆記/a.md", "---\nx: 1\n---\n# The *first* & 第三章 #\n\ntwo words".encode())
    assert (became.kind, became.format, became.title, became.type) == (
        "document",
        "markdown",
        "The first & 第三章",
        "document",
    )
    assert (became.word_count, content[:4]) == (7, b"---\n")
    became, content = become("a/👩‍👩‍👧 list.txt", "# not a title\r\n".encode("utf-16"))
    assert (became.format, became.title, content) == ("text", "👩‍👩‍👧 list", b"# not a title\r\n")


def test_json_becomes_a_table_and_keeps_its_text() -> None:
    text = b'{"b": 1.10, "a": 12345678901234567890123, "z": "\\u0000"}'
    became, content = become("data/books.json", b"\xef\xbb\xbf " + text + b"\n")
    assert (became.kind, became.title, content) == ("table", "books", text)


def test_a_tiptap_tree_becomes_a_document() -> None:
    became, content = become("chapter.json", TREE)
    assert (became.kind, became.format, became.title, became.word_count) == ("document", "tiptap", "chapter", 2)
    assert content == TREE
    assert become("x.json", b'{"type":"doc","content":{}}')[0].kind == "table"
    assert become("x.json", b'[{"type":"doc","content":[]}]')[0].kind == "table"
    assert "/content/0" in become("x.json", b'{"type":"doc","content":[{"a":1}]}')[0].reason


def test_jsonl_becomes_a_list_of_its_lines() -> None:
    data = '{"a": 1.10}\r\n\n  \n["\u2028 字"]\n"x"'.encode()
    became, content = become("log.jsonl", data)
    assert (became.kind, content) == ("table", '[{"a": 1.10},["\u2028 字"],"x"]'.encode())


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b'{"a":1}\n{"b":}\n', "line 2 is not valid JSON"),
        (b'1\n\n"\\ud800"', "line 3 contains a lone surrogate"),
        (b"1\n1,2\n", "line 2 is not valid JSON"),
        (b"1\n" + b"[" * 600 + b"]" * 600, "line 2 is nested"),
        (b"\n \n", "it is empty"),
    ],
)
def test_a_bad_line_is_named(data: bytes, why: str) -> None:
    became, content = become("log.ndjson", data)
    assert (became.kind, content) == ("nothing", b"")
    assert became.reason.startswith(why)


@pytest.mark.parametrize(
    ("name", "data", "why"),
    [
        ("a.md", b"", "it is empty"),
        ("a.md", b" \n", "it is empty"),
        ("a.txt", "é".encode("latin-1"), "it is not in UTF-8"),
        ("a.md", b"x" * 2001, "a document may have 2,000 bytes"),
        ("a.json", b"[" + b"1," * 3000 + b"1]", "a table may have 5,000 bytes"),
        ("a.json", b"{'a': 1}", "it is not valid JSON"),
        ("a.json", b"NaN", "it is not valid JSON"),
    ],
)
def test_what_cannot_be_read_says_why(name: str, data: bytes, why: str) -> None:
    became, content = become(name, data)
    assert (became.kind, content) == ("nothing", b"")
    assert became.reason.startswith(why)


def test_what_an_export_says_about_a_file_holds() -> None:
    became, _ = become("x.md", b"# Heading", kind="document", title="Another", type="chapter")
    assert (became.title, became.type) == ("Another", "chapter")
    assert become("x.json", TREE, kind="table")[0].kind == "table"
    assert become("x.md", b"", kind="document")[0].kind == "document"
    assert become("x.md", b"# H", kind="document", title="\n")[0].title == "H"


def test_a_batch_keeps_its_order_and_one_bad_file_spoils_nothing() -> None:
    given = [Given("a.md"), Given("b.json"), Given("c.txt")]
    became, contents = read_files(given, SIZES, [b"a", b"{", b"c"])
    assert ([each.kind for each in became], contents) == (["document", "nothing", "document"], [b"a", b"", b"c"])
