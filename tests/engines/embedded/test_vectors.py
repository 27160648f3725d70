"""The vectors of a namespace, against a dictionary and numpy."""

import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from findspot import pointer
from findspot.engines.embedded import append_only, row_finder, scan
from findspot.engines.embedded.codes import Coder
from findspot.engines.embedded.manifest import Checksum
from findspot.engines.embedded.rows import FILES, Rows
from findspot.engines.protocol import Damaged, Source, Vector, Vectors, Within

DIMENSION = 64
CLOSE = 0.02  # what a code of 64 numbers may be off by, in cosine

POINTERS = ["", "/a", "/ab", "/a/b", "/a/b/0", "/a~1b", "/数据", "/数据/0", "/數據/0", "/é", "/e\u0301", "/👩‍👩‍👧/x"]
sources = st.builds(
    Source,
    document_id=st.none() | st.integers(1, 3),
    pointer=st.sampled_from(POINTERS),
    chunk_size=st.sampled_from([800, 1000]),
    chunk_overlap=st.sampled_from([80, 100]),
    length=st.integers(0, 3),
)
withins = st.builds(
    Within,
    pointer=st.sampled_from([*POINTERS, "/b"]),
    cut=st.none() | st.tuples(st.sampled_from([800, 1000]), st.sampled_from([80, 100])),
    least_length=st.integers(0, 4),
    document_ids=st.none() | st.frozensets(st.integers(0, 4)),
)
chunks = st.dictionaries(st.integers(1, 40), st.tuples(sources, st.integers(0, 60)), min_size=1, max_size=12)


def vector(seed: int) -> Vector:
    """One of few, so that some are equal; the seed 0 is a vector that is zero everywhere."""
    if seed == 0:
        return np.zeros(DIMENSION, np.float32)
    numbers: Vector = np.random.default_rng(seed).standard_normal(DIMENSION).astype(np.float32)
    numbers /= np.linalg.norm(numbers)
    return numbers


