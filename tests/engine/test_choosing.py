"""From logits to a token, against the formulas written out."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from infra.generate.decoding.choosing import Chooser, draw, nucleus
from infra.generate.decoding.sampling import SamplingParams
from renderlayer.errors import BadRequest

VOCABULARY = 12
PROMPT = [1, 2, 2, 5]
OUTPUT = [2, 7, 7, 3]
logits = st.lists(st.floats(-8, 8, width=32), min_size=VOCABULARY, max_size=VOCABULARY).map(torch.tensor)


def chooser(ending: frozenset[int] = frozenset(), bad_words: Any = (), index: int = 0, **params: Any) -> Chooser:
    return Chooser(SamplingParams.from_wire(params), index, PROMPT, VOCABULARY, ending, bad_words)


def penalized(scores: list[float], repetition: float, presence: float, frequency: float) -> list[float]:
    out = []
    for token, score in enumerate(scores):
        if token in PROMPT + OUTPUT:
            score = score / repetition if score > 0 else score * repetition
        score -= frequency * OUTPUT.count(token)
        score -= presence * (token in OUTPUT)
        out.append(score)
    return out


@settings(max_examples=60, deadline=None)
@given(logits, st.floats(0.5, 2), st.floats(-2, 2), st.floats(-2, 2))
def test_penalties_are_the_formula(row: torch.Tensor, repetition: float, presence: float, frequency: float) -> None:
    one = chooser(temperature=0, repetition_penalty=repetition, presence_penalty=presence, frequency_penalty=frequency)
    for at, token in enumerate(OUTPUT):
        forced = torch.full((VOCABULARY,), -1e9)
        forced[token] = 1e9
        assert one.choose(forced, OUTPUT[:at]) == token
    expected = penalized(row.tolist(), repetition, presence, frequency)
    taken = one.choose(row, OUTPUT)
    assert expected[taken] == pytest.approx(max(expected), abs=1e-4)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(0, 1, width=32), min_size=1, max_size=40).filter(any), st.floats(0.01, 0.99))
def test_a_nucleus_is_the_shortest_head_that_reaches_its_share(weights: list[float], top_p: float) -> None:
    values, ids = nucleus(torch.tensor(weights), top_p)
    ordered = sorted(weights, reverse=True)
    assert values.tolist() == ordered[: len(values)]
    assert [weights[at] for at in ids.tolist()] == values.tolist()
    goal = top_p * math.fsum(weights)
    assert math.fsum(ordered[: len(values)]) >= goal - 1e-6
    assert math.fsum(ordered[: len(values) - 1]) <= goal + 1e-6


def test_a_nucleus_wider_than_the_first_look() -> None:
    values, _ = nucleus(torch.ones(20_000), 0.5)
    assert len(values) == 10_000


def test_draws_follow_the_weights_and_never_take_a_zero() -> None:
    generator = torch.Generator().manual_seed(1)
    weights = torch.tensor([0.0, 1.0, 0.0, 3.0, 0.0])
    counts = Counter(draw(weights, generator) for _ in range(4000))
    assert set(counts) == {1, 3}
    assert counts[3] / 4000 == pytest.approx(0.75, abs=0.03)


@pytest.mark.parametrize(
    ("params", "possible"),
    [
        ({"top_k": 2}, {10, 11}),
        ({"top_k": 1}, {11}),
        ({"top_p": 1e-6}, {11}),
        ({"min_p": 0.9}, {11}),
        ({"min_p": 0.3}, {10, 11}),
        ({"allowed_token_ids": [0, 4]}, {0, 4}),
        ({"temperature": 0.01}, {11}),
        ({"logit_bias": {"3": 100}}, {3}),
        ({"top_k": 2, "top_p": 0.5}, {11}),
    ],
)
def test_what_may_be_drawn(params: dict[str, Any], possible: set[int]) -> None:
    row = torch.arange(VOCABULARY, dtype=torch.float32)
    drawn = {chooser(seed=seed, **params).choose(row, []) for seed in range(60)}
    assert drawn == possible


def test_logits_are_left_as_they_are() -> None:
    row = torch.arange(VOCABULARY, dtype=torch.float32)
    chooser(seed=1, top_k=3, repetition_penalty=1.5, allowed_token_ids=[1, 2]).choose(row, [])
    assert row.tolist() == list(range(VOCABULARY))


def test_a_seed_gives_its_tokens_and_the_index_is_added_to_it() -> None:
    row = torch.zeros(VOCABULARY)

    def tokens(seed: int, index: int = 0) -> list[int]:
        one = chooser(seed=seed, index=index)
        return [one.choose(row, []) for _ in range(8)]

    assert tokens(5) == tokens(5)
    assert tokens(5) != tokens(6)
    assert tokens(5, index=1) == tokens(6)
    assert tokens(-(2**63)) == tokens(-(2**63))


def test_bad_words_forbid_their_last_token_after_the_others() -> None:
    row = torch.arange(VOCABULARY, dtype=torch.float32)
    one = chooser(temperature=0, bad_words=[[9, 10, 11], [11, 5]])
    assert one.choose(row, []) == 11
    assert one.choose(row, [10]) == 11
    assert one.choose(row, [9, 10]) == 10
    assert chooser(temperature=0, bad_words=[[11]]).choose(row, []) == 10


def test_endings_wait_for_min_tokens() -> None:
    row = torch.arange(VOCABULARY, dtype=torch.float32)
    one = chooser(temperature=0, ending=frozenset({11, 10}), min_tokens=2)
    assert [one.choose(row, [0] * count) for count in range(4)] == [9, 9, 11, 11]


def test_constraints_that_leave_nothing_are_refused() -> None:
    one = chooser(temperature=0, ending=frozenset({4}), min_tokens=1, allowed_token_ids=[4])
    with pytest.raises(BadRequest):
        one.choose(torch.zeros(VOCABULARY), [])
