"""Types, encodings and titles of imported files."""

import pytest

from findspot.names import checked
from findspot.sources.files import base_name, clean_title, decode_text, file_type, opens_with_title
from findspot.sources.paths import UnsupportedFile


def test_the_extension_decides_the_file_type() -> None:
    names = ("a.md", "A.MARKDOWN", "b.txt", "b.Text", "c.json", "d.jsonl", "d.ndjson")
    assert [file_type(name) for name in names] == ["markdown", "markdown", "text", "text", "json", "jsonl", "jsonl"]


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("a.pdf", ".pdf files"),
        ("README", "without an extension"),
        ("a.md.", ". files"),
        ("notes.zip", "archive inside"),
        ("a.tar.gz", "archive inside"),
        (".hidden.md", "hidden"),
        (".git/a.md", "hidden folder .git/"),
        ("__MACOSX/a.md", "hidden folder __MACOSX/"),
    ],
)
def test_other_files_are_refused_with_a_reason(name: str, why: str) -> None:
    with pytest.raises(UnsupportedFile, match=why):
        file_type(name)


def test_utf_8_and_utf_16_with_a_byte_order_mark_are_decoded() -> None:
    text = "第三章 👩‍👩‍👧\r\n\u2028e\u0301"
    for data in (
        text.encode(),
        text.encode("utf-8-sig"),
        text.encode("utf-16"),
        b"\xfe\xff" + text.encode("utf-16-be"),
    ):
        assert decode_text(data) == text.encode()


@pytest.mark.parametrize(
    "data", ["山海经".encode("gb18030"), "é".encode("latin-1"), "é".encode("utf-32"), b"\xff\xfea"]
)
def test_other_encodings_are_refused_with_advice(data: bytes) -> None:
    with pytest.raises(UnsupportedFile, match="as UTF-8"):
        decode_text(data)


def test_only_a_level_one_heading_at_the_start_is_a_title() -> None:
    first = ("# A", "\n\n  # A #\n", "A\n===\n", "---\ntitle: x\n---\n\n# A\n", "\ufeff# A", "#\tA")
    assert all(map(opens_with_title, first))
    later = ("## A\n# B", "text\n\n# A", "#A", "- # A", "> A\n===", "A\n---\n", "", "    # A")
    assert not any(map(opens_with_title, later))


def test_any_title_can_be_made_a_valid_name() -> None:
    for wish in ("  a\n b\t", "x" * 500, "a " * 300, "\0\x1b[2J", "第三章 👩‍👩‍👧", "\u2028a\u200b"):
        title = clean_title(wish)
        assert not title or checked(title) == title
    assert clean_title(" \n ") == ""
    assert clean_title("a\r\nb") == "a b"


def test_the_base_name_has_no_folders_and_no_extension() -> None:
    assert [base_name(name) for name in ("a/b.c.md", "b", "a/.md")] == ["b.c", "b", ".md"]
