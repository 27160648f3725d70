from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from findspot.replacing.rewrite import Rewrite, rewrite
from findspot.sources import Extract, markdown
from findspot.sources.markdown_marks import marks
from tests.replacing.documents import REPLACEMENTS, a_part_of, found, replaced_blocks, replacements
from tests.sources.test_markdown import EXAMPLES, FRAGMENTS, sources


def outcome(source: str, search: str, replace: str, **options: bool) -> Rewrite:
    extracted = markdown.extract(source)
    return rewrite(source, "markdown", extracted, found(extracted, search, replace, **options))


def replaced(source: str, search: str, replace: str, **options: bool) -> str:
    """Return the new source of a document in which every match can be replaced."""
    done = outcome(source, search, replace, **options)
    assert done.left == ()
    return done.content


@pytest.mark.parametrize(
    ("source", "search", "replace", "expected"),
    [
        ("他说**废弃仓库**很大", "废弃仓库", "荒废工厂", "他说**荒废工厂**很大"),
        ("林**小雨**走", "林小雨", "王五", "王五走"),
        ("**林**小雨", "林小雨", "王五", "**王五**"),
        ("one **two** three", "ne tw", "X", "oX**o** three"),
        ("[a link](http://a.b/link)", "link", "page", "[a page](http://a.b/link)"),
        ("![alt](alt.png 'alt')", "alt", "text", "![text](alt.png 'alt')"),
        ("---\ntitle: 林\n---\n# 林 #\n", "林", "王", "---\ntitle: 林\n---\n# 王 #\n"),
        ("> a\n> b *c* d\n", "b c", "X", "> a\n> X d\n"),
        ("a &amp; b", "&", "and", "a and b"),
        (r"a \* b", "*", "x", "a x b"),
        ("a\r\nb\r\n\r\nc\r\n", "b", "x", "a\r\nx\r\n\r\nc\r\n"),
        ("x &fjlig; y", "f", "g", "x gj y"),
        ("<b>bold</b> bold", "bold", "x", "<b>x</b> x"),
        ("<div title='a'>a</div>", "a", "1 < 2 &amp;", "<div title='a'>1 &lt; 2 &amp;amp;</div>"),
        ("<http://a.b>", "a.b", "c.d", "<http://c.d>"),
    ],
)
def test_the_source_changes_only_at_the_place_of_the_text(
    source: str, search: str, replace: str, expected: str
) -> None:
    assert replaced(source, search, replace) == expected


@pytest.mark.parametrize(
    ("source", "replace", "expected"),
    [
        ("x", "*a* _b_ `c` [d] <e> ~f~ g|h", r"\*a\* \_b\_ \`c\` \[d\] \<e> \~f\~ g\|h"),
        ("x", "a\\b", "a\\\\b"),
        ("x", "&amp; & &#1;", "\\&amp; & \\&\\#1;"),
        ("x", "snake_case C#", "snake_case C#"),
        ("x", "# no heading", "\\# no heading"),
        ("x", "- no item", "\\- no item"),
        ("x", "+ no item", "\\+ no item"),
        ("x", "1. no item", "1\\. no item"),
        ("x", "12) no item", "12\\) no item"),
        ("x", "> no quote", "\\> no quote"),
        ("x", "===", "\\==="),
        ("x", "a\nb", "a<br>b"),
        ("a x", "- b", "a - b"),
        ("a\nx", "- b", "a\n\\- b"),
        ("# x", "C #", "# C \\#"),
        ("- x", "[ ] no task", "- \\[ \\] no task"),
        ("|x|\n|-|\n|`x`|", "a|b", "|a\\|b|\n|-|\n|`a\\|b`|"),
        ("x[a](b)", "!", "\\![a](b)"),
        ("x", "    no code", "&#32;&#32;&#32;&#32;no&#32;code"),
    ],
)
def test_a_replacement_reads_as_typed(source: str, replace: str, expected: str) -> None:
    assert replaced(source, "x", replace) == expected


