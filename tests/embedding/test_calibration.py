"""Calibrations: scores of cosines, fitting, and the command that fits one."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from findspot.embedding.calibration import Calibration
from findspot.embedding.fitting import auc, fit, roc
from findspot.runtime.embedders import open_embedder
from findspot.settings import Settings
from tests.cli.command import findspot

PAIRS = [
    ("how to cook rice", "Boil the rice in water for fifteen minutes."),
    ("when does the train leave", "The next train departs at nine from platform two."),
    ("reset a password", "Follow the link in the e-mail to choose a new password."),
    ("symptoms of the flu", "Influenza brings fever, cough and aching muscles."),
    ("怎样煮米饭", "把米洗净，加水，小火煮二十分钟。"),
    ("列车几点出发", "下一班列车九点从二站台开出。"),
    ("忘记密码怎么办", "点击邮件里的链接，重新设置密码。"),
    ("流感有什么症状", "流行性感冒会引起发烧、咳嗽和肌肉酸痛。"),
]


# ── the value ──


@given(st.floats(-1, 1), st.floats(-1, 1), st.floats(0.1, 1000), st.floats(-500, 500))
def test_a_score_is_between_0_and_1_and_keeps_the_order(one: float, two: float, a: float, b: float) -> None:
    calibration = Calibration(a, b)
    low, high = sorted((one, two))
    assert 0 <= calibration.score(low) <= calibration.score(high) <= 1
    both = np.array([one, two])
    assert calibration.scores(both).tolist() == [calibration.score(one), calibration.score(two)]
    assert calibration.closenesses(both).tolist() == [calibration.closeness(one), calibration.closeness(two)]


def test_cosine_is_the_inverse_of_score() -> None:
    calibration = Calibration(17.059, -4.574)
    assert calibration.cosine(0.7) == pytest.approx(0.318, abs=1e-3)
    assert calibration.score(calibration.cosine(0.3)) == pytest.approx(0.3)


def test_scores_follow_straight_lines_through_the_fitted_points() -> None:
    calibration = Calibration(17.059, -4.574)
    low, high = calibration.cosine(0.3), calibration.cosine(0.7)
    points = [(-1, 0), (0, 0), (low / 2, 0.15), (low, 0.3), ((low + high) / 2, 0.5), (high, 0.7), (1, 1)]
    for cosine, score in [*points, ((1 + high) / 2, 0.85)]:
        assert calibration.score(cosine) == pytest.approx(score, abs=1e-9)


def test_a_calibration_is_written_and_read() -> None:
    assert str(Calibration(17.059, -4.574)) == "17.06,-4.574"
    assert Calibration.parse(" 17.06 , -4.574") == Calibration(17.06, -4.574)


@pytest.mark.parametrize("wrong", ["", "1", "1,2,3", "a,b", "0,1", "-1,2", "nan,1", "1,inf"])
def test_a_malformed_calibration_is_refused(wrong: str) -> None:
    with pytest.raises(ValueError, match="calibration is"):
        Calibration.parse(wrong)


@pytest.mark.parametrize("wrong", ["17", "a,b", "-1,2", "1,2,3"])
def test_a_malformed_setting_is_refused(wrong: str) -> None:
    with pytest.raises(ValueError, match="two numbers a,b"):
        Settings(embedder_calibration=wrong)


def test_the_setting_is_used() -> None:
    assert open_embedder(Settings(embedder_calibration="12.5,-3")).calibration == Calibration(12.5, -3)


# ── the fit ──


def test_related_pairs_get_high_scores_and_unrelated_ones_low_scores() -> None:
    chance = np.random.default_rng(1)
    found = fit(chance.normal(0.5, 0.08, 2000), chance.normal(0.2, 0.08, 9000))
    assert found.auc > 0.98
    assert found.related_over > 0.9
    assert found.unrelated_under > 0.9
    assert found.calibration.cosine(0.5) == pytest.approx(0.35, abs=0.02)


def test_the_number_of_pairs_of_each_kind_does_not_change_the_fit() -> None:
    chance = np.random.default_rng(1)
    near, far = chance.normal(0.6, 0.1, 2000), chance.normal(0.3, 0.1, 2000)
    assert fit(near, far).calibration.cosine(0.5) == pytest.approx(
        fit(near, np.tile(far, 20)).calibration.cosine(0.5), abs=0.01
    )


def test_perfectly_separated_pairs_have_a_finite_fit() -> None:
    found = fit([0.8, 0.9, 0.85], [0.1, 0.2, 0.15])
    assert (found.auc, found.related_over, found.unrelated_under) == (1, 1, 1)
    assert math.isfinite(found.calibration.a)


@pytest.mark.parametrize(("near", "far"), [([], [0.1]), ([0.9], []), ([0.1, 0.2], [0.8, 0.9]), ([0.5], [0.5])])
def test_pairs_that_cannot_be_fitted_are_an_error(near: list[float], far: list[float]) -> None:
    with pytest.raises(ValueError, match=r"needs related pairs|no closer"):
        fit(near, far)


def test_the_area_under_the_curve_counts_ties_half() -> None:
    near, far = np.array([0.5, 0.9]), np.array([0.1, 0.5])
    assert auc(near, far) == 0.875
    false, true = roc(near, far)
    assert float(np.trapezoid(np.r_[0, true, 1], np.r_[0, false, 1])) == pytest.approx(0.875)


# ── the command ──


def pairs_file(folder: Path) -> Path:
    lines = [{"a": query, "b": passage, "related": True} for query, passage in PAIRS]
    lines += [
        {"a": PAIRS[i][0], "b": PAIRS[j][1], "related": False} for i in range(8) for j in range(8) if i % 4 != j % 4
    ]
    file = folder / "pairs.jsonl"
    file.write_text("\n".join(json.dumps(line, ensure_ascii=False) for line in lines), encoding="utf-8")
    return file


def test_calibrate_prints_the_fit_and_the_setting_to_use(tmp_path: Path) -> None:
    ended = findspot("calibrate", str(pairs_file(tmp_path)))
    assert (ended.code, ended.err) == (0, "")
    assert "8 related and 48 unrelated pairs" in ended.out
    assert "\n  FINDSPOT_EMBEDDER_CALIBRATION=" in ended.out
    found = findspot("calibrate", str(pairs_file(tmp_path)), "--json").json
    assert found["auc"] > 0.95
    assert Calibration(**found["calibration"]).a > 0
    assert Settings(embedder_calibration=found["setting"].split("=")[1])


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("nonsense", "line 1 is not JSON"),
        ('{"a": "x", "b": "y"}', "line 1 is not a pair"),
        ('{"a": "x", "b": " ", "related": true}', "line 1 is not a pair"),
        ('{"a": "x", "b": "y", "related": true}', "needs related pairs as well as unrelated ones"),
        ("", "needs related pairs"),
    ],
)
def test_calibrate_names_the_line_that_is_wrong(tmp_path: Path, line: str, message: str) -> None:
    file = tmp_path / "pairs.jsonl"
    file.write_text(line, encoding="utf-8")
    ended = findspot("calibrate", str(file))
    assert ended.code == 2
    assert message in ended.err


def test_calibrate_needs_a_file_that_exists(tmp_path: Path) -> None:
    ended = findspot("calibrate", str(tmp_path / "gone.jsonl"))
    assert ended.code == 2
    assert "cannot be read" in ended.err
