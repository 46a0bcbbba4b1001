"""Work for a client that may leave before it is done."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from starlette.types import Receive

from renderlayer.http.execution.work import CLIENT_CLOSED_REQUEST
from renderlayer.http.response import Response

T = TypeVar("T")


class Disconnected(Exception):
    """The client left; nobody reads an answer."""


async def while_connected(receive: Receive, work: Coroutine[Any, Any, T]) -> T:
    """Do work until it is done or the client leaves, whose request has been read to its end.

    The work is a task of its own, so that it can wait for others; it has ended when this returns, whichever way.

    Raises:
        Disconnected: the client left, and the work was cancelled.
    """
    task = asyncio.ensure_future(work)
    leaving = asyncio.ensure_future(_disconnect(receive))
    try:
        await asyncio.wait((task, leaving), return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        raise Disconnected
    finally:
        task.cancel()
        leaving.cancel()
        await asyncio.gather(task, leaving, return_exceptions=True)


async def _disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


class NoAnswer(Response):
    """What is sent to a client that left: nothing but a status, for the log."""

    def __init__(self) -> None:
        super().__init__(status_code=CLIENT_CLOSED_REQUEST)