@pytest.mark.parametrize(
    ("source", "replace", "expected"),
    [
        ("a `x` b", "*_#", "a `*_#` b"),
        ("a `x` b", "`", "a `` ` `` b"),
        ("a `x` b", "c``d", "a `c``d` b"),
        ("```\nx\n```", "```", "````\n```\n````"),
        ("~~~ py\nx\n~~~", "# `*", "~~~ py\n# `*\n~~~"),
        ("> ```\n> x\n> ```", "a\nb", "> ```\n> a\n> b\n> ```"),
        ("    x", "*a*", "    *a*"),
    ],
)
def test_code_is_not_escaped_and_keeps_its_fence_or_gets_a_longer_one(source: str, replace: str, expected: str) -> None:
    assert replaced(source, "x", replace) == expected


@pytest.mark.parametrize(
    ("source", "search", "replace", "expected"),
    [
        ("**中文**后", "中文", "中文。", "**中文。**&#21518;"),
        ("前**中文**", "中文", "“中文”", "&#21069;**“中文”**"),
        ("one _two_ three", "one ", "X", "&#88;_two_ three"),
        ("one _two_ three", "e t", "X", "on&#88;_wo_ three"),
        ("<http://a.b>", "a.b", "c d", "[http&#58;&#47;&#47;c&#32;d](<http://a.b>)"),
    ],
)
def test_entities_keep_marks_where_escaping_is_not_enough(
    source: str, search: str, replace: str, expected: str
) -> None:
    assert replaced(source, search, replace) == expected


@pytest.mark.parametrize(
    ("source", "search", "replace", "expected"),
    [
        ("中\n文", "文", "x", "中x"),
        ("中\n文字", "中文", "x", "x字"),
        ("a\n文", "a", "中", "中 文"),
        ("> a\n> 文", "a", "中", "> 中 文"),
        ("a \nb", " ", "-", "a-b"),
        ("a\nx\nb", "x", "", "a&#32;&#32;b"),
        ("a\\\nx", "x", "", "a"),
        ("- x\\\n  b", "x", "", "- b"),
    ],
)
def test_a_line_end_beside_a_match_reads_as_before(source: str, search: str, replace: str, expected: str) -> None:
    assert replaced(source, search, replace) == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a **x** b", "a  b"),
        ("a ***x*** b", "a  b"),
        ("a `x` b", "a  b"),
        ("a ~~x~~[x](u)", "a "),
        ("![x](u.png)", "![](u.png)"),
        ("[![x](u.png)](v)", "[![](u.png)](v)"),
        ("# x\n\n- x\n- b", "# \n\n- \n- b"),
        ("- x\n\n  b", "- <!-- -->\n\n  b"),
    ],
)
def test_marks_that_lose_all_their_text_are_removed_and_images_stay(source: str, expected: str) -> None:
    assert replaced(source, "x", "") == expected


def test_a_link_keeps_its_reference_when_its_text_changes() -> None:
    source = "[foo], [foo][], [foo][bar], ![foo]\n\n[foo]: /a\n[bar]: /b\n"
    assert replaced(source, "foo", "baz") == "[baz][foo], [baz][foo], [baz][bar], ![baz][foo]\n\n[foo]: /a\n[bar]: /b\n"


def test_a_match_that_cannot_be_replaced_is_left_and_reported_and_the_others_are_done() -> None:
    done = outcome("Title\n===\n\ntitle and `title`", "title", "")
    assert done.content == "Title\n===\n\n and "
    assert [(match.start, match.end) for match in done.left] == [(0, 5)]
    done = outcome("a `x` x", "x", "b\nc")
    assert done.content == "a `x` b<br>c"
    assert [match.start for match in done.left] == [2]


