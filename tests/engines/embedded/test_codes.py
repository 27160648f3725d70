"""Quantized vectors."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from findspot.engines.embedded.codes import Coder


@given(st.integers(1, 300), st.integers(1, 99))
@settings(max_examples=25)
def test_codes_give_cosines_in_any_dimension(dimension: int, seed: int) -> None:
    numbers = np.random.default_rng(seed).standard_normal((5, dimension)).astype(np.float32)
    coder = Coder(dimension)
    query = coder.query(numbers[0])
    assert query is not None
    exact = numbers @ numbers[0] / (np.linalg.norm(numbers, axis=1) * np.linalg.norm(numbers[0]))
    products = (coder.codes(numbers).astype(np.float32) - 128) @ query.numbers
    # The tolerance allows for outliers beyond the range of a code: one vector in hundreds has such a number.
    assert products * query.scale == pytest.approx(exact, abs=0.05)


def test_codes_are_the_same_on_every_machine() -> None:
    numbers = (np.arange(384, dtype=np.float32) % 7) - 3
    codes = Coder(384).codes(numbers[np.newaxis])[0].astype(int)
    # An index may move to another machine, where a product may differ in its last digit.
    assert codes[:8] == pytest.approx([167, 105, 112, 144, 141, 103, 163, 115], abs=1)
    assert codes[-8:] == pytest.approx([121, 116, 112, 155, 135, 117, 100, 121], abs=1)
