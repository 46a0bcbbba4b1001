"""Times of a function under the real runtime client."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tests.events import http_api
from tests.runtime import Function

STARTS = 7
"""Processes that are started; the first, which may still read files from disk, does not count."""
WARM = 100
"""Requests that are timed in a process that is warm."""


@dataclass(frozen=True)
class Cold:
    """From process start to first answer, the median of several: time, processor time, and the most memory held."""

    milliseconds: float
    processor: float
    megabytes: float


def cold(
    handlers: Mapping[str, tuple[str, dict[str, str], dict[str, Any]]],
    make: Callable[[str, dict[str, str]], Function] = Function,
) -> dict[str, Cold]:
    """Start each function several times, in turns, so that a busy machine slows all of them alike.

    Args:
        handlers: by name: the handler, its environment, and the event it answers.
        make: makes a function of a handler and its environment.
    """
    taken: dict[str, list[Cold]] = {name: [] for name in handlers}
    for _ in range(STARTS):
        for name, (handler, environment, event) in handlers.items():
            with make(handler, environment) as function:
                outcome = require(function.invoke(event))
                milliseconds = (outcome.ended - function.started) * 1e3
                taken[name].append(Cold(milliseconds, function.processor_seconds() * 1e3, function.peak_megabytes()))
    return {
        name: Cold(
            statistics.median(each.milliseconds for each in starts[1:]),
            statistics.median(each.processor for each in starts[1:]),
            max(each.megabytes for each in starts),
        )
        for name, starts in taken.items()
    }


def beside(yardstick: str, taken: Mapping[str, Cold]) -> dict[str, str]:
    """Cold starts in words, each as a multiple of one of them."""
    least = taken[yardstick]
    return {
        name: f"{each.milliseconds:7.0f} ms ({each.milliseconds / least.milliseconds:.2f} x)   "
        f"processor {each.processor:.0f} ms ({each.processor / least.processor:.2f} x)   {each.megabytes:.0f} MB"
        for name, each in taken.items()
    }


def warm(function: Function, event: dict[str, Any], times: int = WARM) -> float:
    """Median milliseconds of one request, repeated."""
    for _ in range(3):
        require(function.invoke(event))
    return statistics.median(require(function.invoke(event)).seconds * 1e3 for _ in range(times))


def stream(function: Function, token_ids: list[int], body: Callable[[int, Any], dict[str, Any]]) -> float:
    """Milliseconds of the functions' time to derender tokens that arrive one a chunk.

    Args:
        body: makes the request of one chunk from its token id and the carried state.
    """
    state: Any = None
    total = 0.0
    for token_id in token_ids:
        outcome = require(function.invoke(http_api("/v1/chat/completions/derender", json.dumps(body(token_id, state)))))
        total += outcome.seconds * 1e3
        state = json.loads(outcome.value["body"])["stream_state"]
    return total


def require(outcome: Any) -> Any:
    """The outcome, if it is a success."""
    if not outcome.ok or outcome.value["statusCode"] != 200:
        raise RuntimeError(str(outcome.value)[:2000])
    return outcome


def answer(function: Function, event: dict[str, Any]) -> Any:
    """The JSON that a request is answered with."""
    return json.loads(require(function.invoke(event)).value["body"])
