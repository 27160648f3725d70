from __future__ import annotations

import json
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pyromark
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from findspot.sources import Extract, SourceError, Span, markdown

FIXTURES = Path(__file__).parent.parent / "fixtures" / "documents"
EXAMPLES = json.loads((FIXTURES / "commonmark_examples.json").read_text(encoding="utf-8"))

FRAGMENTS = (
    *(
        "word",
        "two words ",
        "中文",
        "繁體",
        "é",
        "e\u0301",
        "👨‍👩‍👧",
        "שלום",
        "مرحبا",
        "\u2028",
        "\0",
        "\ufeff",
        "\x0b",
    ),
    *("\n", "\n\n", "\r\n", "\r", "\t", "    ", " ", "  \n", "\\\n", "<br>"),
    *("*", "**", "_", "~~", "`", "``", "```", "~~~", "\\", "\\*", "\\|", "`a\\|b`", "&amp;", "&#65;", "&ngE;", "&no;"),
    *("# ", "===\n", "---\n", "> ", "\n> ", "- ", "\n  ", "1. ", "[x] ", "[!NOTE]", "|", "a|b\n-|-\n", "|-|-|\n"),
    *(
        "[",
        "]",
        "(",
        ")",
        "!",
        "[^1]",
        "[^1]: ",
        ": ",
        "http://a",
        "<",
        ">",
        "<b>",
        "</b>",
        "<div>",
        "<pre>",
        "<!--",
        "-->",
    ),
)
sources = st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=3), max_size=25).map("".join)

EXCEPTIONS = {
    "inserted break": r"(?P<shown>[\n\t])=",
    "entity": r"(?P<shown>.)=&#?\w+;",
    "escape": r"(?P<shown>.)=\\(?P=shown)",
    "soft break, or white space in raw HTML": r"(?P<shown> )=[\s>]*\s[\s>]*",
    "hard break": r"(?P<shown>\n)=(?:\\?[\s>]*[\r\n][\s>]*|<[bB][rR]\s*/?>[\s>]*)",
    "tab": r"(?P<shown> )=\t",
}
"""The only ways in which a character of the text may differ from the source at its place, as `shown=source`."""


def shown(source: str) -> str:
    return markdown.extract(source).text


def assert_exact(source: str, found: Extract) -> None:
    last = Span(0, 0)
    for index, character in enumerate(found.text):
        place = found.place(index)
        assert place.start >= last.start
        assert place.end >= last.end
        last = place
        there = source[place.start : place.end]
        if there != character:
            pair = f"{character}={there}"
            assert any(re.fullmatch(pattern, pair, re.DOTALL) for pattern in EXCEPTIONS.values()), pair


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("# Title #\n\nOne *two* **three** ~~four~~ `five`\n", "Title\n\nOne two three four five"),
        ("Set\n===\nbody", "Set\n\nbody"),
        ("soft\nbreak", "soft break"),
        ("中文\n换行\n混 abc\n行", "中文换行混 abc 行"),
        ("hard  \nbreak\\\nagain<br>here", "hard\nbreak\nagain\nhere"),
        ("- one\n- two\n\n  more\n  1. three\n- [x] done", "one\n\ntwo\n\nmore\n\nthree\n\ndone"),
        ("> quoted\n> text\n\n> [!NOTE]\n> noted", "quoted text\n\nnoted"),
        ("| a | b |\n|---|---|\n| 1 \\| 2 | |\n| | `x\\|y` |\n", "a\tb\n\n1 | 2\n\nx|y"),
        ("```py\ndef f():\n\n    pass\n```\nafter", "def f():\n\n    pass\n\nafter"),
        ("    indented\n\n    code\n", "indented\n\ncode"),
        ("![alt *text*](u.png 'title') and [link](http://u 'title')", "alt text and link"),
        ("[ref][r] <http://auto.link>\n\n[r]: http://url 'title'", "ref http://auto.link"),
        ("a &amp; b &copy; \\* \\_ &nosuch;", "a & b © * _ &nosuch;"),
        ("a <b>bold</b> <!-- hidden --> word", "a bold  word"),
        ("note[^1]\n\n[^1]: the footnote\n", "note\n\nthe footnote"),
        ("one\n\n---\n\ntwo", "one\n\ntwo"),
        ("", ""),
        (" \n\t\n", ""),
        ("\ufeff# Title", "Title"),
        ("a\0b", "a\0b"),
        ("one\rtwo\r\n\r\nthree", "one two\n\nthree"),
        ("> ```\n> a\n>\n>  b\n> ```", "a\n\n b"),
        ("`a\r\nb` ``  c ` d ``", "a b  c ` d"),
    ],
)
def test_the_text_is_what_a_reader_sees(source: str, text: str) -> None:
    assert shown(source) == text


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("<div>one <b>two</b>\nthree</div>", "one two three"),
        ("<table><tr><td>a</td><td>b &lt; c</td></tr></table>", "a\nb < c"),
        ("<div title='not text'>text</div>", "text"),
        ("<script>\nlet hidden\n\nmore\n</script>\n\nshown", "shown"),
        ("<style>p {}</style>\n\nshown", "shown"),
        ("<!-- hidden\n\nstill -->\n\nshown", "shown"),
        ("<?php hidden ?>\n\nshown", "shown"),
        ("<pre>\none\n  two\n</pre>", "one\n  two"),
        ("<div\nunclosed", ""),
        ("<div>\n1 < 2 &nosuch; &#1;</div>", "1 < 2 &nosuch; &#1;"),
    ],
)
def test_raw_html_becomes_the_text_between_its_tags(source: str, text: str) -> None:
    assert shown(source) == text


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("---\ntitle: Not text\ntags: [a]\n---\n\n# Text\n", "Text"),
        ("\ufeff---\n# comment\ntitle: x\n...\nText", "Text"),
        ("---\r\ntitle: x\r\n---\r\nText", "Text"),
        ("---\nNo key here\n---\nText", "No key here\n\nText"),
        ("---\n\ntitle: x\n\n---\n", "title: x"),
        ("---\ntitle: never closed\n", "title: never closed"),
        ("Text\n\n---\ntitle: x\n---\n", "Text\n\ntitle: x"),
    ],
)
def test_front_matter_is_not_part_of_the_text(source: str, text: str) -> None:
    assert shown(source) == text


