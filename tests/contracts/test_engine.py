"""Contract of Engine: writing, deleting, both legs of a recall, counting and namespaces."""

from __future__ import annotations

import numpy as np
import pytest

from findspot.engines.protocol import Batch, DimensionMismatch, Engine, Source, Within, Words
from tests.contracts.engines import (
    DIMENSION,
    DOCUMENTS,
    MODEL,
    NEXT_MODEL,
    OTHER,
    OTHER_PROJECT,
    TABLE,
    TOLERANCE,
    Reopen,
    batch,
    direction,
    found,
    near,
    words,
)

# ── namespaces ──


def test_a_namespace_that_does_not_exist_is_empty(engine: Engine) -> None:
    recall = engine.recall(TABLE, words("cat"), direction(1), limit=10, also=[1])
    assert not any((recall.keyword, recall.vector, recall.keyword_also, recall.vector_also))
    assert engine.count(TABLE, words("cat")) == engine.count(TABLE, None) == 0
    engine.delete(TABLE, [1, 2])
    engine.drop(TABLE)
    assert engine.ids(TABLE).tolist() == []
    assert engine.status(TABLE).chunks == engine.status(TABLE).vectors == 0
    assert engine.namespaces(1) == []


def test_a_recall_says_whether_an_index_exists(engine: Engine) -> None:
    assert not engine.recall(TABLE, words("cat"), None, limit=10).exists
    engine.write(TABLE, MODEL, batch({1: "dog"}))
    assert engine.recall(TABLE, words("cat"), None, limit=10).exists
    assert engine.recall(TABLE, words("cat"), None, limit=0).exists
    engine.drop(TABLE)
    assert not engine.recall(TABLE, words("cat"), direction(1), limit=10).exists


def test_a_remote_engine_tells_its_own_ids(engine: Engine) -> None:
    assert engine.doc_ids(TABLE) in ([], None)
    chunks = batch({1: "dog", 2: "狗"})
    engine.write(TABLE, MODEL, chunks)
    assert engine.doc_ids(TABLE) in ([(1, chunks.doc_ids[0]), (2, chunks.doc_ids[1])], None)


def test_namespaces_are_separate(engine: Engine) -> None:
    for namespace in (TABLE, OTHER, DOCUMENTS, OTHER_PROJECT):
        engine.write(namespace, MODEL, batch({1: f"cat of {namespace}"}))
    engine.write(OTHER, MODEL, batch({2: "dog"}))
    assert engine.namespaces(1) == sorted([TABLE, OTHER, DOCUMENTS])
    assert engine.namespaces(2) == [OTHER_PROJECT]
    assert found(engine, "dog") == []
    engine.drop(OTHER)
    assert engine.namespaces(1) == sorted([TABLE, DOCUMENTS])
    assert engine.ids(OTHER).tolist() == []
    engine.write(OTHER, NEXT_MODEL, batch({3: "new"}))
    assert engine.ids(OTHER).tolist() == [3]
    for namespace in engine.namespaces(1):
        engine.drop(namespace)
    assert engine.namespaces(1) == []
    assert found(engine, "cat") == []
    assert found(engine, "cat", OTHER_PROJECT) == [1]


def test_the_status_describes_the_contents_of_a_namespace(engine: Engine) -> None:
    engine.write(TABLE, MODEL, batch({1: "cat", 2: "dog"}))
    status = engine.status(TABLE)
    assert (status.chunks, status.vectors, status.fingerprint, status.dimension) == (2, 2, MODEL, DIMENSION)
    assert status.bytes > 0


def test_the_kind_of_vectors_is_known_without_counting(engine: Engine) -> None:
    assert engine.kind(TABLE) == ("", 0)
    engine.write(TABLE, MODEL, batch({1: "cat"}))
    assert engine.kind(TABLE) == (MODEL, DIMENSION)
    engine.drop(TABLE)
    assert engine.kind(TABLE) == ("", 0)


def test_warming_and_sweeping_change_nothing(engine: Engine) -> None:
    engine.warm(TABLE)
    engine.write(TABLE, MODEL, batch({1: "cat 猫"}))
    engine.warm(TABLE)
    engine.sweep()
    assert found(engine, "猫") == [1]


