"""Conversion of files to documents and tables."""

import pytest

from findspot.content.import_files import Converted, ImportFile, SizeLimits, convert_files

LIMITS = SizeLimits(document=2000, table=5000)
TREE = b'{"type":"doc","content":[{"type":"paragraph","content":[{"type":"text","text":"\\u5c71 sea"}]}]}'


def convert(name: str, data: bytes, **known: str) -> tuple[Converted, bytes]:
    (result,), (content,) = convert_files([ImportFile(name, **known)], LIMITS, [data])
    return result, content


def test_markdown_and_text_become_documents_with_a_title_and_a_word_count() -> None:
    result, content = convert("筆記/a.md", "---\nx: 1\n---\n# The *first* & 第三章 #\n\ntwo words".encode())
    assert (result.kind, result.format, result.title, result.type) == (
        "document",
        "markdown",
        "The first & 第三章",
        "document",
    )
    assert (result.word_count, content[:4]) == (7, b"---\n")
    result, content = convert("a/👩‍👩‍👧 list.txt", "# not a title\r\n".encode("utf-16"))
    assert (result.format, result.title, content) == ("text", "👩‍👩‍👧 list", b"# not a title\r\n")


def test_json_becomes_a_table_and_keeps_its_text() -> None:
    text = b'{"b": 1.10, "a": 12345678901234567890123, "z": "\\u0000"}'
    result, content = convert("data/books.json", b"\xef\xbb\xbf " + text + b"\n")
    assert (result.kind, result.title, content) == ("table", "books", text)


def test_a_tiptap_tree_becomes_a_document() -> None:
    result, content = convert("chapter.json", TREE)
    assert (result.kind, result.format, result.title, result.word_count) == ("document", "tiptap", "chapter", 2)
    assert content == TREE
    assert convert("x.json", b'{"type":"doc","content":{}}')[0].kind == "table"
    assert convert("x.json", b'[{"type":"doc","content":[]}]')[0].kind == "table"
    assert "/content/0" in convert("x.json", b'{"type":"doc","content":[{"a":1}]}')[0].reason


def test_jsonl_becomes_a_list_of_its_lines() -> None:
    data = '{"a": 1.10}\r\n\n  \n["\u2028 字"]\n"x"'.encode()
    result, content = convert("log.jsonl", data)
    assert (result.kind, content) == ("table", '[{"a": 1.10},["\u2028 字"],"x"]'.encode())


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
def test_an_invalid_line_is_named(data: bytes, why: str) -> None:
    result, content = convert("log.ndjson", data)
    assert (result.kind, content) == ("nothing", b"")
    assert result.reason.startswith(why)


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
def test_a_file_that_cannot_be_converted_has_a_reason(name: str, data: bytes, why: str) -> None:
    result, content = convert(name, data)
    assert (result.kind, content) == ("nothing", b"")
    assert result.reason.startswith(why)


def test_the_title_and_kind_that_an_export_recorded_are_used() -> None:
    result, _ = convert("x.md", b"# Heading", kind="document", title="Another", type="chapter")
    assert (result.title, result.type) == ("Another", "chapter")
    assert convert("x.json", TREE, kind="table")[0].kind == "table"
    assert convert("x.md", b"", kind="document")[0].kind == "document"
    assert convert("x.md", b"# H", kind="document", title="\n")[0].title == "H"


def test_results_keep_the_order_of_the_files_and_a_bad_file_affects_no_other() -> None:
    files = [ImportFile("a.md"), ImportFile("b.json"), ImportFile("c.txt")]
    result, contents = convert_files(files, LIMITS, [b"a", b"{", b"c"])
    assert ([each.kind for each in result], contents) == (["document", "nothing", "document"], [b"a", b"", b"c"])
