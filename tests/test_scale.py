"""The page on scale is what its command computes, and the simulation agrees with the arithmetic."""

import random
import statistics
from dataclasses import replace

import pytest
from bench import scale
from bench.scale_simulation import Latency, Places, percentile, search

FEW = 2_000  # searches


def test_the_page_is_what_the_command_computes() -> None:
    assert scale.PAGE.read_text(encoding="utf-8") == scale.page(), "run make bench-scale"
    assert scale.PLOT.exists()


def test_a_latency_has_the_published_percentiles() -> None:
    chance, published = random.Random(3), Latency(14, 17, 27)
    found = sorted(published(chance) for _ in range(20_000))
    assert [percentile(found, share) for share in (0.5, 0.9, 0.99)] == pytest.approx([14, 17, 27], rel=0.03)


def test_whoever_finds_no_free_place_waits() -> None:
    places = Places(2)
    assert [places.take(0, 10), places.take(0, 10), places.take(1, 10), places.take(30, 10)] == [10, 10, 20, 40]


@pytest.mark.parametrize("workers", [1, 3, 8])
@pytest.mark.parametrize("rate", [scale.FIRST_RATE, scale.REBUILD_RATE])
def test_indexing_takes_as_long_as_the_arithmetic_says(workers: int, rate: int) -> None:
    chunks, limit = 20_000_000, 4_000.0
    expected = scale.expected_hours(chunks, workers, rate, limit)
    assert scale.simulated_hours(chunks, workers, rate, limit) == pytest.approx(expected, rel=0.15)


def test_one_namespace_is_written_by_one_worker() -> None:
    hours = [scale.simulated_hours(1_000_000, workers, scale.FIRST_RATE, 4_000.0) for workers in (1, 8)]
    assert hours[0] == pytest.approx(hours[1], rel=0.01)


def test_the_engine_limits_what_a_namespace_takes() -> None:
    assert scale.simulated_hours(2_000_000, 4, scale.REBUILD_RATE, 1_000.0) * 3600 >= 2_000


def test_a_search_without_waiting_takes_the_sum_of_its_steps() -> None:
    plan = replace(scale.searches(0.1, "warm"), database=lambda _: 1.0, legs=[lambda _: 20.0])
    took = search(plan, FEW)
    usual = plan.before_ms + plan.after_ms + scale.DATABASE_TRIPS * 1 + 20
    assert [took[0], percentile(took, 0.75)] == pytest.approx([usual, usual])


def test_a_namespace_over_its_limit_makes_searches_wait() -> None:
    plan = replace(scale.searches(500, "warm", projects=1), legs=[lambda _: 100.0])
    most_per_second = plan.in_flight / 0.1
    assert plan.per_second > most_per_second
    took = search(plan, FEW)
    behind = FEW / most_per_second - FEW / plan.per_second
    assert took[-1] / 1000 == pytest.approx(behind, rel=0.2)


def test_a_hint_two_seconds_before_makes_the_first_search_warm() -> None:
    cold, hinted = (search(plan, FEW) for plan in (scale.searches(10, "cold"), scale.hinted(10, 2_000)))
    assert percentile(cold, 0.95) > scale.BUDGET_MS > percentile(hinted, 0.95)


def test_the_same_seed_gives_the_same_figures() -> None:
    plan = scale.searches(100, "warm")
    assert search(plan, FEW) == search(plan, FEW) != search(plan, FEW, seed=8)
    assert statistics.fmean(search(plan, FEW)) == pytest.approx(statistics.fmean(search(plan, FEW, seed=8)), rel=0.1)


def test_a_chunk_has_more_bytes_in_chinese_than_in_english() -> None:
    english, chinese = scale.chunk_bytes("en"), scale.chunk_bytes("zh")
    assert english.row < chinese.row
    assert chinese.stored(1536) - chinese.stored(384) == pytest.approx(2 * (1536 - 384))
