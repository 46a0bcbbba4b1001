"""Reading sampling parameters off the wire: defaults, leniency, bounds (wire.md 2.2)."""

from __future__ import annotations

from typing import Any

import pytest

from infra.generate.decoding.sampling import SamplingParams
from renderlayer.errors import BadRequest, ValidationFailed


def test_an_empty_object_is_the_defaults() -> None:
    params = SamplingParams.from_wire({})
    assert (params.n, params.temperature, params.top_p, params.top_k, params.max_tokens) == (1, 1.0, 1.0, 0, 16)
    assert (params.stop, params.detokenize, params.skip_special_tokens, params.seed) == ([], True, True, None)


def test_what_render_writes_is_read() -> None:
    wire = {
        "presence_penalty": 0.0,
        "temperature": 0.6,
        "top_p": 0.95,
        "top_k": 20,
        "stop": [],
        "max_tokens": 496,
        "output_kind": 2,
        "skip_clone": True,
        "bad_words": [],
        "skip_reading_prefix_cache": False,
        "logit_bias": {"5": 300, "7": -1},
    }
    params = SamplingParams.from_wire(wire)
    assert (params.temperature, params.top_k, params.max_tokens) == (0.6, 20, 496)
    assert params.logit_bias == {5: 100.0, 7: -1.0}


@pytest.mark.parametrize(
    ("given", "field", "value"),
    [
        ({"temperature": 0.001}, "temperature", 0.01),
        ({"seed": -1}, "seed", None),
        ({"thinking_token_budget": -1}, "thinking_token_budget", None),
        ({"stop": "END"}, "stop", ["END"]),
        ({"stop_token_ids": [3, 4.0]}, "stop_token_ids", [3, 4]),
        ({"top_k": 5.0}, "top_k", 5),
        ({"temperature": None}, "temperature", 1.0),
        ({"max_tokens": None}, "max_tokens", None),
    ],
)
def test_values_are_brought_into_form(given: dict[str, Any], field: str, value: Any) -> None:
    assert getattr(SamplingParams.from_wire(given), field) == value


@pytest.mark.parametrize(
    ("given", "param"),
    [
        ({"n": 0}, None),
        ({"n": 20_000}, None),
        ({"n": 2, "temperature": 0}, None),
        ({"presence_penalty": 2.1}, None),
        ({"frequency_penalty": -3}, None),
        ({"repetition_penalty": 0}, None),
        ({"temperature": -1}, "temperature"),
        ({"temperature": 3}, "temperature"),
        ({"top_p": 0}, "top_p"),
        ({"top_p": 1.5}, "top_p"),
        ({"top_k": -5}, None),
        ({"min_p": 1.1}, None),
        ({"seed": 1 << 64}, None),
        ({"max_tokens": 0}, "max_tokens"),
        ({"min_tokens": -1}, None),
        ({"min_tokens": 10, "max_tokens": 5}, None),
        ({"stream_interval": 0}, "stream_interval"),
        ({"logprobs": -2}, "logprobs"),
        ({"prompt_logprobs": -2}, "prompt_logprobs"),
        ({"stop": ["a", "b", "c", "d", "e"]}, "stop"),
        ({"stop": [""]}, None),
        ({"stop": ["a"], "detokenize": False}, None),
        ({"bad_words": [""]}, None),
        ({"logit_bias": {"abc": 1}}, "logit_bias"),
        ({"thinking_token_budget": -2}, "thinking_token_budget"),
        ({"structured_outputs": {}}, None),
        ({"structured_outputs": {"regex": "a", "choice": ["b"]}}, None),
    ],
)
def test_bounds(given: dict[str, Any], param: str | None) -> None:
    with pytest.raises(BadRequest) as caught:
        SamplingParams.from_wire(given)
    assert caught.value.param == param


@pytest.mark.parametrize(
    "given",
    [
        {"temperature": "hot"},
        {"temperature": True},
        {"temperature": 10**400},
        {"n": "three"},
        {"n": 1.5},
        {"ignore_eos": 1},
        {"stop": 5},
        {"stop": [5]},
        {"stop_token_ids": "5"},
        {"logit_bias": [5]},
        {"structured_outputs": "x"},
    ],
)
def test_wrong_types_blame_the_object(given: dict[str, Any]) -> None:
    with pytest.raises(ValidationFailed) as caught:
        SamplingParams.from_wire(given)
    assert caught.value.param == "body.sampling_params"
