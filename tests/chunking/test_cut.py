"""The chunker."""

import time
from itertools import pairwise

import pytest
import regex
from hypothesis import example, given
from hypothesis import strategies as st

from findspot.chunking import Chunk, cut, spans
from findspot.chunking.cut import clustered_spans
from findspot.chunking.graphemes import LONGEST, cluster_end
from tests.chunking.texts import plain_texts, settings_of_a_tool, texts

CLUSTER = regex.compile(r"\X")


def chunk_texts(text: str, size: int = 1000, overlap: int = 100) -> list[str]:
    return [text[chunk.start : chunk.end] for chunk in cut(text, size, overlap)]


def splits_a_cluster(text: str, at: int) -> bool:
    """Whether a reader notices a cut at this offset. Next to white space, which is stripped, nobody does."""
    if not 0 < at < len(text) or text[at - 1].isspace() or text[at].isspace():
        return False
    return at not in {found.end() for found in CLUSTER.finditer(text)}


# ── properties of every text and every setting ──


@given(plain_texts | texts, settings_of_a_tool)
@example("", (1, 0))
@example("\ud800 word " * 9, (10, 4))
@example("a\r\nb " * 9, (4, 1))
@example("😀 word. " * 9, (10, 4))
@example("word " * 400, (1, 0))
def test_c_cuts_a_text_as_the_code_for_any_text_does(text: str, setting: tuple[int, int]) -> None:
    assert list(spans(text, *setting)) == list(clustered_spans(text, *setting))


@pytest.mark.scenario("D02", "003.chunker.offsets-follow-strip")
@given(texts, settings_of_a_tool)
@example("Hi.\n\n" + "word " * 600, (1000, 100))
@example("中文句子。\nword", (4, 1))
def test_a_chunk_has_no_white_space_around_it(text: str, setting: tuple[int, int]) -> None:
    for chunk in cut(text, *setting):
        assert text[chunk.start : chunk.end] == text[chunk.start : chunk.end].strip() != ""


@pytest.mark.scenario("D02", "003.chunker.no-blank-chunk")
@given(texts, settings_of_a_tool)
def test_every_visible_character_is_in_a_chunk(text: str, setting: tuple[int, int]) -> None:
    covered = 0
    for chunk in cut(text, *setting):
        assert not text[covered : chunk.start].strip()
        covered = max(covered, chunk.end)
    assert not text[covered:].strip()


@pytest.mark.scenario("003.chunker.size-limit")
@given(texts, settings_of_a_tool)
def test_no_chunk_is_longer_than_the_size_unless_it_is_one_cluster(text: str, setting: tuple[int, int]) -> None:
    for chunk in chunk_texts(text, *setting):
        assert len(chunk) <= setting[0] or cluster_end(chunk, 0) == len(chunk)


@pytest.mark.scenario("003.chunker.overlap", "003.chunker.ends")
@given(texts, settings_of_a_tool)
def test_each_chunk_ends_later_and_overlaps_by_at_most_the_overlap(text: str, setting: tuple[int, int]) -> None:
    for one, next_one in pairwise(cut(text, *setting)):
        assert one.start < next_one.start
        assert one.end < next_one.end
        assert one.end - next_one.start <= setting[1]


@pytest.mark.scenario("D03", "003.chunker.hard-cut")
@given(texts, settings_of_a_tool)
def test_no_cut_falls_inside_a_grapheme_cluster(text: str, setting: tuple[int, int]) -> None:
    for chunk in cut(text, *setting):
        assert not splits_a_cluster(text, chunk.start)
        assert not splits_a_cluster(text, chunk.end)


@pytest.mark.scenario("003.chunks-table.chunk-index")
@given(texts, settings_of_a_tool)
def test_chunks_are_numbered_from_0_and_the_same_every_time(text: str, setting: tuple[int, int]) -> None:
    chunks = list(cut(text, *setting))
    assert [chunk.index for chunk in chunks] == list(range(len(chunks)))
    assert chunks == list(cut(text, *setting))


