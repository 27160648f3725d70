"""Write the explanation of a score as a sentence, in English or Chinese."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

_MAX_NAMED = 6  # matches


@dataclass(frozen=True, slots=True)
class Reasons:
    """The facts about a score that the sentence mentions. A rank is None if the leg did not recall the passage."""

    matches: Sequence[str]  # as the passage writes them
    words: tuple[int, int]  # found, and in the query
    characters: tuple[int, int]  # the same for scripts without spaces
    keyword: float
    keyword_rank: int | None
    similarity: float | None  # None: there is nothing to compare, for example a query of punctuation
    vector: float
    vector_rank: int | None
    age: timedelta
    recency: float
    total: float
    hidden: bool
    left_out: bool = False  # because of a phrase or an exclusion
    without_meaning: bool = False  # the vector leg could not be asked
    missing: Sequence[str] = ()  # words of the query that the passage lacks, as typed
    context: Sequence[str] = ()  # words in the title or the headings, whose score is part of `keyword`


def sentence(reasons: Reasons, language: str) -> str:
    """Return why a passage has its score. The parts that it names add up to the total that it names."""
    shown = _rounded(reasons)
    return _chinese(shown) if language == "zh" else _english(shown)


def _rounded(why: Reasons) -> Reasons:
    """Return the reasons with parts rounded to hundredths so that they add up to the rounded total."""
    exact = [100 * part for part in (why.keyword, why.vector, why.recency)]
    cents = [int(part) for part in exact]
    missing = round(100 * float(f"{why.total:.2f}")) - sum(cents)
    by_remainder = sorted(range(len(cents)), key=lambda at: cents[at] - exact[at])
    for at in by_remainder[: max(missing, 0)]:
        cents[at] += 1
    keyword, vector, recency = (each / 100 for each in cents)
    return replace(why, keyword=keyword, vector=vector, recency=recency)


def _quoted(words: Sequence[str], between: str) -> str:
    return between.join(f"“{each}”" for each in words[:_MAX_NAMED])


def _english(why: Reasons) -> str:
    hidden = " That is below 0.25, so a hybrid search hides it." if why.hidden else ""
    if why.left_out:
        hidden = " A search excludes it: it lacks a phrase of the query, or contains an excluded word."
    age = f"it was changed {_days(why.age)}, which adds {why.recency:.2f}"
    context = f"its title or headings have {_quoted(why.context, ', ')}" if why.context else ""
    lacks = f"it lacks {_quoted(why.missing, ', ')}" if why.missing else ""
    parts = [each for each in (_english_words(why), context, lacks, _english_meaning(why), age) if each]
    return f"{'; '.join(parts)}. Total: {why.total:.2f}.{hidden}"


def _english_words(why: Reasons) -> str:
    if not why.matches:
        return (
            "It contains no word of the query"
            if why.words[1] or not why.characters[1]
            else "It contains no character of the query"
        )
    found, missing = _shares(why, "word", "character")
    counted = " and ".join(_count(*each, noun) for each, noun in found) or "part of a word"
    counted += f" but no {missing}" if missing and found and not why.missing else ""
    named = _quoted(why.matches, ", ")
    rank = f", rank {why.keyword_rank:,} by keyword" if why.keyword_rank else ""
    return f"It contains {counted} ({named}{rank}), which adds {why.keyword:.2f}"


def _shares(why: Reasons, word: str, character: str) -> tuple[list[tuple[tuple[int, int], str]], str]:
    """Return how many words and characters were found of those in the query, and the kind of which none was found."""
    asked = [(each, noun) for each, noun in ((why.words, word), (why.characters, character)) if each[1]]
    return [share for share in asked if share[0][0]], next((noun for each, noun in asked if not each[0]), "")


def _count(found: int, asked: int, noun: str) -> str:
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
    return f"its meaning is {likeness} ({why.similarity:.2f}{rank}), which adds {why.vector:.2f}"


def _days(age: timedelta) -> str:
    return "today" if age.days < 1 else "a day ago" if age.days == 1 else f"{age.days:,} days ago"


def _chinese(why: Reasons) -> str:
    hidden = "低于 0.25，混合检索默认不显示。" if why.hidden else ""
    if why.left_out:
        hidden = "检索不显示此段：缺少查询要求的短语，或含有查询排除的词。"
    days = "今天更新" if why.age.days < 1 else f"{why.age.days:,} 天前更新"
    context = f"标题中有{_quoted(why.context, '')}" if why.context else ""
    lacks = f"缺少{_quoted(why.missing, '')}" if why.missing else ""
    age = f"{days}，计 {why.recency:.2f} 分"
    parts = [each for each in (_chinese_words(why), context, lacks, _chinese_meaning(why), age) if each]
    return f"{'；'.join(parts)}。合计 {why.total:.2f} 分。{hidden}"


def _chinese_words(why: Reasons) -> str:
    if not why.matches:
        return "未命中任何关键词"
    found, missing = _shares(why, "词", "字")
    counted = "、".join(_chinese_count(*each, noun) for each, noun in found) or "词的一部分"
    counted = f" {counted}" if counted[:1].isdigit() else counted
    counted += f"，未命中任何{missing}" if missing and found and not why.missing else ""
    named = _quoted(why.matches, "")
    rank = f"，关键词排名第 {why.keyword_rank:,}" if why.keyword_rank else ""
    return f"命中{counted}（{named}{rank}），计 {why.keyword:.2f} 分"


def _chinese_count(found: int, asked: int, noun: str) -> str:
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
