"""The offline embedder: same rows and vectors as a slow reference implementation."""

import json
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import sentencepiece
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st

from findspot.embedding import rows as rows_module
from findspot.embedding.calibration import Calibration
from findspot.embedding.offline import MODEL, OfflineEmbedder
from findspot.embedding.rows import RowFinder

FIXTURES = Path(__file__).parent.parent / "fixtures"
SAMPLES = [
    "The quick brown fox jumps over the lazy dog. Antidisestablishmentarianism!",
    "红楼梦开篇写道：满纸荒唐言，一把辛酸泪。都云作者痴，谁解其中味？",
    "紅樓夢開篇寫道：滿紙荒唐言，一把辛酸淚。臺灣、後來、髮與發。",
    "GPT模型 和 iPhone15手机，see RFC-6901 §4 或 v2.3.1；ＦＵＬＬ　ＷＩＤＴＨ",
    "Crème brûlée, naïve façade, Straße, ΟΔΟΣ ὀδός İstanbul ﬁne ½ ² ™ ① Ⅻ",
    "cafe\u0301 e\u0301\u0302 =\u0338 a\u200bb soft\u00adhyphen Z\u0351\u036b\u0343alg\u0329o",
    "😀👩‍👩‍👧🇨🇳 emoji 🙂text🙂 한국어 カタカナ ひらがな العربية हिन्दी ไทย",
    "a\x00b\x0bc\x0cd\x1ce\x1ff\x85g\u00a0h\u2028i\u3000j\u1680k\ufeffl\ufffdm\x7fn",
    "[CLS] [UNK] x [MASK] [SEP] [PAD] y[SEP]z ##ing ## #",
    "豈更車 (compatibility) 𠀀𪜶 (extension B) 〇々〆 ㄅㄆㄇ ⺀⼀",
    "x" * 99 + " " + "y" * 100 + " " + "z" * 101 + " " + "é" * 101,
    "0123456789 3.14159 1,000,000 0x1F snake_case camelCase a.b@c.de http://x.y/z?q=1#f",
    "— – … “quoted” ‘so’ «là» ¿qué? 【书】《名》「引」『双』、。，；：！？（）～·—",
    "A a AA 一 A一A Ａ",
    "é " * 300,
    "",
    " \n\t",
]


