"""Counting tokens: exactly as the vendors do, and an estimate that is never much too low."""

import random
import socket
from pathlib import Path

import pytest
import tiktoken
import tokenizers
from hypothesis import given
from hypothesis import strategies as st

from findspot import tokens
from findspot.tokens import ENCODINGS, Encoding, count, estimate

ROOT = Path(__file__).resolve().parent.parent
SAMPLES = [
    "",
    "Hello, world! It's 2024; they'd say 1234567.",
    "角色内心的孤独与迷茫，谁解其中味？\n\n繁體字也算。",
    "def f(x: int) -> int:\n\treturn x ** 2  # <|endoftext|>\r\n",
    "👩‍👩‍👧 🇨🇳 ❤️ 🤷🏽‍♂️ naïve cafe\u0301 Z\u0351\u036b\u0343alg\u0329o",
    "mixed GPT模型 iPhone15手机    \n   \t spaces",
]
CHINESE = "满纸荒唐言，一把辛酸泪。都云作者痴，谁解其中味？他独自走过空荡荡的长街，灯一盏盏灭了，心里不知道该往哪里去。"
EMOJI = "😀😂🥰👍🏽🎉👩‍👩‍👧🇨🇳❤️🔥✨🙏🤷‍♂️🧑🏿‍🚀🍜🐼🏳️‍🌈"


def passages() -> dict[str, list[str]]:
    """English, Chinese, code and emoji, as this repository has them."""
    english = "\n".join(file.read_text(encoding="utf-8") for file in sorted(ROOT.glob("docs/**/*.md")))
    code = "\n".join(file.read_text(encoding="utf-8") for file in sorted(ROOT.glob("src/**/*.py")))
    words = english.split()
    chooser = random.Random(7)
    emoji = [
        " ".join(chooser.choice([chooser.choice(words), chooser.choice(EMOJI)]) for _ in range(200)) for _ in "1234"
    ]
    cut = {"english": english, "code": code, "chinese": CHINESE * 20}
    found = {name: [text[at : at + 1500] for at in range(0, len(text), 1500)] for name, text in cut.items()}
    return {**found, "emoji": [*emoji, EMOJI * 10]}


@pytest.mark.parametrize("encoding", ["cl100k_base", "o200k_base", "p50k_base"])
def test_openai_encodings_are_exact(encoding: Encoding, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tokens._folder()))
    theirs = tiktoken.get_encoding(encoding)
    assert tokens._tiktoken(encoding)._pat_str == theirs._pat_str
    texts = SAMPLES + [text for some in passages().values() for text in some[:20]]
    assert [count(text, encoding) for text in texts] == [len(theirs.encode_ordinary(text)) for text in texts]


def test_anthropics_encoding_is_exact() -> None:
    theirs = tokenizers.Tokenizer.from_file(str(tokens._folder() / "anthropic_tokenizer.json"))
    for text in [*SAMPLES[:3], *SAMPLES[4:]]:
        assert count(text, "anthropic") == len(theirs.encode(text).ids)


def test_nothing_is_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "socket", None)
    monkeypatch.setattr(socket, "getaddrinfo", None)
    tokens._counter.cache_clear()
    assert [count("Hello", encoding) for encoding in ENCODINGS] == [1, 1, 1, 1]


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("kind", ["english", "chinese", "code", "emoji"])
def test_the_estimate_is_not_low_by_more_than_three_percent_nor_wildly_high_for_texts_like_these(
    encoding: Encoding, kind: str
) -> None:
    ratios = sorted(estimate(text, encoding) / count(text, encoding) for text in passages()[kind])
    assert ratios[0] >= 0.97
    assert ratios[len(ratios) // 2] <= 1.7


@given(st.text(max_size=300))
def test_any_text_has_an_estimate(text: str) -> None:
    for encoding in ENCODINGS:
        assert (estimate(text, encoding) > 0) == bool(text.strip()) or estimate(text, encoding) >= 0


def test_half_a_surrogate_pair_does_no_harm() -> None:
    assert count("a\ud800b") >= 2
    assert estimate("a\ud800b") >= 1
