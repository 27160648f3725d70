"""C functions are found by name, take whole arrays, and say what to do when they were not compiled."""

from ctypes import c_int64, c_void_p
from pathlib import Path

import numpy as np
import pytest

from findspot.native import address, function, library, points


def test_points_count_code_points_in_every_script() -> None:
    text = "a漢🎉e\u0301\ud800"
    assert points(text).tolist() == list(map(ord, text))


def test_a_function_reads_and_writes_the_arrays_of_its_caller() -> None:
    text, hashes = points("findspot 找到"), np.zeros(7, np.uint32)
    function("hash_grams", c_void_p, c_int64, c_void_p)(address(text), len(text), address(hashes))
    assert len(set(hashes.tolist())) == 7


def test_a_part_of_an_array_with_gaps_is_refused() -> None:
    with pytest.raises(AssertionError, match="whole arrays"):
        address(np.zeros(8, np.uint32)[::2])


def test_a_missing_library_says_what_to_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "FILE", tmp_path / "libfindspot.so")
    library.loaded.cache_clear()
    try:
        with pytest.raises(RuntimeError, match="make install"):
            function("hash_grams")
    finally:
        library.loaded.cache_clear()


def test_a_library_of_another_version_says_what_to_run() -> None:
    with pytest.raises(RuntimeError, match="make install"):
        function("a_function_of_the_next_version")
