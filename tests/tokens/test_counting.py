"""Counting tokens: exactly as tiktoken does, however long or strange a text is."""

import gzip
import hashlib
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import tiktoken
from hypothesis import given, settings
from hypothesis import strategies as st

from findspot.tokens import count
from findspot.tokens.counting import DATA, SLICE, slices

ROOT = Path(__file__).resolve().parents[2]
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
LONG = 200_000
RUNS = {
    "letters": "a" * LONG,
    "spaces": " " * LONG * 5,  # tiktoken alone fails on a million of them
    "spaces before a word": " " * LONG + "x",
    "line breaks": "\n" * LONG,
    "tabs and spaces": "\t " * (LONG // 2),
    "digits": "7" * LONG,
    "one Chinese character": "的" * LONG,
    "combining marks": "e" + "\u0301" * LONG,
    "emoji": "😀" * LONG,
    "base64": "".join(random.Random(7).choices("ABCDEFGHabcdefgh0123456789+/", k=LONG)),
}

Count = Callable[[str], int]


@pytest.fixture(scope="module")
def tiktoken_count(tmp_path_factory: pytest.TempPathFactory) -> Count:
    """Return tiktoken's own count of a whole text, with our vocabulary in its download cache."""
    vocabulary = gzip.decompress((DATA / "cl100k_base.tiktoken.gz").read_bytes())
    address = "https://openaipublic.blob.core.windows.net/encodings/cl100k_base.tiktoken"
    folder = tmp_path_factory.mktemp("tiktoken")
    (folder / hashlib.sha1(address.encode()).hexdigest()).write_bytes(vocabulary)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIKTOKEN_CACHE_DIR", str(folder))
        encoding = tiktoken.get_encoding("cl100k_base")  # it checks the hash of the file
    return lambda text: len(encoding.encode_ordinary(text))


def test_short_texts_are_counted_exactly(tiktoken_count: Count) -> None:
    assert list(map(count, SAMPLES)) == list(map(tiktoken_count, SAMPLES))


@pytest.mark.parametrize("kind", ["english", "chinese", "code", "markdown", "emoji"])
def test_long_texts_are_counted_exactly(tiktoken_count: Count, kind: str) -> None:
    chooser = random.Random(7)
    english, chinese = ((MEANING / f"others.{each}.txt").read_text(encoding="utf-8") for each in ("en", "zh"))
    texts: dict[str, Callable[[], str]] = {
        "english": lambda: english,
        "chinese": lambda: chinese,
        "code": lambda: "\n".join(file.read_text(encoding="utf-8") for file in sorted(ROOT.glob("src/**/*.py"))),
        "markdown": lambda: "\n".join(file.read_text(encoding="utf-8") for file in sorted(ROOT.glob("docs/**/*.md"))),
        "emoji": lambda: " ".join(chooser.choice([word, chooser.choice(EMOJI)]) for word in english.split()),
    }
    text = texts[kind]()[:150_000]
    assert len(list(slices(text))) > 10
    assert count(text) == tiktoken_count(text)


WORDS = st.text(max_size=8) | st.sampled_from(
    ["don't", "I'LL", "角色", "内心", "12345", "½", "naïve", "cafe\u0301", "_"]
)
BETWEEN = st.text(" \t\n\r\u3000\x1c\x85\u2028'\"_-|=,.;:!?，。、；：！？\u0301\ufe0f\u200d😀`#/", max_size=6)


@settings(max_examples=300)
@given(st.lists(st.tuples(WORDS, BETWEEN), max_size=12))
def test_counts_of_slices_add_up(tiktoken_count: Count, pairs: list[tuple[str, str]]) -> None:
    text = "".join(word + between for word, between in pairs).encode(errors="replace").decode()
    filler = "word, "
    whole = filler * ((SLICE - len(text) // 2) // len(filler)) + text + filler * 50  # a slice ends inside the text
    assert len(list(slices(whole))) > 1
    assert count(whole) == tiktoken_count(whole)


def test_special_tokens_are_ordinary_text() -> None:
    assert count("<|endoftext|>") > 5


def test_a_lone_surrogate_is_counted_as_a_question_mark() -> None:
    assert count("a\ud800b") == count("a?b")


def test_nothing_is_downloaded_and_litellm_is_not_needed() -> None:
    script = """
import sys
sys.addaudithook(lambda event, args: sys.exit(event) if event.startswith("socket.") else None)
sys.modules["litellm"] = None
from findspot.tokens import count
print(count("Hello"))
"""
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (ended.stdout.strip(), ended.returncode) == ("1", 0)


# ── long runs without the end of a word ──


@pytest.mark.parametrize("run", RUNS)
def test_a_long_run_without_the_end_of_a_word_is_counted_in_slices(run: str) -> None:
    whole = RUNS[run]
    assert max(map(len, slices(whole))) == SLICE
    assert "".join(slices(whole)) == whole
    assert 0 < count(whole) <= len(whole.encode())


@settings(max_examples=60)
@given(st.text(min_size=1, max_size=7).filter(str.strip) | st.sampled_from(" \n\t-=的a7"))
def test_the_count_of_a_long_run_is_at_most_three_percent_too_low(tiktoken_count: Count, part: str) -> None:
    text = part * (20_000 // len(part))
    assert count(text) >= 0.97 * tiktoken_count(text)
