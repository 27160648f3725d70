"""Names of files: taken as they are, or not at all."""

import pytest

from findspot.sources.paths import MAX_BYTES, Unfit, hidden, safe, shown


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
def test_a_good_name_has_one_spelling(name: str, path: str) -> None:
    assert safe(name) == path


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
def test_a_bad_name_is_refused_with_a_sentence(name: str, why: str) -> None:
    with pytest.raises(Unfit, match=why):
        safe(name)


def test_what_is_hidden_is_told_by_the_folder_that_hides_it() -> None:
    assert hidden(".git/objects/a.md") == ".git/"
    assert hidden("a/.b.md") == "a/.b.md"
    assert hidden("__MACOSX/x/a.md") == "__MACOSX/"
    assert hidden("a/b.md") is None


def test_any_name_can_be_shown() -> None:
    assert shown("a\x1b[2J\udcff\n" + "x" * 300).isprintable()
    assert len(shown("x" * 300)) == 200