# ── writing and deleting ──


def test_a_written_chunk_replaces_the_one_with_the_same_id(engine: Engine) -> None:
    engine.write(TABLE, MODEL, batch({1: "old words", 2: "others"}))
    engine.write(TABLE, MODEL, batch({1: "新的词"}, np.array([direction(9)]), [Source(None, "/new", 1, 0, 3)]))
    assert found(engine, "old") == []
    assert found(engine, "新的") == [1]
    assert near(engine, direction(1)) == []
    assert near(engine, direction(9)) == [1]
    assert found(engine, "新的", within=Within("/new")) == near(engine, direction(9), within=Within("/new")) == [1]
    assert found(engine, "新的", within=Within("/1")) == near(engine, direction(9), within=Within("/1")) == []
    assert engine.ids(TABLE).tolist() == [1, 2]


def test_if_a_batch_has_an_id_twice_the_last_chunk_counts(engine: Engine) -> None:
    source = Source(None, "/1", 300, 50, 5)
    vectors = np.array([direction(1), direction(2)])
    engine.write(TABLE, MODEL, Batch([5, 5], ["a", "b"], [source, source], ["first", "second"], vectors))
    assert engine.ids(TABLE).tolist() == [5]
    assert found(engine, "first") == []
    assert found(engine, "second") == [5]
    assert near(engine, direction(2)) == [5]
    assert near(engine, direction(1)) == []


def test_deleted_chunks_are_found_by_neither_leg(engine: Engine) -> None:
    engine.write(TABLE, MODEL, batch({id: f"cat number{id}" for id in range(1, 11)}))
    engine.delete(TABLE, [2, 3, 99])
    engine.delete(TABLE, [])
    assert 2 not in found(engine, "cat")
    assert near(engine, direction(3)) == []
    assert engine.ids(TABLE).tolist() == [1, 4, 5, 6, 7, 8, 9, 10]
    assert engine.status(TABLE).chunks == 8
    engine.delete(TABLE, range(1, 11))
    assert found(engine, "cat") == []
    assert engine.ids(TABLE).tolist() == []
    engine.write(TABLE, MODEL, batch({2: "cat again"}))
    assert found(engine, "cat") == [2]


def test_a_reopened_engine_has_everything_that_was_written(reopen: Reopen) -> None:
    engine = reopen()
    engine.write(TABLE, MODEL, batch({1: "cat", 2: "狗 在 这里", 3: "bird"}))
    engine.write(TABLE, MODEL, batch({1: "cats again"}))
    engine.delete(TABLE, [3])
    before = engine.recall(TABLE, words("cat 这里"), direction(2), limit=10)
    engine = reopen()
    after = engine.recall(TABLE, words("cat 这里"), direction(2), limit=10)
    assert after.keyword == pytest.approx(before.keyword)
    assert after.vector == pytest.approx(before.vector)
    assert engine.ids(TABLE).tolist() == [1, 2]
    assert engine.namespaces(1) == [TABLE]
    engine.write(TABLE, MODEL, batch({4: "cat"}))
    assert reopen().ids(TABLE).tolist() == [1, 2, 4]


def test_vectors_of_another_embedder_are_refused(engine: Engine) -> None:
    engine.write(TABLE, MODEL, batch({1: "cat"}))
    with pytest.raises(ValueError, match="model"):
        engine.write(TABLE, NEXT_MODEL, batch({2: "cat"}))
    with pytest.raises(ValueError, match="model"):
        engine.write(TABLE, MODEL, batch({2: "cat"}, np.ones((1, DIMENSION + 1), np.float32)))
    assert engine.ids(TABLE).tolist() == [1]


def test_a_query_vector_of_another_dimension_raises_dimension_mismatch(engine: Engine) -> None:
    engine.write(TABLE, MODEL, batch({1: "猫 cat"}))
    for length in (1, DIMENSION - 1, DIMENSION + 1):
        with pytest.raises(DimensionMismatch):
            engine.recall(TABLE, words("cat"), np.ones(length, np.float32), limit=10)
    assert found(engine, "cat") == near(engine, direction(1)) == [1]


