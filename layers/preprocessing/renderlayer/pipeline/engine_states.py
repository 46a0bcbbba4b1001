"""How calls to the engine end, and how each of several engines is, for whoever counts them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

# refused: the engine's own 4xx; busy: its 429 or 503, out of reach, or late; failed: not the wire; left: the caller
# gave it up
Outcome = Literal["answered", "refused", "busy", "failed", "left"]

observers: list[Callable[[Outcome | None], None]] = []
"""What is told of each call that begins (None) and of how it ends; empty where nobody counts."""
# (name, whether it is up or None once it is gone, tokens of its requests under way)
Watcher = Callable[[str, bool | None, int], None]
watchers: list[Watcher] = []
"""What is told of each change of one of several engines."""


def begun() -> None:
    """A call has begun; `observe` must follow."""
    _tell(None)


def observe(outcome: Outcome) -> None:
    """A call has ended."""
    _tell(outcome)


def tell(name: str, is_up: bool | None, outstanding: int) -> None:
    """An engine's state has changed."""
    for watcher in watchers:
        watcher(name, is_up, outstanding)


def _tell(state: Outcome | None) -> None:
    for observer in observers:
        observer(state)
