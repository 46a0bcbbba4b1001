"""One event loop for tests that call the engine's client from plain code."""

from __future__ import annotations

import asyncio
import atexit
from collections.abc import AsyncGenerator, Coroutine
from contextlib import aclosing
from typing import Any, TypeVar

T = TypeVar("T")
_LOOP = asyncio.new_event_loop()
atexit.register(_LOOP.close)


def wait(work: Coroutine[Any, Any, T]) -> T:
    """Run a call to its end."""
    return _LOOP.run_until_complete(work)


def read(values: AsyncGenerator[T]) -> list[T]:
    """Everything that an iterator gives."""

    async def collect() -> list[T]:
        async with aclosing(values):
            return [value async for value in values]

    return wait(collect())
