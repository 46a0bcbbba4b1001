"""The simulation of routing: its bound is one, its goals are met, and more of the same trace is no different."""

from __future__ import annotations

import pytest

from renderlayer.pipeline.routing.policy import POLICIES
from tests.bench import routing


@pytest.mark.long
def test_prefix_affinity_finds_nearly_all_and_spreads_the_work() -> None:
    chats = routing.trace(seed=7, chats=600)
    results = {name: (result, best) for name, result, best in routing.rows(chats)}
    ours, best = results["prefix affinity (default)"]
    assert ours.cached >= 0.9 * best
    assert ours.work < 1.3
    assert ours.cached > results["round robin"][0].cached * 1.1
    assert all(result.cached <= best for result, best in results.values())


def test_a_cache_of_any_size_and_one_engine_s_worth_of_chats() -> None:
    """With caches that forget nothing, and one engine for all, everything that came before is found."""
    chats = routing.trace(seed=1, chats=20)
    result, arrived = routing.simulate(chats, lambda turn, engines: 0, 10**9)
    assert result.work == routing.ENGINES
    assert result.cached <= routing.bound(arrived, 10**9)
    affine, _ = routing.simulate(chats, routing.serving(POLICIES["prefix-affinity"], 10**9), 10**9)
    assert affine.cached <= result.cached
