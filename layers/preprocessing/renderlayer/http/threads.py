"""Where work is done: in a worker thread of a server, or on the spot in a function."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from starlette.concurrency import run_in_threadpool
from starlette.types import Scope

T = TypeVar("T")
STREAMED = "renderlayer.streamed"
"""Set in the scope of a request whose answer a function's runtime sends while it is made."""


def in_function(scope: Scope) -> bool:
    """Whether a Lambda function serves the request: one at a time."""
    return "aws.event" in scope


def collected(scope: Scope) -> bool:
    """Whether the answer is collected before it is sent, so that sending it in parts would only cost time."""
    return in_function(scope) and STREAMED not in scope


async def aside(scope: Scope, work: Callable[[], T]) -> T:
    """Do work that takes a while without keeping a server's other requests waiting; a function has no others."""
    return work() if in_function(scope) else await run_in_threadpool(work)
