"""What holds for every engine, whatever is behind it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from findspot.engines.embedded.engine import EmbeddedEngine
from findspot.engines.protocol import Abandoned, Batch, Engine, Misfit, Source, Vector, Vectors, Within, Words
from findspot.words import query_terms, terms
from tests.engines.exact import ExactEngine

TABLE, OTHER, DOCUMENTS, NEXT_PROJECT = (
    "project_1_table_1",
    "project_1_table_2",
    "project_1_documents",
    "project_2_table_3",
)
DIMENSION = 64
MODEL, NEXT_MODEL = "model-a", "model-b"
NEAR = 0.03  # how far a cosine may be off: vectors may be kept in fewer bits

Reopen = Callable[[], Engine]


@pytest.fixture(params=["exact", "embedded"])
def reopen(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Reopen]:
    """Opens the engine; again, it closes it first."""
    opened: list[Engine] = []

    def open_engine() -> Engine:
        if request.param == "exact":
            opened[:] = opened or [ExactEngine()]
            return opened[0]
        while opened:
            opened.pop().close()
        opened.append(EmbeddedEngine(tmp_path / "index"))
        return opened[0]

    yield open_engine
    opened[0].close()


@pytest.fixture
def engine(reopen: Reopen) -> Engine:
    return reopen()


def direction(*numbers: int) -> Vector:
    """A vector between some axes."""
    vector = np.zeros(DIMENSION, np.float32)
    vector[list(numbers)] = 1
    vector[list(numbers)] /= np.sqrt(len(numbers))
    return vector


def batch(texts: dict[int, str], vectors: Vectors | None = None, sources: Sequence[Source] | None = None) -> Batch:
    """Chunks with these texts; without vectors, the one of a chunk is along the axis of its id."""
    if vectors is None:
        vectors = np.array([direction(id % DIMENSION) for id in texts]).reshape(len(texts), -1)
    return Batch(
        list(texts),
        [f"doc-{id}" for id in texts],
        sources or [Source(None, f"/{id}", 300, 50, len(text)) for id, text in texts.items()],
        [" ".join(terms(text)) for text in texts.values()],
        vectors,
    )


def words(text: str) -> Words:
    return Words(any_of=query_terms(text))


def found(engine: Engine, text: str, namespace: str = TABLE, within: Within | None = None) -> list[int]:
    return list(engine.recall(namespace, words(text), None, limit=100, within=within or Within()).keyword)


def near(engine: Engine, vector: Vector, namespace: str = TABLE, within: Within | None = None) -> list[int]:
    """Those that are more alike than not."""
    recall = engine.recall(namespace, None, vector, limit=100, within=within or Within())
    return [id for id, cosine in recall.vector.items() if cosine > 0.5]


def test_a_namespace_that_does_not_exist_is_empty(engine: Engine) -> None:
    recall = engine.recall(TABLE, words("cat"), direction(1), limit=10)
    assert not any((recall.keyword, recall.vector, recall.keyword_also, recall.vector_also))
    engine.delete(TABLE, [1, 2])
    engine.drop(TABLE)
    engine.drop_project(1)
    assert engine.ids(TABLE).tolist() == []
    assert engine.status(TABLE).chunks == engine.status(TABLE).vectors == 0
    assert engine.namespaces(1) == []


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("The cats sat on the mat", "cat"),
        ("猫坐在垫子上。", "垫子"),
        ("猫坐在垫子上。", "猫"),
        ("貓坐在墊子上，看著窗外的雨", "垫子"),
        ("GPT模型 v2.3.1 部署", "模型 deploy"),
        ("cafe\u0301 naïve", "cafe"),
        ("done 👍 today", "👍"),
        ("𠮷野家 in 𠮷野", "𠮷野"),
    ],
)
def test_a_chunk_is_found_by_its_words_and_by_its_vector(engine: Engine, text: str, query: str) -> None:
    engine.write(TABLE, MODEL, batch({1: "something else", 2: text, 3: "别的东西"}))
    recall = engine.recall(TABLE, words(query), direction(2), limit=10)
    assert list(recall.keyword) == [2]
    assert recall.keyword[2] > 0
    assert next(iter(recall.vector)) == 2
    assert recall.vector[2] == pytest.approx(1, abs=NEAR)


def test_rarer_words_and_shorter_texts_come_first(engine: Engine) -> None:
    texts = {1: "common word", 2: "common rare", 3: "common word and many other things beside it", 4: "common 词语"}
    engine.write(TABLE, MODEL, batch(texts))
    recall = engine.recall(TABLE, words("common rare"), None, limit=10)
    assert list(recall.keyword) == [2, 1, 4, 3] or list(recall.keyword) == [2, 4, 1, 3]
    assert list(recall.keyword.values()) == sorted(recall.keyword.values(), reverse=True)
    assert recall.keyword[1] > recall.keyword[3]


def test_either_leg_may_be_left_out(engine: Engine) -> None:
    engine.write(TABLE, MODEL, batch({1: "cat", 2: "dog"}))
    alone = engine.recall(TABLE, words("cat"), None, limit=10)
    assert (list(alone.keyword), alone.vector, alone.vector_also) == ([1], {}, {})
    blind = engine.recall(TABLE, None, direction(2), limit=1)
    assert (blind.keyword, list(blind.vector), blind.keyword_also) == ({}, [2], {})
    for nothing in (None, Words(), Words(none_of=("cat",))):
        recall = engine.recall(TABLE, nothing, direction(2), limit=1)
        assert (recall.keyword, list(recall.vector), recall.keyword_also) == ({}, [2], {})


def test_what_only_one_leg_found_has_the_score_of_the_other(engine: Engine) -> None:
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
        assert cosine == pytest.approx(whole.vector[id], abs=NEAR)


def test_the_best_of_each_leg_are_recalled(engine: Engine) -> None:
    texts = {id: f"cat {'padding ' * id}" for id in range(1, 40)}
    vectors = np.array([direction(0) * (40 - id) + direction(1) * id for id in texts])
    engine.write(TABLE, MODEL, batch(texts, vectors))
    recall = engine.recall(TABLE, words("cat"), direction(0), limit=5)
    assert list(recall.keyword) == [1, 2, 3, 4, 5]
    assert set(recall.vector) <= set(range(1, 8))  # neighbours may change places
    assert len(recall.vector) == 5
    assert list(recall.vector.values()) == sorted(recall.vector.values(), reverse=True)


def test_words_may_be_wanted_or_not_wanted(engine: Engine) -> None:
    texts = {1: "red apple", 2: "green apple", 3: "red pear", 4: "红 苹果", 5: "red apple pie"}
    engine.write(TABLE, MODEL, batch(texts))

    def ids(*any_of: str, all_of: tuple[str, ...] = (), none_of: tuple[str, ...] = ()) -> set[int]:
        return set(engine.recall(TABLE, Words(any_of, all_of, none_of), None, limit=10).keyword)

    assert ids("red", "appl") == {1, 2, 3, 5}
    assert ids("red", "green", all_of=("appl",)) == {1, 2, 5}
    assert ids(all_of=("red", "appl")) == {1, 5}
    assert ids("green", all_of=("red",)) == {1, 3, 5}
    assert ids("red", "appl", none_of=("pie", "green")) == {1, 3}
    assert ids("苹果", "red", none_of=("appl",)) == {3, 4}
    assert ids("nowhere") == set()


def test_a_word_counts_once_however_often_it_is_asked_for(engine: Engine) -> None:
    engine.write(TABLE, MODEL, batch({1: "red apple", 2: "green pear"}))
    once = engine.recall(TABLE, Words(("red",)), None, limit=10).keyword
    for again in (Words(("red", "red")), Words(("red",), ("red",)), Words((), ("red",))):
        assert engine.recall(TABLE, again, None, limit=10).keyword == pytest.approx(once)


def test_the_beginning_of_a_word_counts_like_a_word(engine: Engine) -> None:
    texts = {1: "search", 2: "season", 3: "seldom", 4: "中文 搜索", 5: "arch"} | dict.fromkeys(range(6, 20), "other")
    engine.write(TABLE, MODEL, batch(texts))
    assert set(engine.recall(TABLE, Words(prefix="sea"), None, limit=10).keyword) == {1, 2}
    assert set(engine.recall(TABLE, Words(prefix="搜"), None, limit=10).keyword) == {4}
    both = engine.recall(TABLE, Words(("arch",), prefix="sea"), None, limit=10).keyword
    assert set(both) == {1, 2, 5}
    assert both[1] == pytest.approx(both[2], rel=1e-4)
    assert engine.recall(TABLE, Words(prefix="zz"), None, limit=10).keyword == {}
    assert set(engine.recall(TABLE, Words(prefix="zz", stems=("arch", "none")), None, limit=10).keyword) == {5}
    together = engine.recall(TABLE, Words(prefix="sea", stems=("arch",)), None, limit=10).keyword
    assert together == pytest.approx(dict.fromkeys((1, 2, 5), together[1]), rel=1e-4)
    assert set(engine.recall(TABLE, Words(prefix="sea", none_of=("season",)), None, limit=10).keyword) == {1}


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


@pytest.mark.parametrize(
    ("within", "expected"),
    [
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
    ],
)
def test_a_query_sees_only_what_it_may(engine: Engine, within: Within, expected: set[int]) -> None:
    texts = {id: "cat " + "padding " * id for id in SOURCES}
    vectors = np.array([direction(0, id) for id in texts])
    engine.write(TABLE, MODEL, batch(texts, vectors, list(SOURCES.values())))
    recall = engine.recall(TABLE, words("cat"), direction(0), limit=100, within=within)
    assert set(recall.keyword) == expected
    assert set(recall.vector) == expected
    everything = engine.recall(TABLE, words("cat"), direction(0), limit=100)
    assert recall.keyword == pytest.approx({id: everything.keyword[id] for id in expected})
    few = engine.recall(TABLE, words("cat"), direction(0), limit=2, within=within)
    assert {*few.keyword, *few.vector, *few.keyword_also, *few.vector_also} <= expected


def test_a_chunk_takes_the_place_of_the_one_with_its_id(engine: Engine) -> None:
    engine.write(TABLE, MODEL, batch({1: "old words", 2: "others"}))
    engine.write(TABLE, MODEL, batch({1: "新的词"}, np.array([direction(9)]), [Source(None, "/new", 1, 0, 3)]))
    assert found(engine, "old") == []
    assert found(engine, "新的") == [1]
    assert near(engine, direction(1)) == []
    assert near(engine, direction(9)) == [1]
    assert found(engine, "新的", within=Within("/new")) == near(engine, direction(9), within=Within("/new")) == [1]
    assert found(engine, "新的", within=Within("/1")) == near(engine, direction(9), within=Within("/1")) == []
    assert engine.ids(TABLE).tolist() == [1, 2]


def test_of_two_chunks_with_one_id_in_a_batch_the_last_counts(engine: Engine) -> None:
    source = Source(None, "/1", 300, 50, 5)
    vectors = np.array([direction(1), direction(2)])
    engine.write(TABLE, MODEL, Batch([5, 5], ["a", "b"], [source, source], ["first", "second"], vectors))
    assert engine.ids(TABLE).tolist() == [5]
    assert found(engine, "first") == []
    assert found(engine, "second") == [5]
    assert near(engine, direction(2)) == [5]
    assert near(engine, direction(1)) == []


def test_what_is_deleted_is_gone_from_both_legs(engine: Engine) -> None:
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


def test_a_vector_of_zeros_is_never_a_hit(engine: Engine) -> None:
    engine.write(TABLE, MODEL, batch({1: "cat", 2: "cat"}, np.array([direction(1), direction()])))
    recall = engine.recall(TABLE, words("cat"), direction(1), limit=10)
    assert set(recall.keyword) == {1, 2}
    assert set(recall.vector) == {1}
    assert not recall.vector_also
    assert not engine.recall(TABLE, None, direction(), limit=10).vector
    assert (engine.status(TABLE).chunks, engine.status(TABLE).vectors) == (2, 1)


def test_a_chunk_whose_vector_is_given_up_is_found_by_its_words_alone(reopen: Reopen) -> None:
    engine = reopen()
    texts = {1: "a cat", 2: "一只猫 cat", 3: "a cat and a dog", 4: "nothing known"}
    vectors = np.array([direction(1), direction(2), direction(3), np.zeros(DIMENSION, np.float32)])
    engine.write(TABLE, "f", batch(texts, vectors))
    engine.evict(TABLE, [2, 4, 99])  # one has none, and one is not there
    engine.evict(TABLE, [2])

    def check(engine: Engine) -> None:
        assert engine.vector_ids(TABLE).tolist() == [1, 3]
        assert engine.ids(TABLE).tolist() == [1, 2, 3, 4]
        assert (engine.status(TABLE).vectors, engine.status(TABLE).evicted) == (2, 1)
        assert [near(engine, direction(axis)) for axis in (1, 2, 3)] == [[1], [], [3]]
        assert sorted(found(engine, "cat")) == [1, 2, 3]
        recall = engine.recall(TABLE, words("猫"), direction(1), limit=10)
        assert (list(recall.keyword), recall.vector_also) == ([2], {})

    check(engine)
    engine = reopen()
    check(engine)
    engine.write(TABLE, "f", batch({2: "一只猫 cat"}, np.array([direction(2)])))
    assert (near(engine, direction(2)), engine.status(TABLE).evicted) == ([2], 0)
    engine.delete(TABLE, [1, 2, 3, 4])
    assert engine.vector_ids(TABLE).tolist() == []


def test_the_status_tells_what_a_namespace_holds(engine: Engine) -> None:
    engine.write(TABLE, MODEL, batch({1: "cat", 2: "dog"}))
    status = engine.status(TABLE)
    assert (status.chunks, status.vectors, status.fingerprint, status.dimension) == (2, 2, MODEL, DIMENSION)
    assert status.bytes > 0


def test_namespaces_do_not_know_one_another(engine: Engine) -> None:
    for namespace in (TABLE, OTHER, DOCUMENTS, NEXT_PROJECT):
        engine.write(namespace, MODEL, batch({1: f"cat of {namespace}"}))
    engine.write(OTHER, MODEL, batch({2: "dog"}))
    assert engine.namespaces(1) == sorted([TABLE, OTHER, DOCUMENTS])
    assert engine.namespaces(2) == [NEXT_PROJECT]
    assert found(engine, "dog") == []
    engine.drop(OTHER)
    assert engine.namespaces(1) == sorted([TABLE, DOCUMENTS])
    assert engine.ids(OTHER).tolist() == []
    engine.write(OTHER, NEXT_MODEL, batch({3: "new"}))
    assert engine.ids(OTHER).tolist() == [3]
    engine.drop_project(1)
    assert engine.namespaces(1) == []
    assert found(engine, "cat") == []
    assert found(engine, "cat", NEXT_PROJECT) == [1]


def test_everything_is_there_again_when_the_engine_is_opened_again(reopen: Reopen) -> None:
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


def test_a_query_vector_of_another_length_is_told_from_other_mistakes(engine: Engine) -> None:
    engine.write(TABLE, MODEL, batch({1: "猫 cat"}))
    for length in (1, DIMENSION - 1, DIMENSION + 1):
        with pytest.raises(Misfit):
            engine.recall(TABLE, words("cat"), np.ones(length, np.float32), limit=10)
    assert found(engine, "cat") == near(engine, direction(1)) == [1]


def test_a_build_takes_the_place_of_what_was_there(reopen: Reopen) -> None:
    engine = reopen()
    engine.write(TABLE, MODEL, batch({1: "old cat", 2: "old dog"}))
    building = engine.build(TABLE, NEXT_MODEL, DIMENSION)
    building.write(batch({2: "new dog", 3: "新的 猫"}))
    building.write(batch({4: "new bird"}))
    assert found(engine, "new") == []
    assert engine.status(TABLE).fingerprint == MODEL
    building.switch()
    assert set(found(engine, "new")) == {2, 4}
    assert found(engine, "old") == []
    assert engine.status(TABLE).fingerprint == NEXT_MODEL
    assert reopen().ids(TABLE).tolist() == [2, 3, 4]


def test_a_build_may_be_empty_or_begin_a_namespace(reopen: Reopen) -> None:
    engine = reopen()
    engine.build(TABLE, MODEL, DIMENSION).switch()
    assert engine.ids(TABLE).tolist() == []
    assert engine.status(TABLE).fingerprint == MODEL
    assert reopen().recall(TABLE, words("cat"), direction(1), limit=3).keyword == {}
    engine = reopen()
    engine.write(TABLE, MODEL, batch({1: "cat"}))
    assert found(engine, "cat") == [1]


def test_what_changes_during_a_build_reaches_both(reopen: Reopen) -> None:
    engine = reopen()
    engine.write(TABLE, MODEL, batch({1: "old one", 2: "old two", 3: "old three"}))
    building = engine.build(TABLE, MODEL, DIMENSION)
    building.write(batch({1: "built one"}))
    engine.write(TABLE, MODEL, batch({1: "live one", 2: "live two", 9: "live nine"}))
    engine.delete(TABLE, [3])
    assert set(found(engine, "live")) == {1, 2, 9}
    assert found(engine, "old") == []
    building.write(batch({2: "built two", 3: "built three", 4: "built four"}))
    assert set(found(engine, "live")) == {1, 2, 9}
    building.switch()
    assert set(found(engine, "live")) == {1, 2, 9}
    assert found(engine, "built") == [4]
    assert reopen().ids(TABLE).tolist() == [1, 2, 4, 9]


def test_while_another_embedder_moves_in_new_chunks_are_found_by_their_words(engine: Engine) -> None:
    engine.write(TABLE, MODEL, batch({1: "cat"}))
    building = engine.build(TABLE, NEXT_MODEL, 8)
    later = batch({2: "cat later"}, np.ones((1, 8), np.float32))
    engine.write(TABLE, NEXT_MODEL, later)
    with pytest.raises(ValueError, match="model"):
        engine.write(TABLE, MODEL, batch({3: "cat"}))
    recall = engine.recall(TABLE, words("cat"), direction(1), limit=10)
    assert set(recall.keyword) == {1, 2}
    assert set(recall.vector) == {1}
    building.switch()
    recall = engine.recall(TABLE, words("cat"), np.ones(8, np.float32), limit=10)
    assert set(recall.keyword) == set(recall.vector) == {2}


def test_an_abandoned_build_leaves_everything_as_it_was(reopen: Reopen) -> None:
    engine = reopen()
    engine.write(TABLE, MODEL, batch({1: "cat"}))
    building = engine.build(TABLE, NEXT_MODEL, DIMENSION)
    building.write(batch({2: "cat"}))
    building.abandon()
    building.abandon()
    with pytest.raises(Abandoned):
        building.write(batch({3: "cat"}))
    with pytest.raises(Abandoned):
        building.switch()
    engine.write(TABLE, MODEL, batch({4: "cat"}))
    assert reopen().ids(TABLE).tolist() == [1, 4]


@pytest.mark.parametrize("end", ["another build", "drop", "switched"])
def test_a_build_ends_when_it_is_no_longer_wanted(engine: Engine, end: str) -> None:
    engine.write(TABLE, MODEL, batch({1: "cat"}))
    building = engine.build(TABLE, MODEL, DIMENSION)
    building.write(batch({2: "cat"}))
    if end == "another build":
        engine.build(TABLE, MODEL, DIMENSION).switch()
    elif end == "drop":
        engine.drop(TABLE)
    else:
        building.switch()
    expected = [2] if end == "switched" else []
    with pytest.raises(Abandoned):
        building.switch()
    with pytest.raises(Abandoned):
        building.write(batch({3: "cat"}))
    assert engine.ids(TABLE).tolist() == expected


def test_work_that_is_no_longer_wanted_stops(engine: Engine) -> None:
    class Enough(Exception):
        pass

    def stop() -> None:
        raise Enough

    engine.write(TABLE, MODEL, batch({1: "cat"}))
    with pytest.raises(Enough):
        engine.recall(TABLE, words("cat"), direction(1), limit=10, stop=stop)
    assert found(engine, "cat") == [1]


def test_matches_are_counted_and_scored_as_they_are_recalled(engine: Engine) -> None:
    assert engine.count(TABLE, words("cat")) == 0
    assert engine.scores(TABLE, words("cat"), [1]) == {}
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
    scored = engine.scores(DOCUMENTS, words("dog"), [*recalled, 3, 999])
    assert scored == pytest.approx(dict(recalled))
    engine.delete(DOCUMENTS, [1, 2])
    assert engine.count(DOCUMENTS, words("dog")) == 24


def test_vectors_are_counted_and_compared_as_they_are_recalled(engine: Engine) -> None:
    assert engine.count(DOCUMENTS, None) == 0
    assert engine.cosines(DOCUMENTS, direction(1), [1]) == {}
    texts = dict.fromkeys(range(1, 40), "cat")
    vectors = np.array([direction(id % 5) * (id != 7) for id in texts])
    engine.write(DOCUMENTS, MODEL, batch(texts, vectors, sources=[Source(document_id=id % 2) for id in texts]))
    engine.evict(DOCUMENTS, [9])
    within = Within(document_ids=frozenset({1}))
    assert (engine.count(DOCUMENTS, None), engine.count(DOCUMENTS, None, within)) == (37, 18)
    recalled = engine.recall(DOCUMENTS, None, direction(3), limit=100).vector
    assert engine.cosines(DOCUMENTS, direction(3), [*recalled, 7, 9, 999]) == pytest.approx(dict(recalled))


def test_what_is_looked_for_together_comes_first_whatever_its_score(engine: Engine) -> None:
    texts = dict.fromkeys(range(1, 30), "harbour harbour harbour") | dict.fromkeys(range(30, 60), "keeper keeper")
    texts |= {60: "harbour keeper " + "and much else " * 40, 61: "harbour lighthouse"}
    engine.write(DOCUMENTS, MODEL, batch(texts, sources=[Source(document_id=id % 2) for id in texts]))
    both = query_terms("harbour keeper")
    asked = Words(any_of=both, together=both)
    for vector in (None, direction(3)):
        recall = engine.recall(DOCUMENTS, asked, vector, limit=10)
        assert (next(iter(recall.keyword)), len(recall.keyword)) == (60, 10)
        assert (recall.full, recall.more_full) == ({60}, False)
        alone = engine.recall(DOCUMENTS, replace(asked, together=()), vector, limit=100).keyword
        assert recall.keyword == pytest.approx({id: alone[id] for id in recall.keyword})
        others = engine.recall(DOCUMENTS, asked, vector, limit=10, within=Within(document_ids=frozenset({1})))
        assert (others.full, others.more_full) == (set(), False)


def test_of_many_that_have_all_others_may_have_it_too(engine: Engine) -> None:
    engine.write(TABLE, MODEL, batch(dict.fromkeys(range(1, 30), "harbour keeper") | {30: "harbour"}))
    both = query_terms("harbour keeper")
    recall = engine.recall(TABLE, Words(any_of=both, together=both), direction(20), limit=10)
    assert recall.more_full
    assert recall.full == {id for id in recall.keyword.keys() | recall.vector.keys() if id != 30}


@pytest.mark.parametrize(("typed", "full"), [("keep", {1, 2}), ("keepers", {1, 2}), ("tow", {3}), ("x", set())])
def test_a_word_that_is_typed_belongs_to_what_is_looked_for_together(
    engine: Engine, typed: str, full: set[int]
) -> None:
    engine.write(TABLE, MODEL, batch({1: "old keeper", 2: "the old keepers", 3: "old tower", 4: "keeper", 5: "old"}))
    asked = Words(any_of=query_terms(f"old {typed}"), prefix=typed, together=("old",))
    assert engine.recall(TABLE, asked, None, limit=10).full == full


def test_a_recall_tells_an_empty_index_from_none(engine: Engine) -> None:
    assert not engine.recall(TABLE, words("cat"), None, limit=10).is_there
    engine.write(TABLE, MODEL, batch({1: "dog"}))
    assert engine.recall(TABLE, words("cat"), None, limit=10).is_there
    engine.drop(TABLE)
    assert not engine.recall(TABLE, words("cat"), direction(1), limit=10).is_there


def test_a_recall_tells_which_documents_chunks_were_cut_from(engine: Engine) -> None:
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
