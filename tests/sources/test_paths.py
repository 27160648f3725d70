"""Paths of imported files are accepted as they are or rejected."""

import pytest

from findspot.sources.paths import MAX_BYTES, UnsupportedFile, hidden_part, printable, safe_path


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("notes/a.md", "notes/a.md"),
        ("./notes//a.md", "notes/a.md"),
        ("筆記/第三章.md", "筆記/第三章.md"),
        ("👩‍👩‍👧 e\u0301.md", "👩‍👩‍👧 \u00e9.md"),
        ("a..b/c...md", "a..b/c...md"),
        ("שלום.txt", "שלום.txt"),
    ],
)
def test_a_valid_name_is_normalised(name: str, path: str) -> None:
    assert safe_path(name) == path


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("../a.md", "'..'"),
        ("a/../../b.md", "'..'"),
        ("..", "'..'"),
        ("/etc/passwd", "absolute"),
        ("C:\\a.md", "backslash"),
        ("C:a.md", "absolute"),
        ("a\\..\\b.md", "backslash"),
        ("a\0.md", "control"),
        ("a\n.md", "control"),
        ("a\u2028.md", "control"),
        ("\udcff.md", "UTF-8"),
        ("", "no name"),
        ("./", "no name"),
        ("字" * 100 + ".md", "too long"),
        ("ab/" * (MAX_BYTES // 3) + "c.md", "too long"),
    ],
)
def test_an_invalid_name_is_refused_with_a_reason(name: str, why: str) -> None:
    with pytest.raises(UnsupportedFile, match=why):
        safe_path(name)


def test_the_hidden_part_is_the_first_hidden_folder_or_the_file() -> None:
    assert hidden_part(".git/objects/a.md") == ".git/"
    assert hidden_part("a/.b.md") == "a/.b.md"
    assert hidden_part("__MACOSX/x/a.md") == "__MACOSX/"
    assert hidden_part("a/b.md") is None


def test_any_name_is_made_printable_and_short() -> None:
    assert printable("a\x1b[2J\udcff\n" + "x" * 300).isprintable()
    assert len(printable("x" * 300)) == 200
