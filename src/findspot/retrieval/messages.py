"""Notices of retrieval, in English and Chinese."""

from collections.abc import Sequence

_MAX_WORDS_NAMED = 6
_LAYERS = {
    "en": {"rules": "rules", "settings": "settings", "retrieved": "retrieved passages", "immediate": "immediate text"},
    "zh": {"rules": "规则", "settings": "设定", "retrieved": "召回内容", "immediate": "当前文本"},
}
_LAYER_FAILED = {
    "en": "The layer of {layer} failed ({code}) and was left out.",
    "zh": "“{layer}”层获取失败（{code}），已略去。",
}
_LAYER_TRIMMED = {
    "en": "The layer of {layer} was trimmed to its token budget.",
    "zh": "“{layer}”层超出 token 预算，已裁剪。",
}
_CONTEXT_FULLNESS = {
    "en": "The context uses {used:,} of {most:,} tokens ({share:.0%}).",
    "zh": "上下文已使用 {used:,} / {most:,} 个 token（{share:.0%}）。",
}
_HIDDEN_CHARACTERS = {
    "en": "The passages have {count} characters that a reader does not see. Check them before you trust the text.",
    "zh": "召回内容含有 {count} 个不可见字符，使用前请检查。",
}
_NOTHING_RELATED = {
    "en": "No passage is related enough.",
    "zh": "没有相关度足够的片段。",
}
_RELATED_BY = {
    "en": {
        "meaning": "related in meaning ({meaning:.2f})",
        "some": "somewhat related in meaning ({meaning:.2f})",
        "far": "not near in meaning ({meaning:.2f})",
        "none": "compared by words only",
        "words": "has {words}",
        "between": "; ",
    },
    "zh": {
        "meaning": "语义相关（{meaning:.2f}）",
        "some": "语义有些相关（{meaning:.2f}）",
        "far": "语义不相近（{meaning:.2f}）",
        "none": "仅按关键词比较",
        "words": "含有{words}",
        "between": "；",
    },
}


def layer_failed(layer: str, code: str, language: str) -> str:
    """Say that a layer of a context is missing, and why."""
    return _LAYER_FAILED[language].format(layer=_LAYERS[language][layer], code=code)


def layer_trimmed(layer: str, language: str) -> str:
    return _LAYER_TRIMMED[language].format(layer=_LAYERS[language][layer])


def context_fullness(used: int, most: int, language: str) -> str:
    """Say how much of its budget a context uses."""
    return _CONTEXT_FULLNESS[language].format(used=used, most=most, share=used / most)


def hidden_characters(count: int, language: str) -> str:
    """Say that passages have characters that a reader does not see."""
    return _HIDDEN_CHARACTERS[language].format(count=count)


def nothing_related(language: str) -> str:
    return _NOTHING_RELATED[language]


def related_by(meaning: float | None, words: Sequence[str], language: str) -> str:
    """Say why a passage was retrieved: its similarity, and the words that it shares with the query."""
    texts = _RELATED_BY[language]
    near = "none" if meaning is None else "meaning" if meaning >= 0.7 else "some" if meaning >= 0.3 else "far"
    parts = [texts[near].format(meaning=meaning)]
    if words:
        named = (", " if language == "en" else "").join(f"“{each}”" for each in words[:_MAX_WORDS_NAMED])
        parts.append(texts["words"].format(words=named))
    return texts["between"].join(parts)