def vectors(count: int, dimension: int = DIMENSION, seed: int = 1) -> Vectors:
    """Vectors in clusters, as those of texts are."""
    random = np.random.default_rng(seed)
    centres = random.standard_normal((max(count // 100, 1), dimension))
    numbers = centres[random.integers(0, len(centres), count)] + random.standard_normal((count, dimension))
    numbers /= np.linalg.norm(numbers, axis=1, keepdims=True)
    return numbers.astype(np.float32)


def passes(source: Source, within: Within) -> bool:
    return (
        pointer.holds(within.pointer, source.pointer)
        and within.cut in (None, (source.chunk_size, source.chunk_overlap))
        and source.length >= within.least_length
        and (within.document_ids is None or source.document_id in within.document_ids)
    )


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few rows make a part, so that there are many parts."""
    monkeypatch.setattr(scan, "MIN_PART", 8)
    monkeypatch.setattr(scan, "MAX_PART", 32)
    monkeypatch.setattr(scan, "SLICE", 4)
    monkeypatch.setattr(row_finder, "MAX_UNSORTED", 8)


@pytest.fixture
def rows(tmp_path: Path) -> Rows:
    """Fifty chunks, of which five were replaced and five deleted."""
    rows = Rows.create(tmp_path, DIMENSION)
    rows.append(range(50), [Source(pointer=f"/数据/{each % 7}") for each in range(50)], vectors(50))
    rows.append(range(5), [Source(pointer="/neu")] * 5, vectors(5, seed=2))
    rows.delete([*range(10, 15), 1000])
    return rows


def state(rows: Rows) -> object:
    """All that a reader can see, exactly."""
    view, query = rows.view(), vector(1)
    masks = [view.mask(Within(pointer=each)).tolist() for each in ("", "/数据", "/neu")]
    return rows.alive, rows.dead, view.ids().tolist(), view.cosines(query, range(60)), masks, rows.checksums()


# ── everything that can happen to rows ──


class Everything(RuleBasedStateMachine):
    """Any order of appends, deletions, compactions, killed processes and openings."""

    def __init__(self) -> None:
        super().__init__()
        self.home = Path(tempfile.mkdtemp())
        self.kept: dict[int, tuple[Source, int]] = {}
        self.folders = 0

    def folder(self) -> Path:
        self.folders += 1
        path = self.home / str(self.folders)
        path.mkdir()
        return path

    def teardown(self) -> None:
        shutil.rmtree(self.home)

    @initialize()
    def begin(self) -> None:
        self.rows = Rows.create(self.folder(), DIMENSION)

    @rule(batch=chunks)
    def append(self, batch: dict[int, tuple[Source, int]]) -> None:
        numbers = np.stack([vector(seed) for _, seed in batch.values()])
        self.rows.append(list(batch), [source for source, _ in batch.values()], numbers)
        self.kept |= batch

    @rule(ids=st.lists(st.integers(1, 45), max_size=10))
    def delete(self, ids: list[int]) -> None:
        self.rows.delete(ids)
        for each in ids:
            self.kept.pop(each, None)

    @rule()
    def compact(self) -> None:
        self.rows = self.rows.compacted(self.folder())
        assert self.rows.dead == 0

    @rule(left=st.lists(st.sampled_from(FILES)))
    def open(self, left: list[str]) -> None:
        """After a process that was killed while it wrote more to some of the files."""
        for name in left:
            with (self.rows.folder / name).open("ab") as file:
                file.write(b"half a thing")
        self.rows = Rows.open(self.rows.folder, DIMENSION, self.rows.checksums())

    @rule(seed=st.integers(1, 60), limit=st.integers(1, 10), within=withins)
    def search(self, seed: int, limit: int, within: Within) -> None:
        query, view = vector(seed), self.rows.view()
        ids, cosines = view.nearest(query, limit, view.mask(within))
        exact = {
            each: float(vector(of) @ query) for each, (source, of) in self.kept.items() if of and passes(source, within)
        }
        best = sorted(exact.values(), reverse=True)[:limit]
        assert len(set(ids.tolist())) == len(ids)
        assert [exact[each] for each in ids.tolist()] == pytest.approx(cosines.tolist(), abs=CLOSE)
        assert cosines.tolist() == pytest.approx(best, abs=CLOSE)
        assert cosines.tolist() == sorted(cosines.tolist(), reverse=True)

    @rule(seed=st.integers(1, 60), wanted=st.lists(st.integers(0, 45)))
    def cosines(self, seed: int, wanted: list[int]) -> None:
        query = vector(seed)
        exact = {each: float(vector(of) @ query) for each, (_, of) in self.kept.items() if of and each in wanted}
        assert self.rows.view().cosines(query, wanted) == pytest.approx(exact, abs=CLOSE)

    @invariant()
    def what_is_kept_is_there(self) -> None:
        assert self.rows.view().ids().tolist() == sorted(self.kept)
        assert self.rows.alive == len(self.kept)
        self.rows.verify()


@pytest.mark.usefixtures("small_parts")
def test_whatever_happens_the_files_and_the_views_say_the_same() -> None:
    run_state_machine_as_test(Everything, settings=settings(max_examples=60, stateful_step_count=25))


# ── files ──


def test_what_was_written_is_opened(rows: Rows) -> None:
    assert state(Rows.open(rows.folder, DIMENSION, rows.checksums())) == state(rows)


def test_an_append_costs_only_the_new_bytes(rows: Rows, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[int] = []
    append = append_only.append

    def noting(path: Path, mark: Checksum, data: bytes) -> Checksum:
        written.append(len(data))
        return append(path, mark, data)

    monkeypatch.setattr(append_only, "append", noting)
    rows.append([100], [Source(pointer="/数据/0")], vectors(1))
    assert sum(written) < 2 * DIMENSION
    rows.verify()


@pytest.mark.parametrize("name", FILES)
def test_a_longer_file_is_cut_back(rows: Rows, name: str) -> None:
    before = state(rows)
    with (rows.folder / name).open("ab") as file:
        file.write(b"\0" * 100)
    opened = Rows.open(rows.folder, DIMENSION, rows.checksums())
    assert state(opened) == before
    assert {each: (rows.folder / each).stat().st_size for each in FILES} == {
        each: mark.size for each, mark in rows.checksums().items()
    }
    opened.verify()


@pytest.mark.parametrize("name", FILES)
def test_a_shorter_file_is_damage(rows: Rows, name: str) -> None:
    path = rows.folder / name
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(Damaged):
        Rows.open(rows.folder, DIMENSION, rows.checksums())
    with pytest.raises(Damaged):
        rows.verify()


@pytest.mark.parametrize("name", FILES)
def test_a_missing_file_is_damage(rows: Rows, name: str) -> None:
    (rows.folder / name).unlink()
    with pytest.raises(Damaged):
        Rows.open(rows.folder, DIMENSION, rows.checksums())
    with pytest.raises(Damaged):
        rows.verify()


@pytest.mark.parametrize("name", FILES)
def test_a_missing_mark_is_damage(rows: Rows, name: str) -> None:
    marks = rows.checksums()
    del marks[name]
    with pytest.raises(Damaged):
        Rows.open(rows.folder, DIMENSION, marks)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("place", [0, 3, -1])
@pytest.mark.parametrize("bit", [1, 128])
def test_a_changed_bit_is_damage(rows: Rows, name: str, place: int, bit: int) -> None:
    path = rows.folder / name
    data = bytearray(path.read_bytes())
    data[place] ^= bit
    path.write_bytes(data)
    with pytest.raises(Damaged):
        rows.verify()
    with pytest.raises(Damaged):
        Rows.open(rows.folder, DIMENSION, rows.checksums()).verify()


def test_another_dimension_is_damage(rows: Rows) -> None:
    with pytest.raises(Damaged):
        Rows.open(rows.folder, DIMENSION * 2, rows.checksums())


def killed_at_every_step(
    rows: Rows, copies: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[[], None]
) -> Iterator[Path]:
    """Copies of the folder as they would be after a kill before, within and after each write of a change."""
    append = append_only.append
    taken: list[Path] = []

    def copying(path: Path, mark: Checksum, data: bytes) -> Checksum:
        for part in (data[: len(data) // 2], data):
            append(path, mark, part)
            taken.append(shutil.copytree(rows.folder, copies / str(len(taken))))
        return append(path, mark, data)

    monkeypatch.setattr(append_only, "append", copying)
    change()
    monkeypatch.undo()
    yield from taken


@pytest.mark.parametrize("change", ["append", "delete"])
def test_a_process_killed_at_any_moment_leaves_what_was_marked(
    rows: Rows, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    changes: dict[str, Callable[[], None]] = {
        "append": lambda: rows.append(range(40, 60), [Source(pointer="/新")] * 20, vectors(20, seed=3)),
        "delete": lambda: rows.delete(range(20, 30)),
    }
    marks, before = rows.checksums(), state(rows)
    copies = list(killed_at_every_step(rows, tmp_path_factory.mktemp("copies"), monkeypatch, changes[change]))
    assert len(copies) == {"append": 8, "delete": 2}[change]
    assert state(rows) != before
    for copy in copies:
        opened = Rows.open(copy, DIMENSION, marks)
        assert state(opened) == before
        opened.verify()


@pytest.mark.parametrize("failing", range(4))
def test_a_full_disk_leaves_everything_as_it_was(rows: Rows, monkeypatch: pytest.MonkeyPatch, failing: int) -> None:
    append, calls, before = append_only.append, [0], state(rows)

    def full(path: Path, mark: Checksum, data: bytes) -> Checksum:
        calls[0] += 1
        if calls[0] > failing:
            append(path, mark, data[: len(data) // 2])
            raise OSError(28, "No space left on device")
        return append(path, mark, data)

    with monkeypatch.context() as patch:
        patch.setattr(append_only, "append", full)
        with pytest.raises(OSError, match="No space"):
            rows.append(range(3, 8), [Source(pointer="/别的")] * 5, vectors(5, seed=4))
    assert state(rows) == before
    rows.append(range(3, 8), [Source(pointer="/别的")] * 5, vectors(5, seed=4))
    rows.verify()
    assert state(Rows.open(rows.folder, DIMENSION, rows.checksums())) == state(rows)


def test_compaction_leaves_the_original_alone(rows: Rows, tmp_path_factory: pytest.TempPathFactory) -> None:
    before = state(rows)
    copy = rows.compacted(tmp_path_factory.mktemp("copy"))
    assert state(rows) == before
    assert (copy.alive, copy.dead) == (rows.alive, 0)
    assert copy.view().cosines(vector(1), range(60)) == rows.view().cosines(vector(1), range(60))
    assert copy.checksums()["codes"].size == copy.alive * DIMENSION


def test_compaction_drops_sources_that_nothing_was_cut_from(
    rows: Rows, tmp_path_factory: pytest.TempPathFactory
) -> None:
    rows.delete(range(5))
    copy = rows.compacted(tmp_path_factory.mktemp("copy"))
    assert b"/neu" in (rows.folder / "sources").read_bytes()
    assert b"/neu" not in (copy.folder / "sources").read_bytes()


# ── views ──


@pytest.mark.usefixtures("small_parts")
def test_a_view_never_changes(rows: Rows) -> None:
    view, query = rows.view(), vector(1)

    def seen() -> object:
        ids, cosines = view.nearest(query, 20)
        masked = view.mask(Within(pointer="/数据/1"))
        return view.ids().tolist(), ids.tolist(), cosines.tolist(), view.cosines(query, range(99)), masked.tolist()

    before = seen()
    rows.append(range(20, 90), [Source(pointer=f"/x/{each}") for each in range(70)], vectors(70, seed=5))
    rows.delete(range(20))
    rows.view()
    assert seen() == before


@pytest.mark.usefixtures("small_parts")
def test_readers_see_whole_states_while_rows_are_added(tmp_path: Path) -> None:
    rows = Rows.create(tmp_path, DIMENSION)
    rows.append([0], [Source()], vector(1)[np.newaxis])
    views, wrong, done = [rows.view()], [], threading.Event()

    def read() -> None:
        while not done.is_set():
            view = views[-1]
            ids, _ = view.nearest(vector(1), 1000)
            if sorted(ids.tolist()) != view.ids().tolist() or len(ids) % 7 != 1:
                wrong.append(ids)

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    for start in range(1, 700, 7):
        rows.append(range(start, start + 7), [Source(pointer=f"/{start}")] * 7, vectors(7, seed=start))
        views.append(rows.view())
    done.set()
    for reader in readers:
        reader.join()
    assert not wrong


def test_a_vector_that_is_zero_everywhere_is_kept_but_never_found(tmp_path: Path) -> None:
    rows = Rows.create(tmp_path, DIMENSION)
    rows.append([1, 2], [Source()] * 2, np.stack([np.zeros(DIMENSION, np.float32), -vector(1)]))
    view = rows.view()
    assert view.ids().tolist() == [1, 2]
    assert view.nearest(vector(1), 10)[0].tolist() == [2]
    assert view.cosines(vector(1), [1, 2]).keys() == {2}
    assert int(view.hits.sum()) == 1


def test_a_query_that_is_zero_everywhere_finds_nothing(rows: Rows) -> None:
    view, nothing = rows.view(), np.zeros(DIMENSION, np.float32)
    assert view.nearest(nothing, 10)[0].tolist() == []
    assert view.cosines(nothing, range(50)) == {}


def test_no_rows_at_all_hold_nothing(tmp_path: Path) -> None:
    view = Rows.create(tmp_path, DIMENSION).view()
    assert view.ids().tolist() == []
    assert view.nearest(vector(1), 10)[0].tolist() == []
    assert view.nearest(vector(1), 10, view.mask(Within(pointer="/a")))[0].tolist() == []
    assert view.cosines(vector(1), [1]) == {}


def test_appending_and_deleting_nothing_changes_nothing(rows: Rows) -> None:
    before = state(rows)
    rows.append([], [], np.empty((0, DIMENSION), np.float32))
    rows.delete([])
    assert state(rows) == before


def test_of_two_with_one_id_the_later_counts(tmp_path: Path) -> None:
    rows = Rows.create(tmp_path, DIMENSION)
    rows.append([1, 1], [Source(pointer="/früher"), Source(pointer="/später")], np.stack([vector(1), vector(2)]))
    view = rows.view()
    assert view.cosines(vector(2), [1])[1] == pytest.approx(1, abs=CLOSE)
    assert int(view.mask(Within(pointer="/später")).sum()) == 1
    assert int(view.mask(Within(pointer="/früher")).sum()) == 0


@pytest.mark.usefixtures("small_parts")
def test_stop_ends_a_search_between_slices(rows: Rows, monkeypatch: pytest.MonkeyPatch) -> None:
    class Enough(Exception):
        pass

    monkeypatch.setattr(scan, "CORES", 1)  # else another thread may do all the work before stop is asked

    for turns in (0, 1, 5):
        left = iter(range(turns))

        def stop(left: Iterator[int] = left) -> None:
            if next(left, None) is None:
                raise Enough

        with pytest.raises(Enough):
            rows.view().nearest(vector(1), 10, None, stop)
    assert len(rows.view().nearest(vector(1), 10)[0]) == 10


# ── codes ──


@given(st.integers(1, 300), st.integers(1, 99))
@settings(max_examples=40)
def test_codes_give_cosines_in_any_dimension(dimension: int, seed: int) -> None:
    numbers = np.random.default_rng(seed).standard_normal((5, dimension)).astype(np.float32)
    coder = Coder(dimension)
    query = coder.query(numbers[0])
    assert query is not None
    exact = numbers @ numbers[0] / (np.linalg.norm(numbers, axis=1) * np.linalg.norm(numbers[0]))
    products = (coder.codes(numbers).astype(np.float32) - 128) @ query.numbers
    # A number far out is cut off: that happens to one vector in hundreds.
    assert products * query.scale == pytest.approx(exact, abs=0.05)


def test_codes_are_the_same_everywhere() -> None:
    numbers = (np.arange(384, dtype=np.float32) % 7) - 3
    codes = Coder(384).codes(numbers[np.newaxis])[0].astype(int)
    # What was written on one machine is read on another; a product may differ there in its last digit.
    assert codes[:8] == pytest.approx([167, 105, 112, 144, 141, 103, 163, 115], abs=1)
    assert codes[-8:] == pytest.approx([121, 116, 112, 155, 135, 117, 100, 121], abs=1)


# ── many rows ──


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> tuple[Rows, Vectors]:
    """So many that signs are compared first: a part of 40,000 rows, one of 20,000, and some without signs."""
    rows, base = Rows.create(tmp_path_factory.mktemp("many"), 128), vectors(61_000, 128)
    base[::1000] = 0
    for start, end in ((0, 40_000), (40_000, 60_000), (60_000, 61_000)):
        ids = range(start, end)
        rows.append(
            ids, [Source(document_id=each % 1000, pointer=f"/{each // 30_500}") for each in ids], base[start:end]
        )
        rows.view()
    return rows, base


def recall(rows: Rows, base: Vectors, within: Within, keeps: Callable[[int], bool]) -> float:
    view, allowed = rows.view(), [each for each in range(len(base)) if each % 1000 and keeps(each)]
    mask, shares = view.mask(within), []
    for query in vectors(40, 128, seed=9) + base[1:41]:
        exact = np.argsort(-(base[allowed] @ query), kind="stable")[:10]
        ids, _ = view.nearest(query, 10, mask)
        assert set(ids.tolist()) <= set(allowed)
        shares.append(len({allowed[each] for each in exact} & set(ids.tolist())) / 10)
    return float(np.mean(shares))


def test_most_of_the_nearest_are_found_among_many(many: tuple[Rows, Vectors]) -> None:
    rows, base = many
    assert [part.signs is not None for part in rows.view().parts] == [True, True, False]
    assert recall(rows, base, Within(), lambda row: True) >= 0.95


@pytest.mark.parametrize("share", [900, 500, 100, 10, 1])
def test_a_filter_costs_no_hits(many: tuple[Rows, Vectors], share: int) -> None:
    rows, base = many
    within = Within(document_ids=frozenset(range(1, share + 1)))
    assert recall(rows, base, within, lambda row: 1 <= row % 1000 <= share) >= 0.95


def test_a_filter_that_keeps_only_what_is_far_costs_no_hits(many: tuple[Rows, Vectors]) -> None:
    rows, base = many
    assert recall(rows, base, Within(pointer="/1"), lambda row: row >= 30_500) >= 0.95


def test_a_vector_of_many_numbers_is_nearest_to_itself(tmp_path: Path) -> None:
    """The signs of all its numbers agree, which is the highest sum there can be."""
    rows, base = Rows.create(tmp_path, 3072), vectors(4500, 3072)
    rows.append(range(len(base)), [Source()] * len(base), base)
    view = rows.view()
    assert view.parts[0].signs is not None
    assert [view.nearest(each, 10)[0][0] for each in base[:50]] == list(range(50))


def test_dead_rows_take_no_places(many: tuple[Rows, Vectors], tmp_path: Path) -> None:
    """The same few texts, written again and again: all old versions are as near as the new one."""
    rows = Rows.create(tmp_path, 128)
    base = many[1][1:30_000]
    base = base[base.any(axis=1)]
    rows.append(range(len(base)), [Source()] * len(base), base)
    for _ in range(100):
        rows.append(range(100), [Source()] * 100, np.tile(base[7], (100, 1)))
    view = rows.view()
    assert view.parts[0].signs is not None
    ids, cosines = view.nearest(base[7], 200)
    assert len(ids) == 200
    assert set(range(100)) <= set(ids.tolist())
    exact = np.sort(base[100:] @ base[7])[::-1][:100]
    assert cosines[100:] == pytest.approx(exact, abs=CLOSE)
