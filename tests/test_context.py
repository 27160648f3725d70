"""The context of a passage: what it keeps of titles, headings and keys."""

import pytest

from findspot.context import DEEPEST, LONGEST, Context, embedded_text


def test_titles_and_headings_become_single_lines_of_limited_length() -> None:
    context = Context.of(" The\n guide\t指南 ", ["A\u3000 b", " \n", "字" * 500])
    assert context == Context("The guide 指南", ("A b", "字" * LONGEST))
    assert Context.of("t", map(str, range(20))).headings == tuple(map(str, range(20 - DEEPEST, 20)))


@pytest.mark.parametrize("context", [Context(), Context("题"), Context("t", ("a", "乙 b")), Context("", ("a",))])
def test_a_stored_context_is_read_back(context: Context) -> None:
    assert Context.of_row(context.stored, "") == context


def test_headings_that_a_passage_begins_with_are_not_outside_of_it() -> None:
    context = Context("题", ("A 甲", "B b", "C"))
    assert context.outside("B  b\n\nC\n\ntext") == Context("题", ("A 甲",))
    assert context.outside("text 文\n\nA 甲\n\nmore") == Context("题", ("B b", "C"))
    assert context.outside("C") == context.outside("text 文") == context


def test_the_keys_of_a_pointer_are_its_headings_and_positions_in_lists_are_not() -> None:
    assert Context.of_row(None, "/chapters/0/港口/a~1b/12/text") == Context("", ("chapters", "港口", "a/b", "text"))
    assert Context.of_pointer("") == Context.of_pointer("/3/4") == Context()


def test_the_prefix_of_a_vector_has_title_and_headings_once_and_is_short() -> None:
    assert embedded_text(Context("指南", ("指南", "Tides")), "High water") == "指南 > Tides\n\nHigh water"
    assert embedded_text(Context(), "文") == "文"
    deep = Context.of("Guide", [f"{number} " + "字" * 60 for number in range(5)])
    assert deep.prefix == f"Guide > {deep.headings[-2]} > {deep.headings[-1]}"
