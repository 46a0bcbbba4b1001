"""How calls to the engine end, for whoever counts them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

# refused: the engine's own 4xx; busy: its 429 or 503, out of reach, or late; failed: not the wire; left: the caller
# gave it up
Outcome = Literal["answered", "refused", "busy", "failed", "left"]

observers: list[Callable[[Outcome | None], None]] = []
"""What is told of each call that begins (None) and of how it ends; empty where nobody counts."""


def begun() -> None:
    """A call has begun; `observe` must follow."""
    _tell(None)


def observe(outcome: Outcome) -> None:
    """A call has ended."""
    _tell(outcome)


def _tell(state: Outcome | None) -> None:
    for observer in observers:
        observer(state)
