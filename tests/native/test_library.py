"""C functions are found by name, take whole arrays, and say what to do when they were not compiled."""

from ctypes import c_int64, c_void_p
from pathlib import Path

import numpy as np
import pytest

from findspot.native import address, function, library, points


def test_a_function_reads_and_writes_the_arrays_of_its_caller() -> None:
    text, hashes = points("findspot 找到"), np.zeros(7, np.uint32)
    function("hash_grams", c_void_p, c_int64, c_void_p)(address(text), len(text), address(hashes))
    assert len(set(hashes.tolist())) == 7


def test_a_part_of_an_array_with_gaps_is_refused() -> None:
    with pytest.raises(AssertionError, match="whole arrays"):
        address(np.zeros(8, np.uint32)[::2])


def test_a_missing_library_says_what_to_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "FOLDER", tmp_path)
    library.loaded.cache_clear()
    try:
        with pytest.raises(RuntimeError, match="make install"):
            function("hash_grams")
    finally:
        library.loaded.cache_clear()


@pytest.mark.parametrize("name", ["one.c", "one.h", "another.c"])
def test_a_change_of_any_source_asks_for_another_library(tmp_path: Path, name: str) -> None:
    (tmp_path / "one.c").write_text("int one;")
    (tmp_path / "one.h").write_text("")
    before = library.library_name(tmp_path)
    assert library.library_name(tmp_path) == before
    (tmp_path / name).write_text("int two;")
    assert library.library_name(tmp_path) != before


def test_a_function_that_the_library_lacks_says_what_to_run() -> None:
    with pytest.raises(RuntimeError, match="make install"):
        function("a_function_that_is_not_there")
