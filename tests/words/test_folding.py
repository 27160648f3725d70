"""Folding of Chinese, Japanese and Korean, character by character."""

from hypothesis import given
from hypothesis import strategies as st

from findspot.words.folding import fold_run

SCRIPTS = st.sampled_from(
    ["電腦", "电脑", "ＡＢｃ１２", "カﾅ", "한글", "x’s", "👍🏽", "é", "e\u0301", "\U0002f804", "𠮷", "…", "㍿"]
)


@given(st.lists(SCRIPTS | st.text(max_size=3), max_size=80).map("".join))
def test_a_long_text_is_folded_like_its_characters_one_by_one(text: str) -> None:
    assert fold_run(text) == "".join(map(fold_run, text))


def test_a_long_text_of_traditional_characters_becomes_simplified() -> None:
    assert fold_run("電腦與軟體 " * 40) == "电脑与软体 " * 40


def test_folding_keeps_the_offsets_of_a_long_mixed_text() -> None:
    text = "The ＷＡＲＥＨＯＵＳＥ 倉庫裡的老照片 👍🏽 cafe\u0301 " * 20
    assert len(fold_run(text)) == len(text)
