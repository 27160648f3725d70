"""Passages of a document: which blocks join, where long groups are cut, and which ids survive an edit."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from findspot.chunking import SIZE, Paragraph, Passage, content_hash, cut, cut_passages
from findspot.sources import extract
from tests.chunking.texts import texts

LONG = {
    "en": ("The keeper climbs the stairs every evening and lights the lamp. " * 6).strip(),
    "zh": "看守人每天晚上都爬上楼梯，點亮燈塔的燈。" * 18,
}
ITEMS = {
    "en": [f"- Item {number}: the tide of day {number * 7} comes in and goes out 🌊" for number in range(200)],
    "zh": [f"- 第{number}条：第{number * 7}天的潮水涨了又落，船回到港口 e\u0301" for number in range(200)],
}


def of(source: object, form: str = "markdown") -> tuple[str, list[Passage]]:
    found = extract(source, form)  # type: ignore[arg-type]
    blocks = [Paragraph(block.start, block.end, block.level, block.after_rule) for block in found.blocks]
    return found.text, list(cut_passages(found.text, blocks))


def shown(source: object, form: str = "markdown") -> list[str]:
    text, found = of(source, form)
    return [text[each.start : each.end] for each in found]


# ── guarantees ──


@given(texts)
def test_passages_cover_every_visible_character_in_order(text: str) -> None:
    covered = 0
    for passage in of(text, "text")[1]:
        assert text[passage.start : passage.end].strip() == text[passage.start : passage.end] != ""
        assert not text[covered : passage.start].strip()
        covered = max(covered, passage.end)
    assert not text[covered:].strip()


BLOCKS = st.lists(
    st.one_of(
        st.builds("{} {}".format, st.sampled_from(["#", "##", "###"]), st.text("标题 ab", min_size=1, max_size=9)),
        st.builds("- {}".format, st.text("甲乙丙 abc.", min_size=1, max_size=99)),
        st.builds("{}{}".format, st.just("x"), st.text("说话 word。", max_size=1500)),
        st.just("---"),
    ),
    max_size=25,
)


@given(BLOCKS)
def test_passages_of_markdown_cover_everything_and_no_heading_stands_alone(blocks: list[str]) -> None:
    text, found = of("\n\n".join(blocks))
    covered = 0
    for passage in found:
        assert not text[covered : passage.start].strip()
        covered = max(covered, passage.end)
    assert not text[covered:].strip()
    read = extract("\n\n".join(blocks), "markdown").blocks
    if any(not block.level for block in read):
        alone = {(block.start, block.end) for block in read if block.level}
        assert not alone & {(passage.start, passage.end) for passage in found}


@given(st.lists(texts, max_size=6))
def test_ids_are_all_different_and_passages_are_numbered(paragraphs: list[str]) -> None:
    _, found = of("\n\n".join(paragraphs * 2), "text")
    assert len({passage.id(1) for passage in found}) == len(found)
    assert [passage.index for passage in found] == list(range(len(found)))


# ── what joins ──


@pytest.mark.scenario("D35")
@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_heading_belongs_to_the_block_below_it(language: str) -> None:
    long = LONG[language]
    assert shown(f"# 第一章 One\n\n## 港口 Harbour\n\n{long}\n\n{long}") == [
        f"第一章 One\n\n港口 Harbour\n\n{long}",
        long,
    ]
    tree = {
        "type": "doc",
        "content": [
            {"type": "heading", "attrs": {"level": 2}, "content": [{"type": "text", "text": "港口"}]},
            {"type": "paragraph", "content": [{"type": "text", "text": long}]},
        ],
    }
    assert shown(tree, "tiptap") == [f"港口\n\n{long}"]


def test_headings_at_the_end_join_the_passage_above_and_headings_alone_are_one_passage() -> None:
    assert shown("Text.\n\n# 结尾 End\n\n## Nothing") == ["Text.\n\n结尾 End\n\nNothing"]
    assert shown("# One\n\n## 二") == ["One\n\n二"]
    assert of("# One\n\n## 二")[1][0].headings == ("One",)


@pytest.mark.scenario("D35")
@pytest.mark.parametrize("form", ["markdown", "text"])
def test_short_blocks_join_their_neighbours_under_the_same_heading(form: str) -> None:
    short = ["Type: Runtime", "状态：完成", "One line.", "一行。"]
    assert shown("\n\n".join(short), form) == ["\n\n".join(short)]


def test_short_blocks_do_not_join_across_a_heading_or_a_rule() -> None:
    assert shown("# A\n\none\n\n# B\n\n二\n\n---\n\nthree\n\n四") == ["A\n\none", "B\n\n二", "three\n\n四"]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_line_beside_a_long_paragraph_joins_the_one_below_it_and_else_the_one_above(language: str) -> None:
    long = LONG[language]
    assert shown(f"Example 例：\n\n{long}\n\n{long}\n\nEnd 完。") == [f"Example 例：\n\n{long}", f"{long}\n\nEnd 完。"]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_long_list_becomes_passages_of_about_300_characters_cut_between_items(language: str) -> None:
    found = shown("# Tides 潮汐\n\n" + "\n".join(ITEMS[language]))
    items = {item.removeprefix("- ") for item in ITEMS[language]}
    assert found[0].startswith("Tides 潮汐\n\n")
    assert {each for passage in found for each in passage.split("\n\n")} == {*items, "Tides 潮汐"}
    lengths = [len(each) for each in found]
    assert all(150 <= length <= SIZE for length in lengths)
    assert 200 < sum(lengths) / len(lengths) < 500


def test_rows_of_a_table_join_and_equal_rows_are_cut_at_the_chunk_size_between_rows() -> None:
    table = "| 键 key | 值 value |\n|---|---|\n" + "| 同 same | 行 row of a table |\n" * 200
    found = shown(table)
    assert len(found) > 3
    assert all(len(each) <= SIZE for each in found)
    assert {line for each in found[1:] for line in each.split("\n\n")[1:-1]} == {"同 same\t行 row of a table"}


# ── where a passage is ──


def test_a_passage_knows_the_headings_above_it() -> None:
    source = "before\n\n# A  甲\n\none\n\n## B\n\ntwo\n\n#### C\n\nthree\n\n## D\n\nfour\n\n---\n\nfive\n\n# E\n\nsix"
    paths = [("",), ("A 甲",), ("A 甲", "B"), ("A 甲", "B", "C"), ("A 甲", "D"), ("A 甲", "D"), ("E",)]
    assert [each.headings or ("",) for each in of(source)[1]] == paths
    assert of("one\n\n二", "text")[1][0].headings == ()


# ── what an edit changes ──


@pytest.mark.scenario("D35")
@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("at", [0, 1, 100, 199])
def test_an_edit_in_a_long_list_changes_only_the_passages_around_it(language: str, at: int) -> None:
    items = ITEMS[language]
    before = {each.id(1) for each in of("\n".join(items))[1]}
    new = "- 新的 a new item that was not there before"
    for edited in (
        [*items[:at], new, *items[at:]],
        [*items[:at], new, *items[at + 1 :]],
        [*items[:at], *items[at + 1 :]],
    ):
        after = {each.id(1) for each in of("\n".join(edited))[1]}
        assert 0 < len(after - before) <= 3
        assert len(before - after) <= 3


def test_borders_do_not_depend_on_where_a_list_begins() -> None:
    lines = [f"{random.Random(n).random()} 行 line" for n in range(300)]
    whole = {each.paragraph for each in of("\n\n".join(lines), "text")[1]}
    for skipped in (1, 5, 50):
        part = of("\n\n".join(lines[skipped:]), "text")[1]
        assert len([each for each in part if each.paragraph not in whole]) <= 2


def test_an_edit_elsewhere_keeps_ids_and_equal_passages_are_numbered() -> None:
    long = LONG["en"]
    before = [each.id(9) for each in of(f"One.\n\n---\n\n{long}\n\n{long}")[1]]
    after = [each.id(9) for each in of(f"One, 改.\n\n---\n\n{long}\n\n{long}")[1]]
    assert before[1:] == after[1:]
    assert before[1:] == [f"d9:{content_hash(long)[:16]}:{nth}" for nth in (0, 1)]


# ── long paragraphs ──


def test_a_long_paragraph_is_cut_like_any_text() -> None:
    long = ("A sentence with some words. " * 60).strip()
    text, found = of(f"Heading\n\n{long}\n\nShort.", "text")
    parts = [each for each in found if each.parts > 1]
    assert [text[each.start : each.end] for each in found if each.parts == 1] == ["Heading", "Short."]
    assert [(each.start - parts[0].start, each.end - parts[0].start) for each in parts] == [
        (chunk.start, chunk.end) for chunk in cut(long)
    ]
    assert [each.part for each in parts] == list(range(parts[0].parts))


def test_a_paragraph_of_exactly_a_thousand_characters_is_not_cut() -> None:
    assert [(each.start, each.end, each.parts) for each in of("甲" * 1000, "text")[1]] == [(0, 1000, 1)]
    assert [each.parts for each in of("甲" * 1001, "text")[1]] == [2, 2]
