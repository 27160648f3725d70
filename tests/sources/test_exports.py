"""File names of an export: safe and unique on every system."""

from findspot.sources.exports import ExportNames
from findspot.sources.paths import hidden_part, safe_path


def test_names_are_close_to_the_original_safe_and_unique() -> None:
    names = ExportNames()
    wishes = [
        ("notes/a.md", "markdown", "notes/a.md"),
        ("notes/A.md", "markdown", "notes/A (2).md"),
        ("notes/a.md/b.txt", "text", "notes_a.md_b.txt"),
        ("notes", "markdown", "notes.md"),
        ("第三章: “?”", "tiptap", "第三章_ “_”.json"),
        ("a.json", "text", "a.json.txt"),
        ("../../etc", "text", "_/_/etc.txt"),
        ("con.txt", "text", "_con.txt"),
        (".hidden", "text", "_.hidden.txt"),
        ("a\0\n", "text", "a__.txt"),
    ]
    for wish, form, name in wishes:
        assert names.document(wish, form) == name
        assert safe_path(name) == name
        assert hidden_part(name) is None
    assert names.table("notes/a.md") == "notes/a.md.json"
    assert len(names.document("字" * 300 + ".md", "markdown").encode()) <= 210


def test_equal_titles_get_different_names() -> None:
    names = ExportNames()
    assert len({names.document("Untitled", "markdown").casefold() for _ in range(50)}) == 50