@given(st.text(st.sampled_from("ab .\n"), max_size=400), st.integers(8, 40))
def test_only_the_last_chunk_is_shorter_than_half_the_size(text: str, size: int) -> None:
    text = regex.sub(r"\s{3,}", " ", text)
    *early, _last = chunk_texts(text, size, size // 4) or [""]
    assert all(len(chunk) >= size // 2 - 2 for chunk in early)


# ── cases from the requirements ──


@pytest.mark.scenario("003.asked-test.basic-chunking", "003.chunker.hard-cut")
def test_five_thousand_letters_make_six_chunks_from_0_to_5000() -> None:
    chunks = list(cut("A" * 5000, 1000, 100))
    assert len(chunks) == 6
    assert (chunks[0].start, chunks[-1].end) == (0, 5000)
    assert chunks[:2] == [Chunk(0, 1000, 0), Chunk(900, 1900, 1)]


@pytest.mark.scenario("003.asked-test.boundaries")
def test_chunks_of_short_sentences_have_no_white_space_around_them() -> None:
    text = "Sentence one. Sentence two.\n\nParagraph two."
    assert chunk_texts(text, 20, 5) == ["Sentence one.", "one. Sentence two.", "two.\n\nParagraph two."]


@pytest.mark.scenario("D01", "003.chunker.ends", "003.chunker.paragraph-first")
def test_a_boundary_close_to_the_start_makes_no_tiny_chunk() -> None:
    found = chunk_texts("Hi.\n\n" + "word " * 600)
    assert len(found) == 4
    assert found[0].startswith("Hi.\n\nword")
    assert all(len(chunk) > 900 for chunk in found[:-1])
    assert all(chunk.startswith("word") for chunk in found[1:])


@pytest.mark.scenario("D01")
def test_every_chunk_except_the_last_ends_in_the_last_half_of_its_window_and_overlaps_the_next() -> None:
    text = ("A short one. " + "A longer sentence follows here, with some words in it. " * 9 + "\n\n") * 40
    chunks = list(cut(text))
    assert all(chunk.end - chunk.start >= 500 for chunk in chunks[:-1])
    assert all(0 < one.end - other.start <= 100 for one, other in pairwise(chunks))


def test_the_default_is_a_size_of_1000_with_an_overlap_of_100() -> None:
    assert list(cut("A" * 5000)) == list(cut("A" * 5000, 1000, 100))


@pytest.mark.scenario("003.asked-test.chunking-speed")
def test_a_million_characters_are_chunked_in_less_than_a_second_of_cpu_time() -> None:
    before = time.thread_time()  # CPU time, which does not depend on the load of the machine
    chunks = list(cut("A" * 1_000_000))
    assert time.thread_time() - before < 1.0
    assert chunks


# ── boundaries ──


@pytest.mark.scenario("003.chunker.paragraph-first")
@pytest.mark.parametrize("blank_line", ["\n\n", "\r\n\r\n", "\n \t\n", "\n\n\n", "\u2029", "\r\r"])
def test_a_blank_line_late_in_the_window_is_preferred_to_a_later_sentence(blank_line: str) -> None:
    first = "One sentence. " * 4 + "End"
    assert chunk_texts(first + blank_line + "More. More. " * 9, 100, 0)[0] == first


@pytest.mark.scenario("003.chunker.paragraph-first")
def test_a_blank_line_early_in_the_window_is_ignored() -> None:
    found = chunk_texts("Title\n\n" + "Some words without an end " * 10, 100, 0)
    assert found[0].startswith("Title\n\nSome words")


@pytest.mark.scenario("003.chunker.then-sentence", "D03")
@pytest.mark.parametrize(
    "end",
    [
        "。",
        "！",
        "？",
        "；",
        "…",
        "……",
        "？！",
        "。」",
        "！』",
        "？”",
        "。’",
        "。）",
        "。」』",
        ". ",
        "! ",
        '." ',
        ".) ",
        "…\n",
    ],
)
def test_a_chunk_ends_after_a_sentence_with_its_closing_quotes(end: str) -> None:
    sentence = "甲" * 60 + end
    found = chunk_texts(sentence + "乙" * 200, 100, 0)
    assert found[0] == sentence.rstrip()


@pytest.mark.scenario("D03")
def test_closing_quotes_after_the_window_move_the_cut_to_the_sentence_before() -> None:
    text = "甲" * 60 + "。" + "乙" * 38 + "。」" + "丙" * 100
    assert chunk_texts(text, 100, 0)[0] == "甲" * 60 + "。"


@pytest.mark.scenario("003.chunker.then-sentence")
@pytest.mark.parametrize("inside", ["3.14", "example.com", "v2.3.1", "e.g.,"])
def test_a_full_stop_inside_a_word_does_not_end_a_sentence(inside: str) -> None:
    text = "x" * 55 + " " + inside + " " + "y" * 20 + " " + "z" * 200
    assert chunk_texts(text, 100, 0)[0].endswith("y")


@pytest.mark.scenario("003.chunker.then-sentence")
def test_a_chunk_ends_at_a_line_when_no_sentence_ends() -> None:
    text = "\n".join(f"line number {n} of many" for n in range(30))
    assert all(chunk.endswith("of many") for chunk in chunk_texts(text, 100, 0))


@pytest.mark.scenario("003.chunker.then-word")
def test_a_chunk_ends_between_words_when_no_line_ends() -> None:
    chunks = chunk_texts("alpha beta gamma delta " * 40, 100, 0)
    assert set(" ".join(chunks).split()) == {"alpha", "beta", "gamma", "delta"}


@pytest.mark.scenario("003.chunker.overlap")
def test_the_overlap_begins_at_a_sentence_or_else_at_a_word() -> None:
    sentences = "The first is here. Then comes the second one. " * 20
    for chunk in chunk_texts(sentences, 200, 60)[1:]:
        assert chunk.startswith(("The first", "Then comes"))
    for chunk in chunk_texts("alpha beta gamma delta " * 40, 100, 20)[1:]:
        assert chunk.split()[0] in {"alpha", "beta", "gamma", "delta"}


def test_chinese_without_any_punctuation_is_cut_at_the_size() -> None:
    assert [len(chunk) for chunk in chunk_texts("字" * 2500)] == [1000, 1000, 700]


# ── grapheme clusters ──


@pytest.mark.scenario("D03", "003.chunker.hard-cut")
@pytest.mark.parametrize("cluster", ["👩‍👩‍👧‍👦", "🇩🇪", "👍🏽", "e\u0301\u0302", "\u1112\u1161\u11ab", "1️⃣", "क्ष", "❤️"])
@pytest.mark.parametrize("lead", ["", "x"])
def test_a_sequence_of_clusters_is_cut_only_between_them(cluster: str, lead: str) -> None:
    whole = len(cluster)
    for chunk in chunk_texts(lead + cluster * 300, 100, 20):
        rest = chunk.removeprefix(lead) if chunk.startswith(lead) else chunk
        assert rest == cluster * (len(rest) // whole)


def test_a_cluster_longer_than_the_size_stays_whole_up_to_a_limit() -> None:
    assert chunk_texts("ab" + "e" + "\u0301" * 50 + "cd", 10, 2) == ["ab", "e" + "\u0301" * 50, "cd"]
    assert max(map(len, chunk_texts("e" + "\u0301" * 20_000))) == LONGEST


# ── white space and invalid settings ──


@pytest.mark.scenario("003.chunker.no-blank-chunk")
@pytest.mark.parametrize("text", ["", " ", "\n" * 5000, "\u3000\u2028\x85\t \r\n" * 900])
def test_white_space_alone_has_no_chunk(text: str) -> None:
    assert list(cut(text)) == []


def test_white_space_longer_than_a_window_is_skipped() -> None:
    assert chunk_texts("one" + " " * 5000 + "two\n") == ["one", "two"]


@pytest.mark.parametrize(("size", "overlap"), [(0, 0), (-1, 0), (100, -1), (100, 50), (1, 1)])
def test_an_invalid_setting_is_refused(size: int, overlap: int) -> None:
    with pytest.raises(ValueError, match="overlap less than half"):
        list(cut("text", size, overlap))


@pytest.mark.parametrize(
    ("text", "chunks"),
    [
        ("." * 60_000, 67),
        ("。" * 60_000, 67),
        ("🇩🇪" * 30_000, 67),
        ("\n" * 99_999 + "x", 1),
        ("e" + "\u0301" * 60_000, 8),
        ("\u1100" * 30_000, 4),
        ("a " * 30_000, 67),
    ],
    ids=["stops", "chinese stops", "flags", "newlines", "marks", "hangul", "words"],
)
def test_long_monotonous_text_is_chunked(text: str, chunks: int) -> None:
    """Quadratic work would show here as a hanging test."""
    assert len(list(cut(text))) == chunks
