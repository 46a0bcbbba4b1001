"""Requests, environments that start when none is free, and an engine with so many slots: who waits, and how long."""

from __future__ import annotations

import heapq
import random
from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil

ENVIRONMENTS_A_SECOND = 100
"""A function may gain 1,000 environments every 10 s (https://docs.aws.amazon.com/lambda/latest/dg/lambda-concurrency.html)."""


@dataclass(frozen=True)
class Load:
    """Arrivals and what each of them needs.

    Attributes:
        rate: requests a second.
        seconds: for which they come.
        work: seconds that a request takes in an environment, beside the engine.
        cold: seconds that an environment takes to start.
        engine: seconds that a request takes in the engine; 0 for one that needs none.
        slots: requests that the engine answers at a time; None for any number.
        warm: environments that are there at the beginning.
        most: environments at most; requests beyond are refused, as Lambda does with 429.
        random: whether requests come independently of each other (Poisson); else evenly.
    """

    rate: float
    seconds: float
    work: float
    cold: float
    engine: float = 0.0
    slots: int | None = None
    warm: int = 0
    most: int = 1000
    random: bool = True


@dataclass(frozen=True)
class Seen:
    """What became of them.

    Attributes:
        waits: seconds to each answer, in the order of arrival.
        cold: answers that an environment was started for.
        refused: requests that found none and could start none.
        busiest: most environments that were busy at once.
        billed: seconds that environments were busy, their starts included.
    """

    waits: list[float]
    cold: int
    refused: int
    busiest: int
    billed: float

    def percentile(self, share: float) -> float:
        """The wait below which that share of the answers came."""
        return sorted(self.waits)[max(ceil(len(self.waits) * share) - 1, 0)]


def simulate(load: Load, seed: int = 0) -> Seen:
    """Answer requests in the order of their arrival. The same load and seed see the same."""
    busy: list[float] = []  # when each environment is free again
    slots = [0.0] * load.slots if load.slots is not None else None
    waits: list[float] = []
    made, free, cold, refused, busiest, billed = load.warm, load.warm, 0, 0, 0, 0.0
    allowance, last = ENVIRONMENTS_A_SECOND * 10.0, 0.0
    for now in _arrivals(load, seed):
        while busy and busy[0] <= now:
            heapq.heappop(busy)
            free += 1
        allowance = min(allowance + (now - last) * ENVIRONMENTS_A_SECOND, ENVIRONMENTS_A_SECOND * 10.0)
        last, start = now, now
        if free:
            free -= 1
        elif made < load.most and allowance >= 1:
            made, cold, allowance, start = made + 1, cold + 1, allowance - 1, now + load.cold
        else:
            refused += 1
            continue
        end = start + load.work
        if load.engine:
            begun = max(end, heapq.heappop(slots)) if slots is not None else end
            end = begun + load.engine
            if slots is not None:
                heapq.heappush(slots, end)
        heapq.heappush(busy, end)
        busiest = max(busiest, len(busy))
        waits.append(end - now)
        billed += end - now
    return Seen(waits, cold, refused, busiest, billed)


def _arrivals(load: Load, seed: int) -> Iterator[float]:
    chance, now, count = random.Random(seed), 0.0, 0
    while True:
        count += 1
        now = now + chance.expovariate(load.rate) if load.random else count / load.rate
        if now > load.seconds:
            return
        yield now