def assert_reads_as_expected(source: str, search: str, replace: str) -> None:
    extracted = markdown.extract(source)
    matches = found(extracted, search, replace, case_sensitive=True)
    done = rewrite(source, "markdown", extracted, matches)
    written = [match for match in matches if match not in done.left]
    new = markdown.extract(done.content)
    assert replaced_blocks(new, []) == replaced_blocks(extracted, written)
    assert_surroundings_unchanged(source, extracted, done.content, [match.start for match in written])
    if not written:
        assert done.content == source
    if replace:
        kinds = [
            sorted(mark.kind for mark in marks(each) if mark.kind not in ("InlineHtml", "CodeBlock"))
            for each in (source, done.content)
        ]
        crossed = any(len(extracted.spans(match.start, match.end)) > 1 for match in written)
        assert crossed or kinds[0] == kinds[1]


def assert_surroundings_unchanged(source: str, extracted: Extract, after: str, starts: list[int]) -> None:
    """The source is the same up to the last character before, and from the first one after, the blocks with matches."""
    touched = [
        number
        for number, block in enumerate(extracted.blocks)
        if any(block.start <= each < block.end for each in starts)
    ]
    if not touched:
        return
    if touched[0] > 0:
        before = source[: extracted.place(extracted.blocks[touched[0] - 1].end - 1).end]
        assert after.startswith(before)
    if touched[-1] + 1 < len(extracted.blocks):
        rest = source[extracted.place(extracted.blocks[touched[-1] + 1].start).start :]
        assert after.endswith(rest)


@settings(max_examples=400)
@given(sources, replacements, st.data())
def test_any_source_reads_as_expected(source: str, replace: str, data: st.DataObject) -> None:
    text = markdown.extract(source).text
    assert_reads_as_expected(source, a_part_of(data.draw, text), replace)


calm_sources = st.lists(st.sampled_from([each for each in FRAGMENTS if not set(each) & set("<&")]), max_size=25).map(
    "".join
)


@settings(max_examples=400)
@given(calm_sources, st.sampled_from(["x", "word", "林小溪", "é", "NOTE", "שלום"]), st.data())
def test_letters_that_replace_letters_read_as_expected(source: str, replace: str, data: st.DataObject) -> None:
    text = markdown.extract(source).text
    letters = [match[0] for match in re.finditer(r"[^\W\d_]+", text)] or ["word"]
    word = data.draw(st.sampled_from(letters))
    assert_reads_as_expected(source, word[: data.draw(st.integers(1, len(word)))], replace)


@pytest.mark.parametrize(
    ("source", "search", "replace"),
    [
        ("- [中] a", "中", "x"),
        ("> [!中]\n> a", "中", "NOTE"),
        ("a &nosuch; b", "such", "t"),
        ("a <中> b", "中", "b"),
        ("[中]\n\n[foo]: /a", "中", "foo"),
        ("---\n中\n: a\n---\n", "中", "b"),
        ("中\n文", "文", "x"),
        ("a\n文", "a", "中"),
        ("a &fjlig; b", "f", "g"),
    ],
)
def test_letters_that_would_become_markup_are_written_in_another_way(source: str, search: str, replace: str) -> None:
    assert_reads_as_expected(source, search, replace)
    assert outcome(source, search, replace).left == ()


@pytest.mark.parametrize("offset", range(4))
def test_the_examples_of_the_specification_read_as_expected(offset: int) -> None:
    for number, example in enumerate(EXAMPLES[offset::4]):
        source = example if isinstance(example, str) else example["markdown"]
        text = markdown.extract(source).text
        replace = REPLACEMENTS[number % len(REPLACEMENTS)]
        for search in {"foo", "a", text[:1], text[-1:], text[len(text) // 2 :][:3]} - {""}:
            assert_reads_as_expected(source, search, replace)


def test_most_matches_of_the_specification_can_be_replaced() -> None:
    count = left = 0
    for example in EXAMPLES:
        source = example if isinstance(example, str) else example["markdown"]
        for replace in ("林小溪", "*a*", "x y", ""):
            for search in ("foo", "bar", "a"):
                done = outcome(source, search, replace)
                count += len(found(markdown.extract(source), search, replace))
                left += len(done.left)
    assert count > 1_000
    assert left / count < 0.01
