"""Where work is done: in a worker thread of a server, or on the spot in a function."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from starlette.concurrency import run_in_threadpool
from starlette.types import Scope

T = TypeVar("T")


def in_function(scope: Scope) -> bool:
    """Whether a Lambda function serves the request: one at a time, its answer collected before it is sent."""
    return "aws.event" in scope


async def aside(scope: Scope, work: Callable[[], T]) -> T:
    """Do work that takes a while without keeping a server's other requests waiting; a function has no others."""
    return work() if in_function(scope) else await run_in_threadpool(work)
