"""Turns cosines into scores from 0 to 1 that are comparable between embedders: 0.7 or more means "related"."""

import itertools
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
    """A curve fitted on pairs, 1 / (1 + exp(−(a·cosine + b))), and the scores made of it.

    A score follows straight lines through the points where the curve is 0.3 and 0.7. The curve itself is nearly flat
    among good matches, so it would rank them worse. `a` is above zero, so that scores keep the order of cosines.
    """

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
        """Return the score of a cosine: 0 for a cosine of 0 or less, 0.3 and 0.7 as fitted, 1 for equal vectors."""
        first, middle, last = self._lines
        left, slope, low = first if cosine < middle[0] else middle if cosine < last[0] else last
        return min(1.0, max(0.0, low + slope * (cosine - left)))

    def scores(self, cosines: "npt.NDArray[np.floating]") -> "npt.NDArray[np.float64]":
        """Return the scores of many cosines, each to the bit as `score` returns it, in a tenth of the time."""
        import numpy as np

        _, middle, last = self._lines
        wide = cosines.astype(np.float64)
        left, slope, low = np.array(self._lines).T[:, (wide >= middle[0]).astype(np.intp) + (wide >= last[0])]
        found: npt.NDArray[np.float64] = np.clip(low + slope * (wide - left), 0.0, 1.0)
        return found

    @cached_property
    def _lines(self) -> list[tuple[float, float, float]]:
        """Return the three lines: where each begins, its slope, and the score there. A curve that lies outside 0…1
        keeps its own points."""
        low, high = self.cosine(UNRELATED), self.cosine(RELATED)
        first = 0.0 if low > 0 else min(-1.0, low - 1)
        last = 1.0 if high < 1 else 2 * high
        points = [(first, 0.0), (low, UNRELATED), (high, RELATED), (last, 1.0)]
        return [(x, (score - y) / (end - x), y) for (x, y), (end, score) in itertools.pairwise(points)]

    def closeness(self, cosine: float) -> float:
        """Return the cosine on a linear scale from 0 (surely unrelated) to 1 (equal), for ranking.

        Unlike a score it has no steep part around "related", so that the sum with keywords ranks better.
        """
        least = self._least
        return min(1.0, max(0.0, (cosine - least) / (1 - least)))

    def closenesses(self, cosines: "npt.NDArray[np.float64]") -> "npt.NDArray[np.float64]":
        """Return the closeness of many cosines, each to the bit as `closeness` returns it."""
        import numpy as np

        least = self._least
        found: npt.NDArray[np.float64] = np.clip((cosines - least) / (1 - least), 0.0, 1.0)
        return found

    @cached_property
    def _least(self) -> float:
        return self.cosine(SURELY_UNRELATED)

    def cosine(self, score: float) -> float:
        """Return the cosine where the fitted curve has this value."""
        return (math.log(score / (1 - score)) - self.b) / self.a
