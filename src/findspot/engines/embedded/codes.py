"""Quantizes vectors to codes of one byte per number, which scan.py compares.

A fixed rotation spreads the information of a vector evenly over its numbers, whatever the embedder. After it, one scale
fits all vectors, and the signs alone already show which vectors are near.
"""

import hashlib
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from findspot.engines.protocol import Vector, Vectors

FORMAT = 1  # change this with anything that changes codes: codes of different formats cannot be compared

Codes: TypeAlias = npt.NDArray[np.uint8]  # one row per vector; 128 is zero
Numbers: TypeAlias = npt.NDArray[np.int16]

_ZERO, _MAX = 128, 127
_RANGE = 4.5  # range of a code in standard deviations of a number; 4 and 5 give no better recall
_ROUNDS = 2


@dataclass(frozen=True, slots=True)
class Query:
    """A quantized query: integers from -127 to 127, and the factor from a product with a code to a cosine."""

    numbers: Numbers
    scale: float


class Coder:
    """Quantizes vectors of one dimension."""

    def __init__(self, dimension: int) -> None:
        self.dimension = dimension
        self._scale = np.float32(_MAX * np.sqrt(dimension) / _RANGE)

    @cached_property
    def _rotation(self) -> "_Rotation":
        return _Rotation(self.dimension)

    def codes(self, vectors: Vectors) -> Codes:
        """Return the codes of vectors, which need not be normalized. A vector of zeros gets a code of zeros."""
        numbers = self._rotation(_unit(vectors))
        numbers *= self._scale
        np.rint(numbers, out=numbers)
        np.clip(numbers, -_MAX, _MAX, out=numbers)
        numbers += _ZERO
        return numbers.astype(np.uint8)

    def query(self, vector: Vector) -> Query | None:
        """Return the quantized query, or None for a vector of zeros, which is near nothing."""
        numbers = self._rotation(_unit(vector[np.newaxis]))[0]
        largest = float(np.abs(numbers).max())
        if largest == 0:
            return None
        rounded = np.rint(numbers * np.float32(_MAX / largest)).astype(np.int16)
        return Query(rounded, largest / _MAX / float(self._scale))


class _Rotation:
    """A product of sign changes and Hadamard matrices.

    The signs come from a hash, so the rotation is the same on every machine and needs no stored matrix. A Hadamard
    matrix has a power of two rows, so it is applied to the first and to the last numbers in turn.
    """

    def __init__(self, dimension: int) -> None:
        size = 1 << (dimension.bit_length() - 1)
        self._shape = 1 << (size.bit_length() - 1) // 2, 1 << size.bit_length() // 2
        starts = (0, dimension - size) if size < dimension else (0,)
        self._steps = [
            (_signs(dimension, f"{turn} {start}"), slice(start, start + size))
            for turn in range(_ROUNDS)
            for start in starts
        ]

    def __call__(self, vectors: Vectors) -> Vectors:
        turned = vectors.astype(np.float32)
        left, right = map(_hadamard, self._shape)
        for signs, part in self._steps:
            turned *= signs
            blocks = turned[:, part].reshape(-1, *self._shape)
            turned[:, part] = (left @ blocks @ right).reshape(len(turned), len(left) * len(right))
        return turned


def _unit(vectors: Vectors) -> Vectors:
    lengths: Vector = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
    lengths[lengths == 0] = 1
    return vectors / lengths[:, np.newaxis]


def _signs(count: int, name: str) -> Vector:
    bits = np.frombuffer(hashlib.shake_128(f"findspot rotation {name}".encode()).digest(-(-count // 8)), np.uint8)
    return 1 - 2 * np.unpackbits(bits, count=count).astype(np.float32)


@lru_cache
def _hadamard(size: int) -> Vectors:
    """Return the orthogonal Hadamard matrix of this size, a power of two. All its numbers have the same magnitude."""
    matrix = np.ones((1, 1), np.float32)
    while len(matrix) < size:
        matrix = np.block([[matrix, matrix], [matrix, -matrix]])
    return matrix / np.float32(np.sqrt(size))
