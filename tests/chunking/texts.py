"""Hypothesis strategies for texts in many scripts, for the chunker and the analyser."""

from hypothesis import strategies as st

# fmt: off
_FRAGMENTS = [
    "word", "Sentence one. ", "Really?! ", 'He said "no." ', "3.14 ", "example.com ",
    "\n", "\n\n", "\r\n", "\r\n\r\n", "\n  \n", " ", "   ", "\t", "\u3000", "\u2028", "\u2029", "\x85", "\0", "\ufeff",
    "中文句子。", "他说：「好。」", "“真的？”", "……", "！！！", "没有标点的一段很长的文字", "繁體中文", "GPT模型",
    "iPhone15手机",
    "é", "e\u0301", "a\u0301\u0302\u0303", "\u0301", "\u0600", "한글", "\u1112\u1161\u11ab",
    "👩‍👩‍👧‍👦", "👍🏽", "🇩🇪🇫🇷", "🇩", "❤️", "1️⃣",
    "क्षत्रिय", "ไทย", "שָׁלוֹם ", "العربية ",
    "snake_case ", "HTTPServer2 ", "v2.3.1 ", "A" * 30, "。" * 9, "." * 9,
]
_PLAIN = [  # characters that never join
    "a", "bc", "中", "文字", " ", "  ", "\n", "\n\n", "\n \n", "\t", ".", "。", "！", "…", "”", '"', ")", "」",
    "\u3000", "한글", "é", ". ", "? ", "\xa0", "\u200a", "»", "；", "，", "、", "：", "A sentence. ",
    "没有标点的一段很长的文字",
]
# fmt: on

texts = st.lists(st.sampled_from(_FRAGMENTS) | st.text(max_size=4), max_size=60).map("".join)
plain_texts = st.lists(st.sampled_from(_PLAIN), max_size=120).map("".join)

settings_of_a_tool = st.integers(1, 120).flatmap(
    lambda size: st.tuples(st.just(size), st.integers(0, max(0, (size - 1) // 2)))
)
