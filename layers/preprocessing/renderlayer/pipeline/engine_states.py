"""How calls to the engine end, for whoever counts them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

# refused: the engine's own 4xx; busy: its 429 or 503, out of reach, or late; failed: not the wire; left: the caller
# gave it up
Outcome = Literal["answered", "refused", "busy", "failed", "left"]

observers: list[Callable[[Outcome], None]] = []
"""What is told of each call that ends; empty where nobody counts."""


def observe(outcome: Outcome) -> None:
    """A call has ended."""
    for observer in observers:
        observer(outcome)
