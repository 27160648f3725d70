"""A small discrete simulation of searches and of indexing on turbopuffer. The same seed gives the same figures."""

import bisect
import functools
import heapq
import itertools
import math
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

Sample = Callable[[random.Random], float]


@dataclass(frozen=True, slots=True)
class Latency:
    """Published percentiles of a latency in ms. Between them, and beyond the last, it grows exponentially."""

    p50: float
    p90: float
    p99: float

    def __call__(self, random: random.Random) -> float:
        """Return a random latency."""
        share = random.random()
        if share <= 0.5:  # nothing is published: assume that the fastest takes two thirds of the median
            return self.p50 * (2 / 3 + share * 2 / 3)
        low, high, begin, end = (0.5, 0.9, self.p50, self.p90) if share <= 0.9 else (0.9, 0.99, self.p90, self.p99)
        return begin * math.pow(end / begin, min(2.0, _depth(share, low, high)))

    @property
    def mean(self) -> float:
        return _mean(self)


@functools.cache
def _mean(latency: Latency) -> float:
    """Return the mean of many samples."""
    generator = random.Random(1)
    return sum(latency(generator) for _ in range(20_000)) / 20_000


def _depth(share: float, low: float, high: float) -> float:
    """Return how far a share is between two percentiles, in orders of magnitude of what is left above it."""
    return (math.log(1 - low) - math.log(1 - share)) / (math.log(1 - low) - math.log(1 - high))


class Places:
    """A queue with several places: whoever comes takes the place that is free first."""

    def __init__(self, count: int) -> None:
        self._free_at = [0.0] * count

    def take(self, now: float, duration: float) -> float:
        """Occupy a place from `now` on, or later if none is free. Return when the duration has passed."""
        end = max(now, self._free_at[0]) + duration
        heapq.heapreplace(self._free_at, end)
        return end


@dataclass(frozen=True, slots=True)
class Searches:
    """How searches arrive and what one of them does."""

    per_second: float
    processes: int
    namespaces: int
    before_ms: float  # processor time before the engine is asked, and after it has answered
    after_ms: float
    database: Sample
    database_trips: int
    legs: Sequence[Sample]  # of the engine, which runs them at the same time
    in_flight: int  # searches that the engine runs at once in a namespace


def search(searches: Searches, count: int, seed: int = 7) -> list[float]:
    """Return how long each of `count` searches takes in ms, sorted.

    Events are taken in the order of time, since a search that waits for the engine leaves its process to others.
    """
    chance = random.Random(seed)
    processors = [Places(1) for _ in range(searches.processes)]
    engines = [Places(searches.in_flight) for _ in range(searches.namespaces)]
    numbers, now, took = itertools.count(), 0.0, []
    events: list[tuple[float, int, Iterator[float]]] = []

    def steps(began: float) -> Iterator[float]:
        """Yield the time after each step of a search that begins now."""
        processor, engine = chance.choice(processors), chance.choice(engines)
        at = began
        for trip in range(searches.database_trips):
            yield (at := processor.take(at, searches.before_ms if trip == 0 else 0.0))
            yield (at := at + searches.database(chance))
            if trip == 0:
                yield (at := engine.take(at, max(leg(chance) for leg in searches.legs)))
        yield (at := processor.take(at, searches.after_ms))
        took.append(at - began)

    for _ in range(count):
        now += chance.expovariate(searches.per_second / 1000)
        heapq.heappush(events, (now, next(numbers), steps(now)))
    while events:
        _, _, one = heapq.heappop(events)
        if (then := next(one, None)) is not None:
            heapq.heappush(events, (then, next(numbers), one))
    return sorted(took)


@dataclass(frozen=True, slots=True)
class Indexing:
    """Work for index workers. A namespace has one writer at a time, and a worker writes several namespaces at once."""

    chunks: int
    namespaces: int
    workers: int
    batch: int
    worker_per_second: float  # chunks that the processors of one worker prepare
    at_once: int  # namespaces of one worker
    upsert: Sample
    database: Sample
    rows_per_second: float  # that the engine accepts in a namespace


def index_hours(work: Indexing, seed: int = 7) -> float:
    """Return how long it takes until everything is indexed, in hours."""
    chance = random.Random(seed)
    left = [work.chunks // work.namespaces + (n < work.chunks % work.namespaces) for n in range(work.namespaces)]
    processors = [Places(1) for _ in range(work.workers)]
    waiting = list(range(work.namespaces))
    slots = [(0.0, slot) for slot in range(work.workers * work.at_once)]  # (free at, slot)
    current: dict[int, int] = {}
    heapq.heapify(slots)
    end = 0.0
    while slots:
        now, slot = heapq.heappop(slots)
        if slot not in current:
            if not waiting:
                continue
            current[slot] = waiting.pop()
        namespace = current[slot]
        rows = min(work.batch, left[namespace])
        prepared = processors[slot % work.workers].take(now, rows / work.worker_per_second * 1000)
        written = max(prepared + work.upsert(chance), now + rows / work.rows_per_second * 1000)
        marked = written + work.database(chance)
        left[namespace] -= rows
        end = max(end, marked)
        if not left[namespace]:
            del current[slot]
        heapq.heappush(slots, (marked, slot))
    return end / 3_600_000


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value of sorted ones that this share does not exceed."""
    return values[min(len(values) - 1, bisect.bisect_left(range(1, len(values) + 1), share * len(values)))]
