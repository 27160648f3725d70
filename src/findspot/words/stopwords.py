"""Stop words: left out of a query unless it has no other words. Texts keep theirs.

So “to be or not to be” is found, and phrases are exact. Chinese stop words are single characters and bigrams, like the
terms of a query: 为什么 is 为什 and 什么.
"""

from __future__ import annotations

_ENGLISH = """
    a an and are as at be but by for from had has have he her his if in into is it its no not of on or she such that
    the their then there these they this to was we were will with you your
    can could did do does how what when where which who whom whose why
"""
_CHINESE = """
    的 了 是 在 和 与 及 或 有 为 吗 呢 吧 我 你 他 它 这 那 被 把 对 从 到 就 都 也
    什么 怎么 如何 为什 怎样 哪些 哪个 是否 多少 可以
"""
STOP_WORDS = frozenset((_ENGLISH + _CHINESE).split())
