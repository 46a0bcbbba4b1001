"""Which engine a request goes to: a plain function of the prompt's block hashes and the engines' states.

Another policy is another function of this shape, and a row of `POLICIES`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import attrgetter

from renderlayer.pipeline.routing.blocks import BLOCK, Blocks

BOUND = 1.25
"""No engine gets a request for its cache's sake that has more than so many times the mean of outstanding tokens."""
ANSWER = 2000
"""Tokens for which an answer counts that is not written yet: nobody knows its length."""
LEADING = 8
"""Blocks by which rendezvous hashing tells conversations apart: a system prompt, and how the conversation begins."""


@dataclass(slots=True)
class State:
    """What is known of an engine when a request is to be sent.

    Attributes:
        name: what it is called; the same in every process.
        outstanding: tokens of the requests that it has not answered yet.
        matched: leading blocks of the request that it is taken to hold.
        chosen: number of the last choice that fell on it.
    """

    name: str
    outstanding: int = 0
    matched: int = 0
    chosen: int = 0


def weight(tokens: int, matched: int) -> int:
    """What a request adds to the outstanding tokens of an engine.

    Args:
        tokens: of its prompt.
        matched: leading blocks that the engine is taken to hold.
    """
    return ANSWER + max(0, tokens - matched * BLOCK)


# (hashes of the leading blocks, tokens of the prompt, engines; one at least) -> one of them
Policy = Callable[[Blocks, int, Sequence[State]], State]

_load = attrgetter("outstanding", "chosen")


def prefix_affinity(blocks: Blocks, tokens: int, engines: Sequence[State]) -> State:
    """The engine that holds most of the prompt, unless it has more to do than others; then the next best."""
    total = 0
    for state in engines:
        total += state.outstanding
    most = BOUND * (total + tokens) / len(engines)
    best, longest = None, 0
    for state in engines:
        if (
            state.matched
            and state.outstanding <= most
            and (
                state.matched > longest or (state.matched == longest and best and state.outstanding < best.outstanding)
            )
        ):
            best, longest = state, state.matched
    return best or min(engines, key=_load)


def least_outstanding(blocks: Blocks, tokens: int, engines: Sequence[State]) -> State:
    """The engine with the fewest tokens to do; of equals the one that was chosen longest ago."""
    return min(engines, key=_load)


def round_robin(blocks: Blocks, tokens: int, engines: Sequence[State]) -> State:
    """One after the other."""
    return min(engines, key=attrgetter("chosen"))


def rendezvous(blocks: Blocks, tokens: int, engines: Sequence[State]) -> State:
    """The engine whose name and the leading blocks hash highest: the same in every process, with nothing shared.

    When an engine goes, only its own conversations move (Thaler and Ravishankar, "Using name-based mappings to increase
    hit rates", 1998).
    """
    if not blocks:
        return min(engines, key=_load)
    key = blocks[:LEADING][-1]
    return max(engines, key=lambda state: _weight(key, state.name))


def _weight(key: int, name: str) -> int:
    import hashlib

    return int.from_bytes(hashlib.blake2b(f"{key} {name}".encode(), digest_size=8).digest(), "big")


POLICIES: dict[str, Policy] = {
    "prefix-affinity": prefix_affinity,
    "least-outstanding": least_outstanding,
    "round-robin": round_robin,
    "rendezvous": rendezvous,
}
STATELESS = frozenset({"rendezvous", "round-robin", "least-outstanding"})
"""Policies that ask nothing of what engines hold."""
