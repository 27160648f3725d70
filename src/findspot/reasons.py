"""A score in a sentence, in English and Chinese."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

_MOST_NAMED = 6  # words


@dataclass(frozen=True, slots=True)
class Reasons:
    """What a score is made of, as far as a sentence tells it. A rank of None is one beyond those that were counted."""

    matched: Sequence[str]
    words: int
    keyword: float
    keyword_rank: int | None
    similarity: float | None  # None: the search by meaning was not possible
    vector: float
    vector_rank: int | None
    age: timedelta
    recency: float
    total: float
    hidden: bool


def sentence(reasons: Reasons, language: str) -> str:
    """Why a passage has its score."""
    return _chinese(reasons) if language == "zh" else _english(reasons)


def _english(why: Reasons) -> str:
    if why.matched:
        named = ", ".join(f"“{word}”" for word in why.matched[:_MOST_NAMED])
        rank = f", rank {why.keyword_rank:,} by keyword" if why.keyword_rank else ""
        words = f"It has {len(why.matched)} of {why.words} words ({named}{rank}), which counts {why.keyword:.2f}"
    else:
        words = "It has none of the words"
    meaning = "the search by meaning was not possible"
    if why.similarity is not None:
        rank = f", rank {why.vector_rank:,}" if why.vector_rank else ""
        meaning = (
            f"its meaning is {_likeness(why.similarity)} ({why.similarity:.2f}{rank}), which counts {why.vector:.2f}"
        )
    age = f"it was changed {_days(why.age)}, which counts {why.recency:.2f}"
    hidden = " That is under 0.25, so a hybrid search hides it." if why.hidden else ""
    return f"{words}; {meaning}; {age}. Together {why.total:.2f}.{hidden}"


def _likeness(similarity: float) -> str:
    return "close to the query" if similarity >= 0.7 else "somewhat like the query" if similarity >= 0.3 else "another"


def _days(age: timedelta) -> str:
    return "today" if age.days < 1 else "a day ago" if age.days == 1 else f"{age.days:,} days ago"


def _chinese(why: Reasons) -> str:
    if why.matched:
        named = "".join(f"“{word}”" for word in why.matched[:_MOST_NAMED])
        rank = f"，关键词排名第 {why.keyword_rank:,}" if why.keyword_rank else ""
        words = f"命中 {why.words} 个词中的 {len(why.matched)} 个（{named}{rank}），计 {why.keyword:.2f} 分"
    else:
        words = "未命中任何关键词"
    meaning = "无法进行语义检索"
    if why.similarity is not None:
        rank = f"，语义排名第 {why.vector_rank:,}" if why.vector_rank else ""
        likeness = (
            "与查询语义相近" if why.similarity >= 0.7 else "与查询有些相关" if why.similarity >= 0.3 else "语义不相关"
        )
        meaning = f"{likeness}（{why.similarity:.2f}{rank}），计 {why.vector:.2f} 分"
    days = "今天更新" if why.age.days < 1 else f"{why.age.days:,} 天前更新"
    hidden = "低于 0.25，混合检索默认不显示。" if why.hidden else ""
    return f"{words}；{meaning}；{days}，计 {why.recency:.2f} 分。合计 {why.total:.2f} 分。{hidden}"