@pytest.mark.scenario("D33")
def test_a_chunk_with_a_vector_of_zeros_has_no_vector(engine: Engine) -> None:
    engine.write(TABLE, MODEL, batch({1: "cat", 2: "cat"}, np.array([direction(1), direction()])))
    recall = engine.recall(TABLE, words("cat"), direction(1), limit=10)
    assert set(recall.keyword) == {1, 2}
    assert set(recall.vector) == {1}
    assert not recall.vector_also
    assert not engine.recall(TABLE, None, direction(), limit=10).vector
    assert (engine.status(TABLE).chunks, engine.status(TABLE).vectors) == (2, 1)


# ── both legs ──


def test_a_chunk_is_found_by_its_words_and_by_its_vector(engine: Engine) -> None:
    cases = [
        ("The cats sat on the mat", "cat"),
        ("猫坐在垫子上。", "垫子"),
        ("貓在圖書館裡看著雨", "图书馆"),
        ("GPT模型 v2.3.1 部署", "模型 deploy"),
        ("cafe\u0301 naïve", "cafe"),
        ("done 👍 today", "👍"),
        ("𠮷野家 in 𠮷野", "𠮷野"),
    ]
    texts = {number: text for number, (text, _) in enumerate(cases, start=1)}
    engine.write(TABLE, MODEL, batch(texts | {20: "something else", 21: "别的东西"}))
    for number, (_, query) in enumerate(cases, start=1):
        recall = engine.recall(TABLE, words(query), direction(number), limit=10)
        assert next(iter(recall.keyword)) == number
        assert recall.keyword[number] > 0
        assert next(iter(recall.vector)) == number
        assert recall.vector[number] == pytest.approx(1, abs=TOLERANCE)


def test_either_leg_may_be_left_out(engine: Engine) -> None:
    engine.write(TABLE, MODEL, batch({1: "cat", 2: "dog"}))
    keywords = engine.recall(TABLE, words("cat"), None, limit=10)
    assert (list(keywords.keyword), keywords.vector, keywords.vector_also) == ([1], {}, {})
    for nothing in (None, Words(), Words(none_of=("cat",))):
        recall = engine.recall(TABLE, nothing, direction(2), limit=1)
        assert (recall.keyword, list(recall.vector), recall.keyword_also) == ({}, [2], {})


def test_the_best_of_each_leg_are_recalled(engine: Engine) -> None:
    texts = {id: f"cat {'padding ' * id}" for id in range(1, 40)}
    vectors = np.array([direction(0) * (40 - id) + direction(1) * id for id in texts])
    engine.write(TABLE, MODEL, batch(texts, vectors))
    recall = engine.recall(TABLE, words("cat"), direction(0), limit=5)
    assert list(recall.keyword) == [1, 2, 3, 4, 5]
    assert set(recall.vector) <= set(range(1, 8))  # quantization may swap neighbours
    assert len(recall.vector) == 5
    assert list(recall.vector.values()) == sorted(recall.vector.values(), reverse=True)


def test_a_chunk_that_one_leg_found_also_has_the_score_of_the_other(engine: Engine) -> None:
    texts = {id: f"cat {'cat ' * (id % 5)} {'padding ' * id}" for id in range(1, 30)} | {40: "dog", 41: "cat"}
    vectors = np.array([direction(0, id % DIMENSION) for id in texts])
    vectors[-1] = 0
    engine.write(TABLE, MODEL, batch(texts, vectors))
    whole = engine.recall(TABLE, words("cat"), direction(0, 40), limit=100)
    assert not whole.keyword_also
    assert not whole.vector_also
    assert 40 not in whole.keyword
    assert 41 not in whole.vector
    part = engine.recall(TABLE, words("cat"), direction(0, 40), limit=4)
    assert (len(part.keyword), len(part.vector)) == (4, 4)
    assert part.keyword_also.keys() == part.vector.keys() - part.keyword.keys() - {40}
    assert part.vector_also.keys() == part.keyword.keys() - part.vector.keys() - {41}
    for id, score in {**part.keyword, **part.keyword_also}.items():
        assert score == pytest.approx(whole.keyword[id], rel=1e-4)
    for id, cosine in {**part.vector, **part.vector_also}.items():
        assert cosine == pytest.approx(whole.vector[id], abs=TOLERANCE)


