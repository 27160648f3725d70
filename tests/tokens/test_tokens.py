"""Counting tokens: as the vendors do, however long or strange a text is."""

import random
import socket
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
import tiktoken
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st

from findspot import tokens
from findspot.tokens import ENCODINGS, Encoding, count

ROOT = Path(__file__).resolve().parent.parent
MEANING = ROOT / "tests" / "fixtures" / "meaning"
SAMPLES = [
    "",
    "Hello, world! It's 2024; they'd say 1234567.",
    "角色内心的孤独与迷茫，谁解其中味？\n\n繁體字也算。",
    "def f(x: int) -> int:\n\treturn x ** 2  # <|endoftext|>\r\n",
    "👩‍👩‍👧 🇨🇳 ❤️ 🤷🏽‍♂️ naïve cafe\u0301 Z\u0351\u036b\u0343alg\u0329o",
    "mixed GPT模型 iPhone15手机    \n   \t spaces",
    '| a | b |\n|---|:-:|\n| 1,000.5 | ½ ² ① |\n\n{"k":[1,2.5e-9,null]};if(a&&b){c()}  aGVsbG8gd29ybGQ=',
]
EMOJI = "😀😂🥰👍🏽🎉👩‍👩‍👧🇨🇳❤️🔥✨🙏🤷‍♂️🧑🏿‍🚀🍜🐼🏳️‍🌈"
LONG = 1_000_000
RUNS = {
    "letters": "a" * LONG,
    "spaces": " " * LONG,
    "spaces before a word": " " * LONG + "x",
    "line breaks": "\n" * LONG,
    "tabs and spaces": "\t " * (LONG // 2),
    "dashes": "-" * LONG,
    "digits": "7" * LONG,
    "one Chinese character": "的" * LONG,
    "combining marks": "e" + "\u0301" * LONG,
    "emoji": "😀" * LONG,
    "base64": "".join(random.Random(7).choices("ABCDEFGHabcdefgh0123456789+/", k=LONG)),
}


@cache
def texts() -> dict[str, str]:
    """English, Chinese, code, Markdown and emoji, as this repository has them, each many slices long."""
    chooser = random.Random(7)
    english, chinese = ((MEANING / f"others.{each}.txt").read_text(encoding="utf-8") for each in ("en", "zh"))
    return {
        "english": english,
        "chinese": chinese,
        "code": "\n".join(file.read_text(encoding="utf-8") for file in sorted(ROOT.glob("src/**/*.py"))),
        "markdown": "\n".join(file.read_text(encoding="utf-8") for file in sorted(ROOT.glob("docs/**/*.md"))),
        "emoji": " ".join(chooser.choice([word, chooser.choice(EMOJI)]) for word in english.split()),
    }


@cache
def at_once(encoding: Encoding) -> Callable[[str], int]:
    """The vendor's own count of a whole text."""
    if encoding == "anthropic":
        theirs = tokenizers.Tokenizer.from_file(str(tokens._folder() / "anthropic_tokenizer.json"))
        theirs.encode_special_tokens = True
        return lambda text: len(theirs.encode(text).ids)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIKTOKEN_CACHE_DIR", str(tokens._folder()))
        known = tiktoken.get_encoding(encoding)
    return lambda text: len(known.encode_ordinary(text))


# ── exact ──


@pytest.mark.parametrize("encoding", ["cl100k_base", "o200k_base", "p50k_base"])
def test_openais_patterns_are_those_of_tiktoken(encoding: Encoding, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tokens._folder()))
    assert tokens._tiktoken(encoding)._pat_str == tiktoken.get_encoding(encoding)._pat_str


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_short_texts_are_counted_exactly(encoding: Encoding) -> None:
    assert [count(text, encoding) for text in SAMPLES] == [at_once(encoding)(text) for text in SAMPLES]


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("kind", ["english", "chinese", "code", "markdown", "emoji"])
def test_long_texts_are_counted_exactly(encoding: Encoding, kind: str) -> None:
    text = texts()[kind][:150_000]
    assert len(list(tokens._slices(text))) > 10
    assert count(text, encoding) == at_once(encoding)(text)


WORDS = st.text(max_size=8) | st.sampled_from(
    ["don't", "I'LL", "角色", "内心", "12345", "½", "naïve", "cafe\u0301", "_"]
)
BETWEEN = st.text(" \t\n\r\u3000\x1c\x85\u2028'\"_-|=,.;:!?，。、；：！？\u0301\ufe0f\u200d😀`#/", max_size=6)


@settings(max_examples=500)
@given(st.lists(st.tuples(WORDS, BETWEEN), max_size=12))
def test_where_a_slice_may_end_every_encoding_cuts_anyway(pairs: list[tuple[str, str]]) -> None:
    text = "".join(word + between for word, between in pairs).encode(errors="replace").decode()
    for at in range(1, len(text)):
        if (found := tokens._END.match(text, 0, at + 1)) and found.end() == at:
            for encoding in ENCODINGS:
                whole = at_once(encoding)
                assert whole(text) == whole(text[:at]) + whole(text[at:])


def test_what_looks_like_a_special_token_is_text() -> None:
    for encoding in ENCODINGS:
        assert count("<|endoftext|><META>", encoding) > 5


def test_half_a_surrogate_pair_does_no_harm() -> None:
    assert count("a\ud800b") == count("a?b")


def test_nothing_is_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "socket", None)
    monkeypatch.setattr(socket, "getaddrinfo", None)
    tokens._counter.cache_clear()
    assert [count("Hello", encoding) for encoding in ENCODINGS] == [1, 1, 1, 1]


# ── without the end of a word ──


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("run", RUNS)
def test_a_million_characters_without_the_end_of_a_word_are_counted_a_slice_at_a_time(
    encoding: Encoding, run: str
) -> None:
    whole = RUNS[run]
    assert max(map(len, tokens._slices(whole))) == tokens._SLICE
    assert "".join(tokens._slices(whole)) == whole
    assert 0 < count(whole, encoding) <= len(whole.encode())


@settings(max_examples=60)
@given(st.text(min_size=1, max_size=7).filter(str.strip) | st.sampled_from(" \n\t-=的a7"), st.sampled_from(ENCODINGS))
def test_a_long_run_of_anything_is_never_low_by_more_than_three_percent(part: str, encoding: Encoding) -> None:
    text = part * (20_000 // len(part))
    assert count(text, encoding) >= 0.97 * at_once(encoding)(text)
