"""A score in a sentence, in English and Chinese."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

_MOST_NAMED = 6  # stretches


@dataclass(frozen=True, slots=True)
class Reasons:
    """What a score is made of, as far as a sentence tells it. A rank of None is one beyond those that were counted."""

    stretches: Sequence[str]  # what was found, as the passage has it
    words: tuple[int, int]  # so many of so many
    characters: tuple[int, int]  # the same where words are not parted by blanks
    keyword: float
    keyword_rank: int | None
    similarity: float | None  # None: there is nothing to compare, as with a query of signs alone
    vector: float
    vector_rank: int | None
    age: timedelta
    recency: float
    total: float
    hidden: bool
    left_out: bool = False  # by what the query demands or excludes
    without_meaning: bool = False  # the search by meaning was not possible


def sentence(reasons: Reasons, language: str) -> str:
    """Why a passage has its score."""
    return _chinese(reasons) if language == "zh" else _english(reasons)


def _english(why: Reasons) -> str:
    hidden = " That is under 0.25, so a hybrid search hides it." if why.hidden else ""
    if why.left_out:
        hidden = " A search leaves it out: it lacks a phrase of the query, or holds what the query excludes."
    age = f"it was changed {_days(why.age)}, which counts {why.recency:.2f}"
    parts = [each for each in (_english_words(why), _english_meaning(why), age) if each]
    return f"{'; '.join(parts)}. Together {why.total:.2f}.{hidden}"


def _english_words(why: Reasons) -> str:
    if not why.stretches:
        return "It has none of the words" if why.words[1] or not why.characters[1] else "It has none of the characters"
    found, missing = _shares(why, "word", "character")
    counted = " and ".join(_so_many(*each, noun) for each, noun in found) or "a part of a word"
    counted += f" but no {missing}" if missing and found else ""
    named = ", ".join(f"“{each}”" for each in why.stretches[:_MOST_NAMED])
    rank = f", rank {why.keyword_rank:,} by keyword" if why.keyword_rank else ""
    return f"It has {counted} ({named}{rank}), which counts {why.keyword:.2f}"


def _shares(why: Reasons, word: str, character: str) -> tuple[list[tuple[tuple[int, int], str]], str]:
    """What was asked for and found, in words and in characters, and which of the two was asked for in vain."""
    asked = [(each, noun) for each, noun in ((why.words, word), (why.characters, character)) if each[1]]
    return [share for share in asked if share[0][0]], next((noun for each, noun in asked if not each[0]), "")


def _so_many(found: int, asked: int, noun: str) -> str:
    if found < asked:
        return f"{found:,} of {asked:,} {noun}{'s' * (asked > 1)}"
    return f"the one {noun}" if asked == 1 else f"both {noun}s" if asked == 2 else f"all {asked:,} {noun}s"


def _english_meaning(why: Reasons) -> str:
    if why.without_meaning:
        return "the search by meaning was not possible"
    if why.similarity is None:
        return ""
    near, some = why.similarity >= 0.7, why.similarity >= 0.3
    likeness = "close to the query" if near else "somewhat like the query" if some else "far from the query"
    rank = f", rank {why.vector_rank:,}" if why.vector_rank else ""
    return f"its meaning is {likeness} ({why.similarity:.2f}{rank}), which counts {why.vector:.2f}"


def _days(age: timedelta) -> str:
    return "today" if age.days < 1 else "a day ago" if age.days == 1 else f"{age.days:,} days ago"


def _chinese(why: Reasons) -> str:
    hidden = "低于 0.25，混合检索默认不显示。" if why.hidden else ""
    if why.left_out:
        hidden = "检索不显示此段：缺少查询要求的短语，或含有查询排除的词。"
    days = "今天更新" if why.age.days < 1 else f"{why.age.days:,} 天前更新"
    parts = [each for each in (_chinese_words(why), _chinese_meaning(why), f"{days}，计 {why.recency:.2f} 分") if each]
    return f"{'；'.join(parts)}。合计 {why.total:.2f} 分。{hidden}"


def _chinese_words(why: Reasons) -> str:
    if not why.stretches:
        return "未命中任何关键词"
    found, missing = _shares(why, "词", "字")
    counted = "、".join(_this_many(*each, noun) for each, noun in found) or "词的一部分"
    counted = f" {counted}" if counted[:1].isdigit() else counted
    counted += f"，未命中任何{missing}" if missing and found else ""
    named = "".join(f"“{each}”" for each in why.stretches[:_MOST_NAMED])
    rank = f"，关键词排名第 {why.keyword_rank:,}" if why.keyword_rank else ""
    return f"命中{counted}（{named}{rank}），计 {why.keyword:.2f} 分"


def _this_many(found: int, asked: int, noun: str) -> str:
    if found < asked:
        return f"{asked:,} 个{noun}中的 {found:,} 个"
    return f"唯一的{noun}" if asked == 1 else f"全部 {asked:,} 个{noun}"


def _chinese_meaning(why: Reasons) -> str:
    if why.without_meaning:
        return "无法进行语义检索"
    if why.similarity is None:
        return ""
    near, some = why.similarity >= 0.7, why.similarity >= 0.3
    likeness = "与查询语义相近" if near else "与查询有些相关" if some else "与查询语义相去较远"
    rank = f"，语义排名第 {why.vector_rank:,}" if why.vector_rank else ""
    return f"{likeness}（{why.similarity:.2f}{rank}），计 {why.vector:.2f} 分"
