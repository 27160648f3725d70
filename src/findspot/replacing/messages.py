"""Notices of search and replace, in English and Chinese."""

import re

_PREVIEWED = {
    "en": "Nothing has been changed. To replace, call again with preview_id={id} and confirmed=true{risk}.",
    "zh": "尚未作任何更改。如需替换，请再次调用，并设置 preview_id={id} 和 confirmed=true{risk}。",
}
_RISK = {
    "en": ", and confirmed_risk=true if you are sure: text is deleted, or very much is changed",
    "zh": "；若确定，还需设置 confirmed_risk=true：此操作会删除文本或涉及大量更改",
}
_NOTHING_TO_REPLACE = {"en": "No document matches, so there is nothing to replace.", "zh": "没有匹配的内容，无需替换。"}
_EXECUTED = {
    "en": "To take this back, call again with preview_id={id} and undo=true.",
    "zh": "如需撤销，请再次调用，并设置 preview_id={id} 和 undo=true。",
}
_FOUND = {
    "en": "{matches:,} matches in {documents:,} documents.",
    "zh": "{documents:,} 个文档中有 {matches:,} 处匹配",
}
_DONE = {"en": "Replaced {count:,} matches.", "zh": "已替换 {count:,} 处"}
_UNDONE = {"en": "Put back {count:,} documents.", "zh": "已恢复 {count:,} 个文档"}
_SKIPPED = {"en": " Skipped {count:,} documents.", "zh": "，跳过 {count:,} 个文档"}


def previewed(id: int, matches: int, language: str, *, risky: bool) -> str:
    """Say how to execute a preview."""
    if not matches:
        return _NOTHING_TO_REPLACE[language]
    return _PREVIEWED[language].format(id=id, risk=_RISK[language] if risky else "")


def executed(id: int, language: str) -> str:
    """Say how to take a replace back."""
    return _EXECUTED[language].format(id=id)


def found(documents: int, matches: int, language: str) -> str:
    """Say how much a preview found."""
    return _singular(_FOUND[language].format(documents=documents, matches=matches))


def done(replaced: int, skipped: int, language: str) -> str:
    """Say how much a replace changed."""
    return _with_skipped(_DONE[language].format(count=replaced), skipped, language)


def undone(documents: int, skipped: int, language: str) -> str:
    """Say how much an undo put back."""
    return _with_skipped(_UNDONE[language].format(count=documents), skipped, language)


def _with_skipped(text: str, skipped: int, language: str) -> str:
    return _singular(text + (_SKIPPED[language].format(count=skipped) if skipped else ""))


def _singular(text: str) -> str:
    """Write '1 match' and '1 document' instead of their plurals."""
    return re.sub(r"(?<![\d,])1 (match|document)(?:e?s)", r"1 \1", text)
