"""Stop words: left out of a query unless it has no other words. Texts keep theirs.

So “to be or not to be” is found, and phrases are exact. `STOP_WORDS` are compared with the units and bigrams of a
query: 为什么 is 为什 and 什么. `CHINESE_STOP_WORDS` are compared with its segmented words.
"""

from __future__ import annotations

_ENGLISH = """
    a an and are as at be but by for from had has have he her his if in into is it its no not of on or she such that
    the their then there these they this to was we were will with you your
    can could did do does how what when where which who whom whose why
    i me my mine myself our ours us am been being should would may might must shall
    him hers them theirs itself themselves yours yourself
    i'm i've i'd i'll you're you've we're we've they're don't doesn't didn't can't couldn't isn't aren't wasn't won't
"""
_CHINESE_TERMS = """
    的 了 是 在 和 与 及 或 有 为 吗 呢 吧 我 你 他 它 这 那 被 把 对 从 到 就 都 也
    什么 怎么 如何 为什 怎样 哪些 哪个 是否 多少 可以
"""
_CHINESE_WORDS = """
    她 您 们 谁 哪 啥 嘛 啊 呀 哦 呗 着 过 得 地 之 其 而 并 且 但 又 很 还 要 会 能 想 请 让 给 由 于 以 个
    里 后 前 上 下 中 内 外 等 时
    为什么 怎么办 怎么样 为何 何时 哪里 哪儿 哪种 哪位 是不是 能不能 可不可以 有没有 应该 能否 可否
    我们 你们 他们 她们 它们 自己 我的 你的 他的 这个 那个 这些 那些 这样 那样 一个 一些 以及 请问 知道 想要 需要
"""
STOP_WORDS = frozenset((_ENGLISH + _CHINESE_TERMS).split())
CHINESE_STOP_WORDS = frozenset((_CHINESE_TERMS + _CHINESE_WORDS).split())
