"""The vector files: what is written can be read again, and damage is detected."""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from findspot.engines.embedded import append_only
from findspot.engines.embedded.manifest import Checksum
from findspot.engines.embedded.rows import FILES, Rows
from findspot.engines.protocol import Damaged, Source, Within
from tests.engines.embedded.vectors import DIMENSION, TOLERANCE, cosines_of, nearest, passes, vector, vectors

POINTERS = ["", "/a", "/ab", "/a/b", "/a/b/0", "/a~1b", "/数据", "/数据/0", "/數據/0", "/é", "/e\u0301", "/👩‍👩‍👧/x"]
sources = st.builds(
    Source,
    document_id=st.none() | st.integers(1, 3),
    pointer=st.sampled_from(POINTERS),
    chunk_size=st.sampled_from([800, 1000]),
    chunk_overlap=st.sampled_from([80, 100]),
    length=st.integers(0, 3),
)
filters = st.builds(
    Within,
    pointer=st.sampled_from([*POINTERS, "/b"]),
    cut=st.none() | st.tuples(st.sampled_from([800, 1000]), st.sampled_from([80, 100])),
    least_length=st.integers(0, 4),
    document_ids=st.none() | st.frozensets(st.integers(0, 4)),
)
chunks = st.dictionaries(st.integers(1, 40), st.tuples(sources, st.integers(0, 60)), min_size=1, max_size=12)


def state(rows: Rows) -> object:
    """Everything that a reader can see."""
    view, query = rows.view(), vector(1)
    masks = [view.mask(Within(pointer=each)).tolist() for each in ("", "/数据", "/neu")]
    return rows.alive, rows.dead, view.ids().tolist(), cosines_of(view, query, range(60)), masks, rows.checksums()


# ── any order of operations ──


class AnyOrder(RuleBasedStateMachine):
    """Appends, deletes, compactions, killed processes and openings in any order, compared with a dictionary."""

    def __init__(self) -> None:
        super().__init__()
        self.home = Path(tempfile.mkdtemp())
        self.expected: dict[int, tuple[Source, int]] = {}
        self.folders = 0

    def folder(self) -> Path:
        self.folders += 1
        path = self.home / str(self.folders)
        path.mkdir()
        return path

    def teardown(self) -> None:
        shutil.rmtree(self.home)

    @initialize()
    def create(self) -> None:
        self.rows = Rows.create(self.folder(), DIMENSION)

    @rule(batch=chunks)
    def append(self, batch: dict[int, tuple[Source, int]]) -> None:
        numbers = np.stack([vector(seed) for _, seed in batch.values()])
        self.rows.append(list(batch), [source for source, _ in batch.values()], numbers)
        self.expected |= batch

    @rule(ids=st.lists(st.integers(1, 45), max_size=10))
    def delete(self, ids: list[int]) -> None:
        self.rows.delete(ids)
        for each in ids:
            self.expected.pop(each, None)

    @rule()
    def compact(self) -> None:
        self.rows = self.rows.compacted(self.folder())
        assert self.rows.dead == 0

    @rule(longer=st.lists(st.sampled_from(FILES)))
    def open_after_kill(self, longer: list[str]) -> None:
        """A killed process wrote more to some of the files."""
        for name in longer:
            with (self.rows.folder / name).open("ab") as file:
                file.write(b"incomplete")
        self.rows = Rows.open(self.rows.folder, DIMENSION, self.rows.checksums())

    @rule(seed=st.integers(1, 60), limit=st.integers(1, 10), within=filters)
    def search(self, seed: int, limit: int, within: Within) -> None:
        query, view = vector(seed), self.rows.view()
        ids, cosines = nearest(view, query, limit, view.mask(within))
        exact = {
            each: float(vector(of) @ query)
            for each, (source, of) in self.expected.items()
            if of and passes(source, within)
        }
        best = sorted(exact.values(), reverse=True)[:limit]
        assert len(set(ids.tolist())) == len(ids)
        assert [exact[each] for each in ids.tolist()] == pytest.approx(cosines.tolist(), abs=TOLERANCE)
        assert cosines.tolist() == pytest.approx(best, abs=TOLERANCE)
        assert cosines.tolist() == sorted(cosines.tolist(), reverse=True)

    @rule(seed=st.integers(1, 60), wanted=st.lists(st.integers(0, 45)))
    def cosines(self, seed: int, wanted: list[int]) -> None:
        query = vector(seed)
        exact = {each: float(vector(of) @ query) for each, (_, of) in self.expected.items() if of and each in wanted}
        assert cosines_of(self.rows.view(), query, wanted) == pytest.approx(exact, abs=TOLERANCE)

    @invariant()
    def rows_have_the_expected_ids(self) -> None:
        assert self.rows.view().ids().tolist() == sorted(self.expected)
        assert self.rows.alive == len(self.expected)
        self.rows.verify()


@pytest.mark.usefixtures("small_parts")
def test_after_any_order_of_operations_rows_agree_with_a_dictionary() -> None:
    run_state_machine_as_test(AnyOrder, settings=settings(max_examples=30, stateful_step_count=20))


# ── files ──


def test_written_rows_can_be_opened(rows: Rows) -> None:
    assert state(Rows.open(rows.folder, DIMENSION, rows.checksums())) == state(rows)


