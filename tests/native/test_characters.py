"""Texts become arrays of code points, and arrays become texts."""

import re

import numpy as np

from findspot.native import PLANE, encoded, first_plane, matching, points, text_of

TEXT = "a漢🎉e\u0301\ud800"


def test_points_count_code_points_in_every_script() -> None:
    assert points(TEXT).tolist() == list(map(ord, TEXT))


def test_points_become_the_same_text_again() -> None:
    assert text_of(points(TEXT)) == TEXT
    assert len(encoded(TEXT)) == 4 * len(TEXT)


def test_the_first_plane_has_every_character_at_its_code_point() -> None:
    assert first_plane() == "".join(map(chr, range(PLANE)))


def test_matching_characters_are_marked_by_code_point() -> None:
    found = matching("[b-d漢]+|語")
    assert np.flatnonzero(found).tolist() == [*map(ord, "bcd漢語")]
    assert np.array_equal(found, matching(re.compile("[b-d漢語]")))