def test_offsets_after_front_matter_count_from_the_start_of_the_source() -> None:
    source = "---\ntitle: 標題\n---\n正文 **粗體**"
    found = markdown.extract(source)
    assert [source[span.start : span.end] for span in found.spans(0, len(found.text))] == ["正文 ", "粗體"]


def test_blocks_have_the_kind_of_their_markup() -> None:
    source = "# h\n\np\n\n- i\n\n      c\n\n> q\n\n|r|\n|-|\n\n<div>x</div>\n"
    assert [block.kind for block in markdown.extract(source).blocks] == [
        *("heading", "paragraph", "item", "code", "paragraph", "row", "html")
    ]


@pytest.mark.parametrize(
    ("source", "needle", "spans"),
    [
        ("> a `b\n> c` d", "b c", ["b\n> c"]),
        ("> a\n> b", "a b", ["a\n> b"]),
        ("a\\*b", "*", ["\\*"]),
        ("x &ngE; y", "≧̸", ["&ngE;"]),
        ("```\r\na\r\nb\r\n```", "a\nb", ["a\r\nb"]),
        ("> ```\n> a\n> b\n> ```", "a\nb", ["a\n> b"]),
        ("- \t\tcode", "  code", ["\tcode"]),
        ("中\n文", "中文", ["中", "文"]),
        ("👨‍👩‍👧 **👍🏽** e\u0301", "👍🏽", ["👍🏽"]),
        ("`` a`b ``", "a`b", ["a`b"]),
        ("# `x` \t", "x", ["x"]),
    ],
)
def test_the_spans_of_a_passage_are_what_must_be_edited(source: str, needle: str, spans: list[str]) -> None:
    found = markdown.extract(source)
    start = found.text.index(needle)
    assert [source[span.start : span.end] for span in found.spans(start, start + len(needle))] == spans


def test_a_lone_surrogate_is_refused() -> None:
    with pytest.raises(SourceError, match="surrogate"):
        markdown.extract("中\udfff")


def test_a_panic_of_the_parser_becomes_a_source_error(monkeypatch: pytest.MonkeyPatch) -> None:
    class PanicException(BaseException):
        """Like the parser's own: not an Exception."""

    class Panicking:
        def events_with_range(self, source: str) -> None:
            raise PanicException(source)

    monkeypatch.setattr(markdown, "PARSER", Panicking())
    with pytest.raises(SourceError, match="parser failed"):
        markdown.extract("x")


@pytest.mark.parametrize(
    "source",
    [
        "> " * 20_000 + "a",
        "[" * 50_000,
        "*a " * 50_000,
        "<div>\n" + "<a '" * 50_000,
        "<div>\n" + "<!-- " * 50_000,
        "<div>\n" + "&a" * 50_000,
        "- `\n" + "  x" * 50_000 + "`",
        "`" + "a\n> " * 5_000 + "`",
    ],
    ids=["quotes", "brackets", "emphasis", "quotes in tags", "comments", "entities", "code", "code lines"],
)
def test_hostile_sources_are_read_in_linear_time(source: str) -> None:
    found = markdown.extract(source)
    assert not found.text or found.place(len(found.text) - 1).end <= len(source)


@settings(max_examples=300)
@given(sources)
def test_places_and_blocks_are_right_for_any_source(assert_sound: Callable[[Extract], None], source: str) -> None:
    found = markdown.extract(source)
    assert_exact(source, found)
    assert_sound(found)


@settings(max_examples=200)
@given(st.lists(st.sampled_from([part for part in FRAGMENTS if not set(part) & set("<>[\0\ufeff\r")])).map("".join))
def test_the_words_are_those_of_the_rendered_html(source: str) -> None:
    rendered = pyromark.html(source, options=markdown.EXTENSIONS)
    if not source.startswith("---"):
        assert "".join(shown(source).split()) == "".join(rendered_words(rendered).split())


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: str(example["example"]))
def test_the_commonmark_examples_have_the_words_of_their_html(
    example: dict[str, str], assert_sound: Callable[[Extract], None]
) -> None:
    found = markdown.extract(example["markdown"])
    assert_exact(example["markdown"], found)
    assert_sound(found)
    assert " ".join(found.text.split()) == rendered_words(example["html"])


class Words(HTMLParser):
    """Collects the text of HTML: inline tags are dropped, other tags separate words, images become their alt text."""

    inside_a_line = frozenset({"a", "em", "strong", "code", "del", "b", "i", "m", "bab", "c2c", "bar", "abc"})

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "img":
            self.parts.append(dict(attrs).get("alt") or "")
        elif tag not in self.inside_a_line:
            self.parts.append(" ")

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.inside_a_line:
            self.parts.append(" ")

    def handle_data(self, data: str) -> None:
        self.parts.append(data)


def rendered_words(html: str) -> str:
    words = Words()
    words.feed(html)
    words.close()
    return " ".join("".join(words.parts).split())