def test_an_append_writes_only_the_new_bytes(rows: Rows, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[int] = []
    append = append_only.append

    def counting(path: Path, checksum: Checksum, data: bytes) -> Checksum:
        written.append(len(data))
        return append(path, checksum, data)

    monkeypatch.setattr(append_only, "append", counting)
    rows.append([100], [Source(pointer="/数据/0")], vectors(1))
    assert sum(written) < 2 * DIMENSION
    rows.verify()


@pytest.mark.parametrize("name", FILES)
def test_bytes_after_the_valid_part_are_cut_off(rows: Rows, name: str) -> None:
    before = state(rows)
    with (rows.folder / name).open("ab") as file:
        file.write(b"\0" * 100)
    opened = Rows.open(rows.folder, DIMENSION, rows.checksums())
    assert state(opened) == before
    assert {each: (rows.folder / each).stat().st_size for each in FILES} == {
        each: checksum.size for each, checksum in rows.checksums().items()
    }
    opened.verify()


@pytest.mark.parametrize("name", FILES)
def test_a_short_or_missing_file_is_damage(rows: Rows, name: str) -> None:
    path = rows.folder / name
    path.write_bytes(path.read_bytes()[:-1])
    for _ in ("short", "missing"):
        with pytest.raises(Damaged):
            Rows.open(rows.folder, DIMENSION, rows.checksums())
        with pytest.raises(Damaged):
            rows.verify()
        path.unlink(missing_ok=True)


@pytest.mark.parametrize("name", FILES)
def test_a_missing_checksum_is_damage(rows: Rows, name: str) -> None:
    checksums = rows.checksums()
    del checksums[name]
    with pytest.raises(Damaged):
        Rows.open(rows.folder, DIMENSION, checksums)


@pytest.mark.parametrize("name", FILES)
def test_a_flipped_bit_is_damage(rows: Rows, name: str) -> None:
    path = rows.folder / name
    content = path.read_bytes()
    for position in (0, 3, -1):
        for bit in (1, 128):
            changed = bytearray(content)
            changed[position] ^= bit
            path.write_bytes(changed)
            with pytest.raises(Damaged):
                rows.verify()
            with pytest.raises(Damaged):
                Rows.open(rows.folder, DIMENSION, rows.checksums()).verify()


def test_another_dimension_is_damage(rows: Rows) -> None:
    with pytest.raises(Damaged):
        Rows.open(rows.folder, DIMENSION * 2, rows.checksums())


def copies_after_each_write(
    rows: Rows, copies: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[[], None]
) -> Iterator[Path]:
    """Copies of the folder as a kill in the middle of or after each write would leave it."""
    append = append_only.append
    taken: list[Path] = []

    def copying(path: Path, checksum: Checksum, data: bytes) -> Checksum:
        for part in (data[: len(data) // 2], data):
            append(path, checksum, part)
            taken.append(shutil.copytree(rows.folder, copies / str(len(taken))))
        return append(path, checksum, data)

    monkeypatch.setattr(append_only, "append", copying)
    change()
    monkeypatch.undo()
    yield from taken


@pytest.mark.parametrize("change", ["append", "delete"])
def test_a_process_killed_at_any_time_leaves_the_previous_state(
    rows: Rows, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    changes: dict[str, Callable[[], None]] = {
        "append": lambda: rows.append(range(40, 60), [Source(pointer="/新")] * 20, vectors(20, seed=3)),
        "delete": lambda: rows.delete(range(20, 30)),
    }
    checksums, before = rows.checksums(), state(rows)
    copies = list(copies_after_each_write(rows, tmp_path_factory.mktemp("copies"), monkeypatch, changes[change]))
    assert len(copies) == {"append": 8, "delete": 2}[change]
    assert state(rows) != before
    for copy in copies:
        opened = Rows.open(copy, DIMENSION, checksums)
        assert state(opened) == before
        opened.verify()


@pytest.mark.parametrize("failing", range(4))
def test_a_full_disk_changes_nothing(rows: Rows, monkeypatch: pytest.MonkeyPatch, failing: int) -> None:
    append, calls, before = append_only.append, [0], state(rows)

    def full(path: Path, checksum: Checksum, data: bytes) -> Checksum:
        calls[0] += 1
        if calls[0] > failing:
            append(path, checksum, data[: len(data) // 2])
            raise OSError(28, "No space left on device")
        return append(path, checksum, data)

    with monkeypatch.context() as patch:
        patch.setattr(append_only, "append", full)
        with pytest.raises(OSError, match="No space"):
            rows.append(range(3, 8), [Source(pointer="/别的")] * 5, vectors(5, seed=4))
    assert state(rows) == before
    rows.append(range(3, 8), [Source(pointer="/别的")] * 5, vectors(5, seed=4))
    rows.verify()
    assert state(Rows.open(rows.folder, DIMENSION, rows.checksums())) == state(rows)


def test_compaction_copies_the_living_rows_and_their_sources(
    rows: Rows, tmp_path_factory: pytest.TempPathFactory
) -> None:
    before = state(rows)
    copy = rows.compacted(tmp_path_factory.mktemp("copy"))
    assert state(rows) == before
    assert (copy.alive, copy.dead) == (rows.alive, 0)
    assert cosines_of(copy.view(), vector(1), range(60)) == cosines_of(rows.view(), vector(1), range(60))
    assert copy.checksums()["codes"].size == copy.alive * DIMENSION
    rows.delete(range(5))
    copy = rows.compacted(tmp_path_factory.mktemp("copy"))
    assert b"/neu" in (rows.folder / "sources").read_bytes()
    assert b"/neu" not in (copy.folder / "sources").read_bytes()


def test_appending_and_deleting_nothing_changes_nothing(rows: Rows) -> None:
    before = state(rows)
    rows.append([], [], np.empty((0, DIMENSION), np.float32))
    rows.delete([])
    assert state(rows) == before
