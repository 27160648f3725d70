"""From a cosine to a score of 0 to 1 that means the same for every embedder: 0.7 and more is "related"."""

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
    """score = 1 / (1 + exp(−(a·cosine + b))). It never changes an order, so `a` is above zero."""

    a: float
    b: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.a) and math.isfinite(self.b) and self.a > 0):
            raise ValueError("a calibration is two finite numbers a,b with a above zero")

    @classmethod
    def parse(cls, text: str) -> "Calibration":
        """Read 'a,b', as the setting is written."""
        try:
            a, b = map(float, text.split(","))
        except ValueError:
            raise ValueError("a calibration is written as two numbers: a,b") from None
        return cls(a, b)

    def __str__(self) -> str:
        return f"{self.a:.4g},{self.b:.4g}"

    def score(self, cosine: float) -> float:
        # the bound only keeps exp() from overflowing; the score is 0 or 1 to the last digit long before it
        return 1 / (1 + math.exp(min(700.0, -(self.a * cosine + self.b))))

    def scores(self, cosines: "npt.NDArray[np.floating]") -> "npt.NDArray[np.float32]":
        import numpy as np

        exponents = np.minimum(-(self.a * cosines.astype(np.float64) + self.b), 700)
        return (1 / (1 + np.exp(exponents))).astype(np.float32)

    def closeness(self, cosine: float) -> float:
        """Another scale for ranking, straight from 0 (surely unrelated) to 1 (the same): a score is steep where related
        and unrelated meet, and knows no difference between good and better."""
        least = self._least
        return min(1.0, max(0.0, (cosine - least) / (1 - least)))

    @cached_property
    def _least(self) -> float:
        return self.cosine(SURELY_UNRELATED)

    def cosine(self, score: float) -> float:
        """The cosine that gets this score."""
        return (math.log(score / (1 - score)) - self.b) / self.a
