"""When what is under way must have ended: a function's time is limited, and so is that of the gateway before it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from renderlayer.errors import GatewayTimeout

SLACK = 0.05
"""Seconds by which a wait that was to last until the end may fall short of it."""

_END: ContextVar[float | None] = ContextVar("end", default=None)
_ADVICE: ContextVar[str] = ContextVar("advice", default="")


@contextmanager
def ending(seconds: float, advice: str = "") -> Iterator[None]:
    """Everything in the context ends after so many seconds.

    Args:
        advice: a sentence for the caller of what does not, such as where longer answers are to be had.
    """
    end = _END.set(time.monotonic() + seconds)
    told = _ADVICE.set(advice)
    try:
        yield
    finally:
        _END.reset(end)
        _ADVICE.reset(told)


def seconds_left(most: float) -> float:
    """Seconds for the next wait, `most` where nothing ends before.

    Raises:
        GatewayTimeout: there are none.
    """
    end = _END.get()
    if end is None:
        return most
    left = end - time.monotonic()
    if left <= 0:
        raise out_of_time()
    return min(most, left)


def is_over() -> bool:
    """Whether the end is past."""
    end = _END.get()
    return end is not None and end - time.monotonic() < SLACK


def out_of_time() -> GatewayTimeout:
    """The error of an answer that takes too long."""
    text = "The answer takes longer than the time that this request has."
    return GatewayTimeout(f"{text} {_ADVICE.get()}".rstrip())
