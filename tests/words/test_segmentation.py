from __future__ import annotations

import pytest

from findspot.words.segmentation import is_word, word_starts


@pytest.mark.parametrize(
    ("run", "words"),
    [
        ("他在读山海经呢", ["他", "在读", "山海经", "呢"]),
        ("头发现在很长", ["头发", "现在", "很", "长"]),
        ("ねこ", ["ね", "こ"]),
    ],
)
def test_words_begin_where_the_most_probable_segmentation_says(run: str, words: list[str]) -> None:
    starts = word_starts(run)
    assert [run[start:end] for start, end in zip(starts, [*starts[1:], len(run)], strict=True)] == words


def test_a_name_is_no_word_of_the_dictionary() -> None:
    assert is_word("山海经")
    assert is_word("雨")
    assert not is_word("林小雨")
