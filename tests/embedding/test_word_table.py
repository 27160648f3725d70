"""Comparing a query with passages by the rows of the offline model's table."""

from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pytest

from findspot.embedding import word_table
from findspot.embedding.offline import MODEL, OfflineEmbedder
from findspot.embedding.rows import RowFinder
from findspot.embedding.word_table import MAX_QUERY_ROWS, UNLIKE, Likeness
from tests.native.registers import widths

Doubles: TypeAlias = npt.NDArray[np.float64]


@pytest.fixture(scope="module")
def embedder() -> OfflineEmbedder:
    return OfflineEmbedder()


def compared(embedder: OfflineEmbedder, query: str, *passages: list[str]) -> list[Likeness]:
    table = embedder.word_table
    return table.compare(query, embedder.query(query), table.segment_rows(passages))


@pytest.mark.parametrize(
    ("query", "segments"),
    [
        ("limit the memory of a query", ["A quota bounds memory.", "Queries wait in a queue.", "Coffee is ready."]),
        ("限制查询的内存", ["内存配额", "查询在队列中等待。", "咖啡好了"]),
        ("限制 memory 🧠 e\u0301", ["Memory 配额", "🧠", "咖啡"]),
        ("memory 内存", [*("Coffee 咖啡. " * count for count in range(20)), "A 内存 quota"]),
    ],
)
def test_the_best_segment_has_the_cosine_that_the_embedder_gives_it(
    embedder: OfflineEmbedder, query: str, segments: list[str]
) -> None:
    (found,) = compared(embedder, query, segments)
    assert found.segment == pytest.approx(float((embedder.documents(segments) @ embedder.query(query)).max()), abs=1e-5)


def plain_likeness(query: str, segments: list[str]) -> Likeness:
    """The formulas of docs/ranking.md, in double precision."""
    table, scale = (np.load(MODEL / name).astype(np.float64) for name in ("table_int8.npy", "scale_f32.npy"))
    rows = table * scale[:, np.newaxis]
    finder = RowFinder(MODEL)
    asked, *found = (rows[each] for each in (np.unique(finder([query])[0]), *finder(segments)))
    found = [each for each in found if len(each)]
    weights = np.linalg.norm(asked, axis=1)
    likes = [np.maximum(unit(asked) @ unit(each).T, 0).max(axis=1) for each in found]
    one, whole = max(weights @ like for like in likes), weights @ np.max(likes, axis=0)
    vector = rows[finder([query])[0]].sum(axis=0)
    cosine = max(float(unit(each.sum(axis=0)[np.newaxis])[0] @ unit(vector[np.newaxis])[0]) for each in found)
    return Likeness(cosine, (one + whole) / 2 / weights.sum())


def unit(rows: Doubles) -> Doubles:
    made: Doubles = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return made


@pytest.mark.parametrize("query", ["limit the memory of a query", "限制查询的内存", "memory 内存 memory, naïve?"])
def test_likeness_follows_its_formulas(embedder: OfflineEmbedder, query: str) -> None:
    passages = [
        ["A quota bounds memory.", "", "Queries wait, and wait, in a queue.", "咖啡好了。内存配额"],
        ["查询在队列中等待。", "The naïve coffee: is ready!"],
        [query],
    ]
    for passage, found in zip(passages, compared(embedder, query, *passages), strict=True):
        assert found == pytest.approx(plain_likeness(query, passage), abs=1e-5)


@pytest.mark.parametrize(("query", "other"), [("memory quota", "coffee harbour"), ("内存 配额", "咖啡 港口")])
def test_word_similarity_is_1_for_the_same_words_and_grows_with_them(
    embedder: OfflineEmbedder, query: str, other: str
) -> None:
    first, second = query.split()
    same, apart, half, none = compared(embedder, query, [query], [first, second], [first], [other])
    assert same.words == pytest.approx(1, abs=1e-5)
    assert same.words > apart.words > half.words > none.words >= 0


def test_traditional_and_simplified_words_are_the_same(embedder: OfflineEmbedder) -> None:
    simplified, traditional = compared(embedder, "图书馆", ["图书馆"], ["圖書館"])
    assert simplified == traditional


@pytest.mark.parametrize("word", ["harbour", "港口"])
def test_segments_have_the_same_rows_and_lengths_alone_or_with_others(embedder: OfflineEmbedder, word: str) -> None:
    passages = [[f"{word} {number} A lake." * (1 + number % 3), "\u3000", f"湖 {number}"] for number in range(12)]
    together = embedder.word_table.segment_rows(passages)
    for passage, found in zip(passages, together, strict=True):
        (alone,) = embedder.word_table.segment_rows([passage])
        assert len(found.counts) == 2
        assert all(np.array_equal(one, other) for one, other in zip(alone, found, strict=True))


@pytest.mark.parametrize("text", ["limit the memory of a query", "限制查询的内存。" * 40, "naïve 内存?", ""])
def test_all_processors_find_the_same(embedder: OfflineEmbedder, text: str) -> None:
    passages = [[text, "A quota bounds memory.", "咖啡好了"], ["查询在队列中等待。"]]
    found = []
    for _ in widths(word_table):
        vectors = embedder.documents([text, *passages[0]])
        found.append((vectors.tobytes(), compared(embedder, "limit memory 内存", *passages)))
    assert found[0] == found[-1]


def test_texts_without_known_words_are_unlike_any_query(embedder: OfflineEmbedder) -> None:
    assert compared(embedder, "memory", [], ["", " "], ["memory"])[:2] == [UNLIKE, UNLIKE]
    assert compared(embedder, "\u3000", ["memory"]) == [UNLIKE]
    assert compared(embedder, "memory") == []


def test_a_query_of_any_length_is_compared_by_its_heaviest_words(embedder: OfflineEmbedder) -> None:
    words = " ".join(f"number{number} 内存" for number in range(20 * MAX_QUERY_ROWS))
    (found,) = compared(embedder, words, [words[:1000]])
    assert 0 < found.words <= 1
    assert np.isfinite(found).all()
