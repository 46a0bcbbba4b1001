"""What holds for one request in whatever code it runs: its end, its remarks, its trace, what waits for its
answer, and how long its stages take.

Each but the last is a context variable, so that what lies between need not hand it on.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from typing import Literal

from renderlayer.errors import GatewayTimeout

SLACK = 0.05
"""Seconds by which a wait that was to last until the end may fall short of it."""
HEADER = "x-renderlayer-warning"
SHOWN = 1000
"""Characters of the header at most."""

Stage = Literal["render", "generate", "derender", "encode", "prefill", "decode"]
stage_observers: list[Callable[[Stage, float], None]] = []
"""What is told of each stage that ends, and its seconds; empty where nobody measures."""

_end: ContextVar[float | None] = ContextVar("end", default=None)
_advice: ContextVar[str] = ContextVar("advice", default="")
_remarks: ContextVar[list[str] | None] = ContextVar("remarks", default=None)
_answered: ContextVar[ExitStack | None] = ContextVar("answered", default=None)
_trace: ContextVar[tuple[tuple[str, str], ...]] = ContextVar("trace", default=())
_payload_bytes = ContextVar("payload_bytes", default=False)


@contextmanager
def ending(seconds: float, advice: str = "") -> Iterator[None]:
    """Everything in the context ends after so many seconds.

    Args:
        advice: a sentence for the caller of what does not, such as where longer answers are to be had.
    """
    end = _end.set(time.monotonic() + seconds)
    advised = _advice.set(advice)
    try:
        yield
    finally:
        _end.reset(end)
        _advice.reset(advised)


def seconds_left(most: float) -> float:
    """Seconds for the next wait, `most` where nothing ends before.

    Raises:
        GatewayTimeout: there are none.
    """
    end = _end.get()
    if end is None:
        return most
    left = end - time.monotonic()
    if left <= 0:
        raise out_of_time()
    return min(most, left)


def is_over() -> bool:
    """Whether the end is past."""
    end = _end.get()
    return end is not None and end - time.monotonic() < SLACK


def out_of_time() -> GatewayTimeout:
    """The error of an answer that takes too long."""
    text = "The answer takes longer than the time that this request has."
    return GatewayTimeout(f"{text} {_advice.get()}".rstrip())


def remark(text: str) -> None:
    """Tell the caller something, once; nobody is told where nobody collects."""
    found = _remarks.get()
    if found is not None and text not in found:
        found.append(text)


@contextmanager
def remarks() -> Iterator[list[str]]:
    """Collect what is remarked inside."""
    found: list[str] = []
    token = _remarks.set(found)
    try:
        yield found
    finally:
        _remarks.reset(token)


def header_value(found: list[str]) -> str:
    """The remarks as one header's value: ASCII, of bounded length."""
    return "; ".join(found).encode("ascii", "backslashreplace").decode()[:SHOWN]


@contextmanager
def until_answered() -> Iterator[None]:
    """What is kept for an answer is kept until the end of this; of several around each other, of the outermost."""
    if _answered.get() is not None:
        yield
        return
    with ExitStack() as stack:
        token = _answered.set(stack)
        try:
            yield
        finally:
            _answered.reset(token)


def answered() -> ExitStack | None:
    """Takes what is to be done once the request is answered; None: nobody waits for that."""
    return _answered.get()


@contextmanager
def traced(headers: tuple[tuple[str, str], ...]) -> Iterator[None]:
    """Calls to others inside carry these headers, by which a trace goes on (https://www.w3.org/TR/trace-context/)."""
    token = _trace.set(headers)
    try:
        yield
    finally:
        _trace.reset(token)


def trace_headers() -> tuple[tuple[str, str], ...]:
    """Headers of the request's trace, none where it is not traced."""
    return _trace.get()


@contextmanager
def payloads_as_bytes() -> Iterator[None]:
    """Payloads of this thread's requests stay bytes, for a caller that puts them into JSON without another copy."""
    token = _payload_bytes.set(True)
    try:
        yield
    finally:
        _payload_bytes.reset(token)


def payloads_are_bytes() -> bool:
    """Whether payloads in base64 are wanted as bytes; else they are strings."""
    return _payload_bytes.get()


def observe_stage(stage: Stage, seconds: float) -> None:
    """A stage has ended."""
    for observer in stage_observers:
        observer(stage, seconds)


@contextmanager
def timed(stage: Stage) -> Iterator[None]:
    """What is inside is a stage."""
    began = time.perf_counter()
    try:
        yield
    finally:
        observe_stage(stage, time.perf_counter() - began)
