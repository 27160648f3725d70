"""From vectors to codes of one byte a number, which scan.py compares.

A fixed rotation spreads what a vector says evenly over its numbers, whatever the embedder. Then one scale fits all
vectors, and even the signs alone tell which ones are near.
"""

import hashlib
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from findspot.engines.protocol import Vector, Vectors

FORMAT = 1  # to be changed with whatever changes a code: codes of two formats cannot be compared

Codes: TypeAlias = npt.NDArray[np.uint8]  # a row for each vector; 128 stands for zero

_ZERO, _MOST = 128, 127
_REACH = 4.5  # what a code can say, in standard deviations of a number: 4 and 5 find no more
_ROUNDS = 2


@dataclass(frozen=True, slots=True)
class Query:
    """What is looked for: whole numbers from -127 to 127, and what a product with a code is worth as a cosine."""

    numbers: Vector
    worth: float


class Coder:
    """Makes codes of vectors of one dimension."""

    def __init__(self, dimension: int) -> None:
        self.dimension = dimension
        self._scale = np.float32(_MOST * np.sqrt(dimension) / _REACH)

    @cached_property
    def _rotation(self) -> "_Rotation":
        return _Rotation(self.dimension)

    def codes(self, vectors: Vectors) -> Codes:
        """The codes of vectors of any length but zero; a vector that is zero everywhere gets a code that is, too."""
        numbers = self._rotation(_unit(vectors))
        numbers *= self._scale
        np.rint(numbers, out=numbers)
        np.clip(numbers, -_MOST, _MOST, out=numbers)
        numbers += _ZERO
        return numbers.astype(np.uint8)

    def query(self, vector: Vector) -> Query | None:
        """The query of a vector, or None if it is zero everywhere: then nothing is near."""
        numbers = self._rotation(_unit(vector[np.newaxis]))[0]
        most = float(np.abs(numbers).max())
        if most == 0:
            return None
        return Query(np.rint(numbers * np.float32(_MOST / most)), most / _MOST / float(self._scale))


class _Rotation:
    """A product of random changes of sign and Hadamard matrices: made of a name and not of a matrix, it is the same on
    every machine and takes no room. A Hadamard matrix has a power of two rows, so it turns the first and the last
    numbers by turns."""

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
    """The orthogonal matrix of this many rows, a power of two, in which all numbers are equal but for their sign."""
    matrix = np.ones((1, 1), np.float32)
    while len(matrix) < size:
        matrix = np.block([[matrix, matrix], [matrix, -matrix]])
    return matrix / np.float32(np.sqrt(size))
