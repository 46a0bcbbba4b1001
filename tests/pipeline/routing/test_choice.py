"""Blocks, what engines are taken to hold, and the choice: plain functions."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from renderlayer.pipeline.routing.blocks import BLOCK, EXACT, STEP, blocks_of, hashed
from renderlayer.pipeline.routing.policy import BOUND, POLICIES, State
from renderlayer.pipeline.routing.residency import Residency

PROMPT = list(range(20 * BLOCK))


def request(tokens: list[int], **fields: Any) -> dict[str, Any]:
    return {"token_ids": tokens, "model": "m", **fields}


def with_image(mm_hash: str, at: int = 3 * BLOCK + 7) -> dict[str, Any]:
    features = {"mm_hashes": {"image": [mm_hash]}, "mm_placeholders": {"image": [{"offset": at, "length": 40}]}}
    return request(PROMPT, features=features)


@pytest.mark.parametrize("at", [0, 5, BLOCK, EXACT - 1, EXACT + STEP, 19 * BLOCK])
def test_prompts_share_the_blocks_before_their_first_difference(at: int) -> None:
    other = [*PROMPT[:at], 99_999, *PROMPT[at + 1 :]]
    first, second = blocks_of(request(PROMPT)), blocks_of(request(other))
    alike = [one == two for one, two in zip(first, second, strict=True)]
    assert alike == [number < at // BLOCK for number in range(20)]
    assert blocks_of(request(PROMPT[: 5 * BLOCK + 3])) == first[:5]


def test_media_salt_and_model_tell_prompts_apart() -> None:
    assert blocks_of(with_image("a" * 64)) == blocks_of(with_image("a" * 64))
    alike = [x == y for x, y in zip(blocks_of(with_image("a" * 64)), blocks_of(with_image("b" * 64)), strict=True)]
    assert alike == [number < 3 for number in range(20)]
    for fields in ({"cache_salt": "one"}, {"model": "adapter"}):
        assert not set(blocks_of(request(PROMPT))) & set(blocks_of({**request(PROMPT), **fields}))
    assert blocks_of(request(PROMPT, features=None)) == blocks_of(request(PROMPT))


def test_hashes_are_the_same_in_every_process() -> None:
    """Instances of a function share nothing but these."""
    code = "from tests.pipeline.routing.test_choice import *; print(blocks_of(with_image('c' * 64)))"
    told = {
        subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True, text=True, check=True,
        ).stdout
        for seed in ("1", "2")
    }  # fmt: skip
    assert told == {f"{blocks_of(with_image('c' * 64))}\n"}


@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.lists(st.integers(0, 3), max_size=6), st.sampled_from(["add", "forget"])),
        max_size=40,
    )
)
def test_residency_is_what_an_lru_of_each_engine_would_say(steps: list[tuple[int, list[int], str]]) -> None:
    most = 7
    residency, models = Residency(most), {engine: [] for engine in range(4)}  # type: ignore[var-annotated]
    for engine, prompt, what in steps:
        blocks = [hash(tuple(prompt[: at + 1])) for at in range(len(prompt))]
        if what == "forget":
            residency.forget(engine)
            models[engine] = []
        else:
            residency.add(engine, blocks)
            for block in reversed(blocks):
                models[engine] = [one for one in models[engine] if one != block] + [block]
            models[engine] = models[engine][-most:]
        for looked in (blocks, blocks[:2]):
            expected = {}
            for number, held in models.items():
                count = next((at for at, block in enumerate(looked) if block not in held), len(looked))
                if count:
                    expected[number] = count
            assert residency.matched(looked) == expected


def test_blocks_that_an_engine_dropped() -> None:
    residency, blocks = Residency(100), hashed(PROMPT)
    residency.add(1, blocks)
    residency.remove(1, blocks[5:])
    residency.remove(2, blocks)
    assert residency.matched(blocks) == {1: 5}


def states(*figures: tuple[int, int]) -> list[State]:
    return [State(f"http://e{at}", load, matched) for at, (load, matched) in enumerate(figures)]


@pytest.mark.parametrize(
    ("figures", "chosen"),
    [
        ([(0, 0), (0, 3), (0, 9)], 2),  # the longest match
        ([(100, 9), (50, 9), (100, 3)], 1),  # of equals the one with less to do
        ([(10_000, 9), (1000, 3), (1000, 0)], 1),  # more than the bound: the next best
        ([(10_000, 9), (1000, 0), (900, 0)], 2),  # none within the bound holds anything: the least to do
    ],
)
def test_prefix_affinity(figures: list[tuple[int, int]], chosen: int) -> None:
    engines = states(*figures)
    assert POLICIES["prefix-affinity"]([], 100, engines) is engines[chosen]


@given(st.lists(st.tuples(st.integers(0, 50_000), st.integers(0, 60)), min_size=1, max_size=64), st.integers(1, 30_000))
def test_no_engine_above_the_bound_is_chosen(figures: list[tuple[int, int]], tokens: int) -> None:
    """Unless all are, which cannot be: the least of them is below the mean."""
    engines = states(*figures)
    chosen = POLICIES["prefix-affinity"]([], tokens, engines)
    total = sum(engine.outstanding for engine in engines)
    assert chosen.outstanding <= BOUND * (total + tokens) / len(engines)


def test_rendezvous_moves_only_the_chats_of_an_engine_that_goes() -> None:
    engines = states(*[(0, 0)] * 8)
    prompts = [hashed([number, *PROMPT]) for number in range(400)]
    before = [POLICIES["rendezvous"](blocks, 0, engines) for blocks in prompts]
    after = [POLICIES["rendezvous"](blocks, 0, engines[:-1]) for blocks in prompts]
    assert all(one is two for one, two in zip(before, after, strict=True) if one is not engines[-1])
    assert min(Counter(state.name for state in before).values()) > 400 / 8 / 2


@pytest.mark.parametrize("name", sorted(POLICIES))
def test_short_prompts_and_single_engines(name: str) -> None:
    (only,) = engines = states((5, 0))
    assert POLICIES[name]([], 3, engines) is only
    assert POLICIES[name](hashed(PROMPT), 3, engines) is only
    several = states(*[(0, 0)] * 4)
    turns = []
    for number in range(1, 9):
        turns.append(POLICIES[name]([], 3, several))
        turns[-1].chosen = number
    assert Counter(map(id, turns)) == Counter({id(state): 2 for state in several})
