"""Where work is done: in a worker thread of a server, or on the spot in a function."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from starlette.types import Scope

T = TypeVar("T")
STREAMED = "renderlayer.streamed"
"""Set in the scope of a request whose answer a function's runtime sends while it is made."""
SHARED = "renderlayer.shared"
"""Set in the scope of a request that a host serves among others, though it came as a function's event."""


def in_function(scope: Scope) -> bool:
    """Whether a Lambda function serves the request: one at a time."""
    return "aws.event" in scope and SHARED not in scope


async def run_blocking(scope: Scope, work: Callable[[], T]) -> T:
    """Do work that takes a while without keeping a server's other requests waiting; a function has no others."""
    return work() if in_function(scope) else await in_thread(work)


async def in_thread(work: Callable[[], T]) -> T:
    """Do work in a worker thread of a server."""
    from starlette.concurrency import run_in_threadpool

    return await run_in_threadpool(work)


def aside_of(scope: Scope) -> Callable[[Callable[[], Any]], Awaitable[Any]]:
    """`run_blocking` for one request."""
    return lambda work: run_blocking(scope, work)
