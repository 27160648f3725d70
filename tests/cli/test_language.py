"""The preferred language, from the locale."""

import pytest

from findspot.runtime import messages
from findspot.surfaces.cli.language import language_header

VARIABLES = ("LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG")


@pytest.mark.parametrize(
    ("variables", "header", "language"),
    [
        ({}, None, "en"),
        ({"LANG": "zh_CN.UTF-8"}, "zh-CN", "zh"),
        ({"LANG": "en_GB.UTF-8", "LC_ALL": "zh_TW"}, "zh-TW", "zh"),
        ({"LANG": "en_GB.UTF-8", "LC_MESSAGES": "zh_CN.GB18030@pinyin"}, "zh-CN", "zh"),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": "en_US.UTF-8"}, "en-US", "en"),
        ({"LANG": "C.UTF-8", "LANGUAGE": "zh_CN:en"}, "zh-CN, en", "zh"),
        ({"LANG": "de_DE.UTF-8", "LANGUAGE": "fr:en:zh"}, "fr, en, zh, de-DE", "en"),
        ({"LC_ALL": "C", "LANGUAGE": "zh_CN", "LANG": "zh_CN"}, None, "en"),  # 'C' asks for output that never varies
        ({"LANG": "灯\r\nX: y"}, None, "en"),
    ],
)
def test_the_locale_selects_the_language(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], header: str | None, language: str
) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert language_header().get("Accept-Language") == header
    assert messages.language(header) == language