class Reference:
    """The reference: the steps of docs/offline-model.md, one by one, without caches."""

    def __init__(self) -> None:
        self.words = tokenizers.Tokenizer.from_file(str(MODEL / "en_tokenizer.json"))
        self.words.encode_special_tokens = True
        self.han = sentencepiece.SentencePieceProcessor(model_file=str(MODEL / "zh_words.spm"))
        self.fold = str.maketrans(json.loads((MODEL / "t2s.json").read_text(encoding="utf-8")))
        self.table = np.load(MODEL / "table_int8.npy", mmap_mode="r")
        self.scale = np.load(MODEL / "scale_f32.npy")

    def rows(self, text: str) -> list[int]:
        words = self.words.encode(re.sub("[\u3400-\u9fff]+", " ", text), add_special_tokens=False).ids
        runs = self.han.encode(re.sub("[^\u3400-\u9fff]+", "\n", text).translate(self.fold))
        return sorted([each for each in words if each != 1] + [29_528 + each for each in runs if each])

    def vector(self, text: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        total = np.zeros(384)
        for row in self.rows(text):
            total += self.table[row].astype(np.float64) * float(self.scale[row])
        return total / (np.linalg.norm(total) or 1)


@pytest.fixture(scope="module")
def reference() -> Reference:
    return Reference()


@cache
def finder() -> RowFinder:
    return RowFinder(MODEL)


def real_texts() -> list[str]:
    """Paragraphs of the documents that other tests use: Markdown, English and Chinese."""
    files = sorted(file for file in FIXTURES.rglob("*") if file.suffix in {".md", ".txt", ".json"})
    text = "\n".join(file.read_text(encoding="utf-8", errors="replace")[:40_000] for file in files)
    return [text[at : at + 800] for at in range(0, min(len(text), 400_000), 800)]


# ── exactness ──


def test_rows_equal_those_of_the_reference(reference: Reference) -> None:
    texts = SAMPLES + real_texts()
    for text, found in zip(texts, finder()(texts), strict=True):
        assert sorted(found.tolist()) == reference.rows(text), text


@settings(max_examples=150)
@given(st.lists(st.text(max_size=60), max_size=4))
def test_rows_of_any_text_equal_those_of_the_reference(texts: list[str]) -> None:
    for text, found in zip(texts, finder()(texts), strict=True):
        assert sorted(found.tolist()) == _reference().rows(text)


HAN_WORDS = ["恰恰恰", "不了", "发现自己", "第一等", "中年", "上位", "龘", "㐀", "圖書館", "，", "a", "㑮"]


@settings(max_examples=100)
@given(st.lists(st.sampled_from(HAN_WORDS) | st.characters(min_codepoint=0x3300, max_codepoint=0xA100), max_size=80))
def test_han_characters_are_split_like_by_sentencepiece(parts: list[str]) -> None:
    text = "".join(parts)
    assert sorted(finder()([text])[0].tolist()) == _reference().rows(text)


@pytest.mark.parametrize("gaps", [0, 2990, 3000, 4000])
def test_a_long_text_is_split_like_by_sentencepiece(gaps: int) -> None:
    """Scores of many words add up to large numbers, in which small differences would get lost."""
    text = "一，" * gaps + "".join(HAN_WORDS[:9]) * 40 + "恰恰恰，" * 200
    assert sorted(finder()([text])[0].tolist()) == _reference().rows(text)


@cache
def _reference() -> Reference:
    return Reference()


def test_every_character_between_two_words_is_handled_like_in_the_reference(reference: Reference) -> None:
    points = (*range(0x3500), *range(0x9F00, 0xB000), *range(0xF900, 0x11100), *range(0x1F000, 0x20010))
    texts = [f"ab{chr(point)}cd" for point in points]
    words = reference.words.encode_batch_fast(
        [re.sub("[\u3400-\u9fff]+", " ", text) for text in texts], add_special_tokens=False
    )
    for text, found, expected in zip(texts, finder()(texts), words, strict=True):
        latin = sorted(each for each in found.tolist() if each < 29_528)
        assert latin == sorted(each for each in expected.ids if each != 1), hex(ord(text[2]))


def test_vectors_equal_those_of_the_reference(reference: Reference, offline: OfflineEmbedder) -> None:
    texts = SAMPLES + real_texts()[::20]
    np.testing.assert_allclose(offline.documents(texts), [reference.vector(text) for text in texts], atol=2e-6)


def test_a_text_has_the_same_bits_alone_or_with_others(offline: OfflineEmbedder) -> None:
    texts = [*SAMPLES, *real_texts()[::5], "很长的一段话，a long one. " * 200]
    together = offline.documents(texts)
    assert np.array_equal(together, [offline.query(text) for text in texts])


def test_words_beyond_the_size_of_the_cache_are_found(reference: Reference, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows_module, "WORDS_KEPT", 10)
    small = RowFinder(MODEL)
    for _ in range(2):
        for text, found in zip(SAMPLES, small(SAMPLES), strict=True):
            assert sorted(found.tolist()) == reference.rows(text)
    assert len(small.words) <= 10


# ── meaning ──


@pytest.mark.scenario("D33")
@pytest.mark.parametrize("nothing", ["", " ", "\n\t　", "\u200b", "\ufffd", "\x00", "\U000f0000"])
def test_a_text_without_a_known_token_is_all_zeros(offline: OfflineEmbedder, nothing: str) -> None:
    vectors = offline.documents([nothing, "word"])
    assert vectors.any(axis=1).tolist() == [False, True]
    assert not vectors[0].any()
    assert not offline.query(nothing).any()


def test_a_lone_surrogate_is_not_a_token(offline: OfflineEmbedder) -> None:
    assert offline.documents(["\ud800", "word\udfff"]).any(axis=1).tolist() == [False, True]


def test_traditional_and_simplified_characters_mean_the_same(offline: OfflineEmbedder) -> None:
    simplified, traditional = offline.documents(["软件开发的历史", "軟件開發的歷史"])
    assert float(simplified @ traditional) > 0.999


@pytest.mark.parametrize(
    ("question", "right", "wrong"),
    [
        ("How do I cook rice?", "Boil the grains in water until they are soft.", "The train leaves at nine."),
        ("怎样煮米饭？", "把米淘净，加水，用小火焖二十分钟。", "列车九点钟开。"),
        ("怎样煮米饭？", "Wash the rice, add water and simmer for twenty minutes.", "The train leaves at nine."),
    ],
)
def test_the_answer_of_a_question_is_nearer_than_another_text(
    offline: OfflineEmbedder, question: str, right: str, wrong: str
) -> None:
    near, far = offline.documents([right, wrong]) @ offline.query(question)
    assert near > far


# ── fingerprint, calibration ──


def copy_of_the_model(tmp_path: Path) -> Path:
    return Path(shutil.copytree(MODEL, tmp_path / "model"))


@pytest.mark.parametrize("file", ["en_tokenizer.json", "scale_f32.npy", "t2s.json", "table_int8.npy", "zh_words.spm"])
def test_the_fingerprint_changes_with_every_file_a_vector_depends_on(
    tmp_path: Path, offline: OfflineEmbedder, file: str
) -> None:
    folder = copy_of_the_model(tmp_path)
    assert OfflineEmbedder(folder).fingerprint == offline.fingerprint
    with (folder / file).open("r+b") as opened:
        opened.seek(-1, 2)
        last = opened.read(1)
        opened.seek(-1, 2)
        opened.write(bytes([last[0] ^ 1]))
    assert OfflineEmbedder(folder).fingerprint != offline.fingerprint


def test_the_model_has_a_calibration_and_another_can_be_given(offline: OfflineEmbedder) -> None:
    assert offline.calibration == Calibration(17.059, -4.574)
    given = Calibration(10, -3)
    other = OfflineEmbedder(calibration=given)
    assert other.calibration == given
    assert other.fingerprint == offline.fingerprint


# ── memory and imports ──


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from Linux's /proc")
def test_it_needs_less_than_250_megabytes() -> None:
    script = """
import re
from pathlib import Path
from findspot.embedding.offline import OfflineEmbedder
embedder = OfflineEmbedder()
embedder.query("ready 了吗")
embedder.fingerprint
embedder.documents([chr(0x4E00 + n % 20000) * 3 + f" word{n}" for n in range(30_000)])
print(re.search("VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
"""
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert int(ended.stdout) < 250 * 1024


def test_importing_findspot_loads_nothing_heavy() -> None:
    script = """
import sys, findspot, findspot.app, findspot.runtime.embedders, findspot.embedding.protocol
import findspot.tokens
print([name for name in ("numpy", "litellm", "tokenizers", "sentencepiece", "tiktoken") if name in sys.modules])
"""
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ended.stdout.strip() == "[]"


@pytest.mark.parametrize(
    "text", ["warehouses", "灯塔", "zzqqxx lighthouse", "getUserName", "a", "Cafés", "燈塔 qwertz"]
)
def test_a_text_with_a_known_word_is_known(offline: OfflineEmbedder, text: str) -> None:
    assert offline.knows(text)


@pytest.mark.parametrize("text", ["zzqqxx", "12345678901", "qwertz", "xyzzy", "hjklö", "", "?!", "🦊", "q" * 200])
def test_a_text_of_which_only_letters_are_known_is_not_known(offline: OfflineEmbedder, text: str) -> None:
    assert not offline.knows(text)
