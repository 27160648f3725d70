"""What a file is, by its name and its first bytes."""

import pytest

from findspot.names import checked
from findspot.sources.files import decoded, ending, fitting, opens_with_title, stem
from findspot.sources.paths import Unfit


def test_the_ending_tells_what_a_file_holds() -> None:
    endings = {
        name: ending(name) for name in ("a.md", "A.MARKDOWN", "b.txt", "b.Text", "c.json", "d.jsonl", "d.ndjson")
    }
    assert list(endings.values()) == ["markdown", "markdown", "text", "text", "json", "jsonl", "jsonl"]


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("a.pdf", "end in .pdf"),
        ("README", "without an ending"),
        ("a.md.", "end in ."),
        ("notes.zip", "archive inside"),
        ("a.tar.gz", "archive inside"),
        (".hidden.md", "hidden"),
        (".git/a.md", "hidden folder .git/"),
        ("__MACOSX/a.md", "hidden folder __MACOSX/"),
    ],
)
def test_other_files_are_not_imported_and_it_is_said_why(name: str, why: str) -> None:
    with pytest.raises(Unfit, match=why):
        ending(name)


def test_text_is_read_in_utf_8_and_in_utf_16_with_a_mark() -> None:
    text = "第三章 👩‍👩‍👧\r\n\u2028e\u0301"
    for data in (
        text.encode(),
        text.encode("utf-8-sig"),
        text.encode("utf-16"),
        b"\xfe\xff" + text.encode("utf-16-be"),
    ):
        assert decoded(data) == text.encode()


@pytest.mark.parametrize(
    "data", ["山海经".encode("gb18030"), "é".encode("latin-1"), "é".encode("utf-32"), b"\xff\xfea"]
)
def test_other_encodings_are_refused_with_a_way_out(data: bytes) -> None:
    with pytest.raises(Unfit, match="as UTF-8"):
        decoded(data)


def test_a_title_is_a_heading_of_level_one_that_comes_first() -> None:
    first = ("# A", "\n\n  # A #\n", "A\n===\n", "---\ntitle: x\n---\n\n# A\n", "\ufeff# A", "#\tA")
    assert all(map(opens_with_title, first))
    later = ("## A\n# B", "text\n\n# A", "#A", "- # A", "> A\n===", "A\n---\n", "", "    # A")
    assert not any(map(opens_with_title, later))


def test_any_title_can_be_made_to_fit() -> None:
    for wish in ("  a\n b\t", "x" * 500, "a " * 300, "\0\x1b[2J", "第三章 👩‍👩‍👧", "\u2028a\u200b"):
        title = fitting(wish)
        assert not title or checked(title) == title
    assert fitting(" \n ") == ""
    assert fitting("a\r\nb") == "a b"


def test_a_stem_is_the_name_without_folders_and_ending() -> None:
    assert [stem(name) for name in ("a/b.c.md", "b", "a/.md")] == ["b.c", "b", ".md"]
