"""Turns cosines into scores from 0 to 1 that are comparable between embedders: 0.7 or more means "related"."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

RELATED = 0.7
UNRELATED = 0.3
SURELY_UNRELATED = 0.01


@dataclass(frozen=True)
class Calibration:
    """score = 1 / (1 + exp(−(a·cosine + b))). `a` is above zero, so that scores keep the order of cosines."""

    a: float
    b: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.a) and math.isfinite(self.b) and self.a > 0):
            raise ValueError("a calibration is two finite numbers a,b with a above zero")

    @classmethod
    def parse(cls, text: str) -> "Calibration":
        """Return the calibration of the text 'a,b'."""
        try:
            a, b = map(float, text.split(","))
        except ValueError:
            raise ValueError("a calibration is written as two numbers: a,b") from None
        return cls(a, b)

    def __str__(self) -> str:
        return f"{self.a:.4g},{self.b:.4g}"

    def score(self, cosine: float) -> float:
        # 700 keeps exp() from overflowing; the score is 0 to the last digit long before that
        return 1 / (1 + math.exp(min(700.0, -(self.a * cosine + self.b))))

    def scores(self, cosines: "npt.NDArray[np.floating]") -> "npt.NDArray[np.float32]":
        import numpy as np

        exponents = np.minimum(-(self.a * cosines.astype(np.float64) + self.b), 700)
        return (1 / (1 + np.exp(exponents))).astype(np.float32)

    def closeness(self, cosine: float) -> float:
        """Return the cosine on a linear scale from 0 (surely unrelated) to 1 (equal), for ranking.

        A score hardly differs between good and better matches: its curve is steep only around "related".
        """
        least = self._least
        return min(1.0, max(0.0, (cosine - least) / (1 - least)))

    @cached_property
    def _least(self) -> float:
        return self.cosine(SURELY_UNRELATED)

    def cosine(self, score: float) -> float:
        """Return the cosine that has this score."""
        return (math.log(score / (1 - score)) - self.b) / self.a
