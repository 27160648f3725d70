"""Snapshots of the vectors."""

import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from findspot.engines.embedded import scan
from findspot.engines.embedded.rows import Rows
from findspot.engines.protocol import Source, Within
from tests.engines.embedded.vectors import DIMENSION, TOLERANCE, cosines_of, nearest, vector, vectors


@pytest.mark.usefixtures("small_parts")
def test_a_view_never_changes(rows: Rows) -> None:
    view, query = rows.view(), vector(1)

    def seen() -> object:
        ids, cosines = nearest(view, query, 20)
        masked = view.mask(Within(pointer="/数据/1"))
        return view.ids().tolist(), ids.tolist(), cosines.tolist(), cosines_of(view, query, range(99)), masked.tolist()

    before = seen()
    rows.append(range(20, 90), [Source(pointer=f"/x/{each}") for each in range(70)], vectors(70, seed=5))
    rows.delete(range(20))
    rows.view()
    assert seen() == before


@pytest.mark.usefixtures("small_parts")
def test_readers_see_whole_batches_while_rows_are_added(tmp_path: Path) -> None:
    rows = Rows.create(tmp_path, DIMENSION)
    rows.append([0], [Source()], vector(1)[np.newaxis])
    views, wrong, done = [rows.view()], [], threading.Event()

    def read() -> None:
        while not done.is_set():
            view = views[-1]
            ids, _ = nearest(view, vector(1), 1000)
            if sorted(ids.tolist()) != view.ids().tolist() or len(ids) % 7 != 1:
                wrong.append(ids)

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for start in range(1, 350, 7):
        rows.append(range(start, start + 7), [Source(pointer=f"/{start}")] * 7, vectors(7, seed=start))
        views.append(rows.view())
    done.set()
    for reader in readers:
        reader.join()
    assert not wrong


def test_a_vector_of_zeros_is_stored_but_never_found(tmp_path: Path) -> None:
    rows = Rows.create(tmp_path, DIMENSION)
    rows.append([1, 2], [Source()] * 2, np.stack([np.zeros(DIMENSION, np.float32), -vector(1)]))
    view = rows.view()
    assert view.ids().tolist() == [1, 2]
    assert nearest(view, vector(1), 10)[0].tolist() == [2]
    assert cosines_of(view, vector(1), [1, 2]).keys() == {2}
    assert int(view.hits.sum()) == 1


def test_a_query_of_zeros_finds_nothing(rows: Rows) -> None:
    view, zeros = rows.view(), np.zeros(DIMENSION, np.float32)
    assert nearest(view, zeros, 10)[0].tolist() == []
    assert cosines_of(view, zeros, range(50)) == {}


def test_a_view_without_rows_is_empty(tmp_path: Path) -> None:
    view = Rows.create(tmp_path, DIMENSION).view()
    assert view.ids().tolist() == []
    assert nearest(view, vector(1), 10)[0].tolist() == []
    assert nearest(view, vector(1), 10, view.mask(Within(pointer="/a")))[0].tolist() == []
    assert cosines_of(view, vector(1), [1]) == {}


def test_of_two_rows_with_the_same_id_the_last_counts(tmp_path: Path) -> None:
    rows = Rows.create(tmp_path, DIMENSION)
    rows.append([1, 1], [Source(pointer="/früher"), Source(pointer="/später")], np.stack([vector(1), vector(2)]))
    view = rows.view()
    assert cosines_of(view, vector(2), [1])[1] == pytest.approx(1, abs=TOLERANCE)
    assert int(view.mask(Within(pointer="/später")).sum()) == 1
    assert int(view.mask(Within(pointer="/früher")).sum()) == 0


@pytest.mark.usefixtures("small_parts")
def test_stop_cancels_a_search_between_slices(rows: Rows, monkeypatch: pytest.MonkeyPatch) -> None:
    class Enough(Exception):
        pass

    monkeypatch.setattr(scan, "CORES", 1)  # otherwise another thread may do all the work before stop is called

    for calls in (0, 1, 5):
        left = iter(range(calls))

        def stop(left: Iterator[int] = left) -> None:
            if next(left, None) is None:
                raise Enough

        with pytest.raises(Enough):
            nearest(rows.view(), vector(1), 10, None, stop)
    assert len(nearest(rows.view(), vector(1), 10)[0]) == 10
