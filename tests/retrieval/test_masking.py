"""Private values across the cuts of a block."""

from hypothesis import given
from hypothesis import strategies as st

from findspot.context import Context
from findspot.retrieval.masking import Masking
from findspot.retrieval.passages import Passage
from findspot.retrieval.redaction_rules import DEFAULT_RULES
from findspot.retrieval.surroundings import Surrounding
from tests.retrieval.passages import passage

TEXT = "请联系 mara.voss@example.org 或拨打电话13800138000，谢谢。Then call +44 20 7946 0018 🙂 again."
PRIVATE = ("mara.voss@example.org", "13800138000", "+44 20 7946 0018")


@given(st.integers(0, len(TEXT) - 1), st.data())
def test_however_a_text_is_cut_no_part_of_a_private_value_is_shown(start: int, data: st.DataObject) -> None:
    end = data.draw(st.integers(start + 1, len(TEXT)))
    cut = passage(TEXT[start:end], 500 + start)
    shown = Masking(DEFAULT_RULES).masked(cut, Surrounding(TEXT[:start], TEXT[end:]))
    kept = [True] * len(TEXT)
    for value in PRIVATE:
        at = TEXT.index(value)
        kept[at : at + len(value)] = [False] * len(value)
    for each in shown.own_redactions:
        assert not any(kept[each.start - 500 : each.end - 500])
    visible = "".join(character for at, character in enumerate(TEXT) if start <= at < end and kept[at])
    rest = shown.shown_text
    for each in shown.own_redactions:
        rest = rest.replace(each.placeholder, "", 1)
    assert rest == visible


def test_titles_headings_and_paths_have_placeholders_and_private_words_are_left_out() -> None:
    context = Context("Notes of a@example.org", ("电话13800138000",))
    found = Passage(1, (1,), 0, 4, "Text", 0.9, context, "mail/a@example.org/1.md", words=("a@example.org",))
    shown = Masking(DEFAULT_RULES).masked(found, Surrounding())
    assert shown.context == Context("Notes of [EMAIL_1]", ("电话[PHONE_1]",))
    assert shown.words == ()
    assert shown.path == "mail/[EMAIL_1]/1.md"
