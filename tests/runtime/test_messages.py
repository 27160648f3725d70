"""The language of notices."""

import pytest

from findspot.runtime.messages import language


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        (None, "en"),
        ("", "en"),
        ("zh", "zh"),
        ("zh-CN,zh;q=0.9,en;q=0.8", "zh"),
        ("zh; q=0.9", "zh"),
        ("zh ;\tQ=0.9", "zh"),
        ("en; q=0.5 , ZH-Hant-TW; q=0.7", "zh"),
        ("en;q=0.9, zh;q=0.8", "en"),
        ("fr, zh;q=0.1", "zh"),
        ("zh;q=0", "en"),
        ("zh;q=much", "en"),
        ("zh;q=7, en;q=0.2", "en"),
        ("zh;q=nan", "en"),
        ("zh;level=1;q=0.4, en;q=0.3", "zh"),
    ],
)
def test_the_language_is_the_preferred_one_of_the_header(header: str | None, expected: str) -> None:
    assert language(header) == expected
