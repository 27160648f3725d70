from __future__ import annotations

import pytest

from findspot.sources.markdown_marks import marks


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("甲 **乙** `丙`", [("Strong", "**乙**", ""), ("Code", "`丙`", "")]),
        ("*a ~~b~~*", [("Emphasis", "*a ~~b~~*", ""), ("Strikethrough", "~~b~~", "")]),
        ("[a](u) ![b](v)", [("Link", "[a](u)", "Inline"), ("Image", "![b](v)", "Inline")]),
        ("[a] [a][]\n\n[a]: u", [("Link", "[a]", "Shortcut"), ("Link", "[a][]", "Collapsed")]),
        ("<http://a.b> <b>", [("Link", "<http://a.b>", "Autolink"), ("InlineHtml", "<b>", "")]),
        ("a[^1]\n\n[^1]: b", [("Footnote", "[^1]", "")]),
        ("```py\na\n```", [("CodeBlock", "```py\na\n```", "Fenced")]),
        ("---\nt: *a*\n---\n*乙*", [("Emphasis", "*乙*", "")]),
        ("a\r*b*", [("Emphasis", "*b*", "")]),
        ("plain", []),
    ],
)
def test_marks_have_their_place_in_the_source(source: str, expected: list[tuple[str, str, str]]) -> None:
    assert [(mark.kind, source[mark.start : mark.end], mark.style) for mark in marks(source)] == expected
