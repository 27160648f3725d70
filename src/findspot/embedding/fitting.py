"""Fits a calibration to pairs of texts that are known to be related or unrelated, and measures how good it is."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from findspot.embedding.calibration import RELATED, UNRELATED, Calibration

_STEPS = 100

Cosines = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Fit:
    """A calibration, and how well it separates the pairs it was fitted to."""

    calibration: Calibration
    auc: float  # the share of cases in which a related pair is closer than an unrelated one
    related_over: float  # the share of related pairs with a score of RELATED or more
    unrelated_under: float  # the share of unrelated pairs with a score below UNRELATED
    related: int
    unrelated: int


def fit(related: npt.ArrayLike, unrelated: npt.ArrayLike) -> Fit:
    """Fit by logistic regression. Related and unrelated pairs have equal weight, whatever their numbers."""
    near, far = np.asarray(related, np.float64), np.asarray(unrelated, np.float64)
    if not len(near) or not len(far):
        raise ValueError("a calibration needs related pairs as well as unrelated ones")
    area = auc(near, far)
    if area <= 0.5:
        raise ValueError("related pairs are no closer than unrelated ones; nothing can be fitted")
    calibration = _regress(near, far)
    over = float(np.mean(calibration.scores(near) >= RELATED))
    under = float(np.mean(calibration.scores(far) < UNRELATED))
    return Fit(calibration, area, over, under, len(near), len(far))


def auc(related: Cosines, unrelated: Cosines) -> float:
    """Return the area under the ROC curve. A tie counts half."""
    ordered = np.sort(unrelated)
    below = np.searchsorted(ordered, related, "left") + np.searchsorted(ordered, related, "right")
    return float(below.mean() / 2 / len(unrelated))


def roc(related: Cosines, unrelated: Cosines) -> tuple[Cosines, Cosines]:
    """Return the shares of unrelated and of related pairs that pass, for every threshold from high to low."""
    thresholds = np.sort(np.concatenate([related, unrelated]))[::-1]
    passed = [1 - np.searchsorted(np.sort(each), thresholds, "left") / len(each) for each in (unrelated, related)]
    return passed[0], passed[1]


def _regress(near: Cosines, far: Cosines) -> Calibration:
    """Newton's method. The targets are slightly inside 0 and 1 (Platt): with perfectly separated pairs, targets of 0
    and 1 would make the slope infinite."""
    cosines = np.concatenate([near, far])
    features = np.stack([cosines, np.ones_like(cosines)], axis=1)
    targets = np.repeat([(len(near) + 1) / (len(near) + 2), 1 / (len(far) + 2)], [len(near), len(far)])
    weights = np.repeat([0.5 / len(near), 0.5 / len(far)], [len(near), len(far)])
    parameters = np.zeros(2)
    for _ in range(_STEPS):
        scores = 1 / (1 + np.exp(-np.clip(features @ parameters, -50, 50)))
        slope = features.T @ (weights * (scores - targets))
        curve = (features * (weights * scores * (1 - scores))[:, None]).T @ features + 1e-9 * np.eye(2)
        step = np.linalg.solve(curve, slope)
        parameters -= step * min(1.0, 20 / max(np.abs(step).max(), 1e-12))  # limit the step where the curve is flat
        if np.abs(step).max() < 1e-9:
            break
    return Calibration(float(parameters[0]), float(parameters[1]))