def test_chunks_asked_for_with_also_are_scored_whether_recalled_or_not(engine: Engine) -> None:
    texts = {id: f"cat {'padding ' * id}" for id in range(1, 20)} | {40: "dog", 41: "cat"}
    vectors = np.array([direction(0, id) for id in texts])
    vectors[-1] = 0
    engine.write(TABLE, MODEL, batch(texts, vectors))
    whole = engine.recall(TABLE, words("cat"), direction(0, 1), limit=100)
    also = [15, 19, 40, 41, 999]
    for limit in (0, 3):
        within = Within("/1")  # does not apply to `also`
        recall = engine.recall(TABLE, words("cat"), direction(0, 1), limit=limit, within=within, also=also)
        assert set(recall.keyword) | set(recall.vector) == ({1} if limit else set())
        assert recall.keyword_also == pytest.approx({id: whole.keyword[id] for id in (15, 19, 41)}, rel=1e-4)
        assert recall.vector_also == pytest.approx({id: whole.vector[id] for id in (15, 19, 40)}, abs=TOLERANCE)
    recall = engine.recall(TABLE, words("cat"), direction(0, 1), limit=2, also=[1, 19])
    assert (recall.keyword_also.keys() & {1}, recall.vector_also.keys() & {1}) == (set(), set())  # recalled by both
    assert {19} <= recall.keyword_also.keys() & recall.vector_also.keys()
    one_leg = engine.recall(TABLE, words("cat"), None, limit=0, also=also)
    assert (set(one_leg.keyword_also), one_leg.vector_also) == ({15, 19, 41}, {})


def test_a_recall_names_the_documents_of_the_recalled_chunks(engine: Engine) -> None:
    engine.write(TABLE, MODEL, batch({1: "cat", 2: "cat"}))
    assert engine.recall(TABLE, words("cat"), direction(1), limit=10).documents == {}
    texts = {id: "cat" if id % 2 else "dog" for id in range(1, 30)}
    engine.write(DOCUMENTS, MODEL, batch(texts, sources=[Source(document_id=1000 + id % 3) for id in texts]))
    engine.write(DOCUMENTS, MODEL, batch({5: "cat"}, sources=[Source(document_id=7)]))
    engine.delete(DOCUMENTS, [3])
    recall = engine.recall(DOCUMENTS, words("cat"), direction(4), limit=100)
    expected = {id: 7 if id == 5 else 1000 + id % 3 for id in recall.keyword.keys() | recall.vector.keys()}
    assert recall.documents == expected
    assert 3 not in recall.documents


def test_stop_cancels_a_recall(engine: Engine) -> None:
    class Enough(Exception):
        pass

    def stop() -> None:
        raise Enough

    engine.write(TABLE, MODEL, batch({1: "cat"}))
    with pytest.raises(Enough):
        engine.recall(TABLE, words("cat"), direction(1), limit=10, stop=stop)
    assert found(engine, "cat") == [1]


# ── filters ──

SOURCES = {
    1: Source(None, "/a", 300, 50, 10),
    2: Source(None, "/a/b", 300, 50, 200),
    3: Source(None, "/ab", 300, 50, 300),
    4: Source(None, "/a/b/0", 500, 50, 400),
    5: Source(None, "/文档/标题", 300, 0, 20),
    6: Source(None, "/文档", 300, 0, 1),
    7: Source(None, "/a~1b/c~0", 300, 50, 50),
    8: Source(None, "/" + "deep/" * 100 + "leaf", 300, 50, 60),
    9: Source(None, "/" + "deep/" * 100 + "other", 300, 50, 60),
    10: Source(7, "", 300, 50, 1000),
    11: Source(8, "", 300, 50, 1000),
    12: Source(70, "", 500, 50, 5),
    13: Source(None, "/a b/ c", 300, 50, 7),
}

