"""How long the stages of requests take, for whoever measures it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal

Stage = Literal["render", "generate", "derender"]

observers: list[Callable[[Stage, float], None]] = []
"""What is told of each stage that ends, and its seconds; empty where nobody measures."""


def observe(stage: Stage, seconds: float) -> None:
    """A stage has ended."""
    for observer in observers:
        observer(stage, seconds)


@contextmanager
def timed(stage: Stage) -> Iterator[None]:
    """What is inside is a stage."""
    began = time.perf_counter()
    try:
        yield
    finally:
        observe(stage, time.perf_counter() - began)