FILTERS = [
    (Within(), set(SOURCES)),
    (Within("/a"), {1, 2, 4}),
    (Within("/a/b"), {2, 4}),
    (Within("/a/b/0"), {4}),
    (Within("/a/b/00"), set()),
    (Within("/文档"), {5, 6}),
    (Within("/文"), set()),
    (Within("/a~1b"), {7}),
    (Within("/a~1b/c~0"), {7}),
    (Within("/deep/deep"), {8, 9}),
    (Within("/" + "deep/" * 100 + "leaf"), {8}),
    (Within("/" + "deep/" * 99 + "deep"), {8, 9}),
    (Within("/a b"), {13}),
    (Within(cut=(500, 50)), {4, 12}),
    (Within(cut=(50, 500)), set()),
    (Within(least_length=1), set(SOURCES)),
    (Within(least_length=2), set(SOURCES) - {6}),
    (Within(least_length=300), {3, 4, 10, 11}),
    (Within(least_length=1001), set()),
    (Within(document_ids=frozenset({7, 70, 999})), {10, 12}),
    (Within(document_ids=frozenset()), set()),
    (Within("/a", (300, 50), 100), {2}),
    (Within("/a", document_ids=frozenset({7})), set()),
    (Within(cut=(300, 50), document_ids=frozenset({7, 70})), {10}),
]


@pytest.mark.scenario("003.search.filter")
def test_a_filter_limits_both_legs_and_changes_no_score(engine: Engine) -> None:
    texts = {id: "cat " + "padding " * id for id in SOURCES}
    vectors = np.array([direction(0, id) for id in texts])
    engine.write(TABLE, MODEL, batch(texts, vectors, list(SOURCES.values())))
    everything = engine.recall(TABLE, words("cat"), direction(0), limit=100)
    for within, expected in FILTERS:
        recall = engine.recall(TABLE, words("cat"), direction(0), limit=100, within=within)
        assert set(recall.keyword) == set(recall.vector) == expected, within
        assert recall.keyword == pytest.approx({id: everything.keyword[id] for id in expected})
        few = engine.recall(TABLE, words("cat"), direction(0), limit=2, within=within)
        assert {*few.keyword, *few.vector, *few.keyword_also, *few.vector_also} <= expected


# ── counting ──


def test_a_count_agrees_with_a_recall_by_keywords(engine: Engine) -> None:
    texts = {id: ("cat dog" if id % 3 else "cat 猫") for id in range(1, 40)}
    sources = [Source(document_id=id % 2) for id in texts]
    engine.write(DOCUMENTS, MODEL, batch(texts, sources=sources))
    assert engine.count(DOCUMENTS, words("cat")) == 39
    assert engine.count(DOCUMENTS, words("猫 dog")) == 39
    assert engine.count(DOCUMENTS, Words(all_of=("dog",), none_of=("猫",))) == 26
    assert engine.count(DOCUMENTS, Words()) == 0
    within = Within(document_ids=frozenset({1}))
    recalled = engine.recall(DOCUMENTS, words("dog"), None, limit=100, within=within).keyword
    assert engine.count(DOCUMENTS, words("dog"), within) == len(recalled) < 26
    engine.delete(DOCUMENTS, [1, 2])
    assert engine.count(DOCUMENTS, words("dog")) == 24


def test_a_count_without_words_counts_chunks_with_a_vector(engine: Engine) -> None:
    texts = dict.fromkeys(range(1, 40), "cat")
    vectors = np.array([direction(id % 5) * (id != 7) for id in texts])
    engine.write(DOCUMENTS, MODEL, batch(texts, vectors, sources=[Source(document_id=id % 2) for id in texts]))
    within = Within(document_ids=frozenset({1}))
    assert (engine.count(DOCUMENTS, None), engine.count(DOCUMENTS, None, within)) == (38, 19)


def test_a_recall_may_count_on_the_way(engine: Engine) -> None:
    engine.write(DOCUMENTS, MODEL, batch({id: "cat 猫" if id % 2 else "dog" for id in range(1, 40)}))
    for asked, vector in ((words("猫"), direction(1)), (words("nowhere"), None), (None, direction(1))):
        recall = engine.recall(DOCUMENTS, asked, vector, limit=5, count_to=1000)
        assert recall.matches in (None, engine.count(DOCUMENTS, asked))
